package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// control is the exchange that takes commands about messages that delayed exchanges keep.
const control = "amq.bartleby.scheduled"

// An outcome is what has become of one message that a command named.
type outcomeOf struct {
	ID      string `json:"id"`
	Key     string `json:"key"`
	Outcome string `json:"outcome"`
}

// A verdict is the answer to a command.
type verdict struct {
	Results  []outcomeOf `json:"results"`
	Count    int         `json:"count"`
	Next     int64       `json:"next_due"`
	Exchange string      `json:"exchange"`
}

// outcomes is what has become of each message, in the order in which the command named them.
func (v verdict) outcomes() []string {
	var all []string
	for _, r := range v.Results {
		all = append(all, r.Outcome)
	}
	return all
}

// A commander publishes commands on a channel of its own and reads the answers.
type commander struct {
	*channel
	in <-chan amqp.Delivery
	n  int
}

func (c *connection) commander() *commander {
	c.t.Helper()
	ch := c.channel()
	return &commander{channel: ch, in: ch.answers()}
}

// command asks for something to be done with messages of an exchange; what says which, and how.
func (c *commander) command(verb, exchange string, what amqp.Table) verdict {
	c.t.Helper()
	c.n++
	id := fmt.Sprint(c.n)
	c.publish(control, verb, "", headers(merge([]amqp.Table{{"exchange": exchange}, what})), replyTo(directReply),
		func(m *amqp.Publishing) { m.CorrelationId = id })
	d := await(c.t, "the answer to "+verb, c.in)
	c.t.equal("correlation-id", d.CorrelationId, id)
	var v verdict
	c.t.must(json.Unmarshal(d.Body, &v))
	c.t.equal("exchange of the reply", v.Exchange, exchange)
	return v
}

// wants is command for one message, the outcome of which must be this; it returns the ID.
func (c *commander) wants(outcome, verb, exchange string, what amqp.Table) string {
	c.t.Helper()
	v := c.command(verb, exchange, what)
	c.t.equal(verb, v.outcomes(), []string{outcome})
	return v.Results[0].ID
}

func byKey(key string) amqp.Table { return amqp.Table{"key": key} }
func byID(id string) amqp.Table   { return amqp.Table{"id": id} }

// commands is a case of commands about kept messages over AMQP alone.
func commands(name, rule string, run func(t *T)) Case { return delays(13, name, rule, run) }

// far is a delay of a minute, which no case waits for.
const far = 60000

var scheduledCases = []Case{
	commands("scheduled-cancel", "A cancelled scheduled message never arrives; cancelling it again has the same result.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			ch.put(x, "k", "cancelled", scheduled(300, "a"))
			ch.put(x, "k", "fence", scheduled(400, "b"))
			id := cmd.wants("cancelled", "cancel", x, byKey("a"))
			t.equal("again", cmd.wants("cancelled", "cancel", x, byID(id)), id)
			t.equal("arrived", ch.taken(q, 1), []string{"fence"})
			ch.empty(q)
			cmd.wants("cancelled", "cancel", x, byID(id))
			cmd.wants("cancelled", "fire", x, byID(id))
			cmd.wants("cancelled", "reschedule", x, amqp.Table{"id": id, "in": int32(1)})
		}),
	commands("scheduled-fire", "A fired scheduled message arrives immediately, as it would have arrived at its due time.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			ch.put(x, "k", "m", scheduled(far, "a"))
			id := cmd.wants("fired", "fire", x, byKey("a"))
			d := await(t, "the message", in)
			t.equal("message", []any{string(d.Body), d.Headers["x-delay"], d.Exchange, d.RoutingKey}, []any{"m", int64(-far), x, "k"})
			for _, verb := range []string{"fire", "cancel"} {
				cmd.wants("already_fired", verb, x, byID(id))
			}
			cmd.wants("already_fired", "reschedule", x, amqp.Table{"id": id, "in": int32(1)})
		}),
	commands("scheduled-already-fired", "The result for a scheduled message that was due and has arrived is fired.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			ch.put(x, "k", "m", scheduled(far, "a"))
			id := cmd.wants("rescheduled", "reschedule", x, amqp.Table{"key": "a", "in": int32(100)})
			await(t, "the message", in)
			cmd.wants("already_fired", "cancel", x, byID(id))
		}),
	commands("scheduled-move", "A rescheduled message arrives at its new time, earlier or later, and not at its old one; its ID and key stay.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "fanout")
			in := ch.consume(ch.bound("q", x, ""))
			ch.put(x, "", "sooner", scheduled(far, "a"))
			ch.put(x, "", "later", scheduled(300, "b"))
			begun := time.Now()
			id := cmd.wants("rescheduled", "reschedule", x, amqp.Table{"key": "a", "in": int32(600)})
			due := inAWhile(1200 * time.Millisecond)
			cmd.wants("rescheduled", "reschedule", x, amqp.Table{"key": "b", "at": due})
			t.equal("ID", cmd.wants("rescheduled", "reschedule", x, amqp.Table{"id": id, "in": int32(500)}), id)
			t.equal("first", string(await(t, "the first", in).Body), "sooner")
			t.inTime("the first", begun, 500*time.Millisecond)
			t.equal("second", string(await(t, "the second", in).Body), "later")
			t.notBefore("the second", due)
		}),
	commands("scheduled-move-to-the-past", "A message that is rescheduled to a past time arrives immediately.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "fanout")
			in := ch.consume(ch.bound("q", x, ""))
			for key, when := range map[string]amqp.Table{"a": {"at": int64(1_700_000_000_000)}, "b": {"in": int32(0)}} {
				ch.put(x, "", key, scheduled(far, key))
				cmd.wants("rescheduled", "reschedule", x, merge([]amqp.Table{when, byKey(key)}))
				t.equal("arrived", string(await(t, "the message", in).Body), key)
			}
		}),
	commands("scheduled-unknown", "The result for a message that is not scheduled is unknown, for every ID and key, in exchanges with and without scheduled messages.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x, empty := ch.delayed("x", "direct"), ch.delayed("empty", "direct")
			ch.put(x, "k", "m", scheduled(far, "a"))
			id := cmd.wants("rescheduled", "reschedule", x, amqp.Table{"key": "a", "in": int32(far)})
			schedule, number, _ := strings.Cut(id, "-")
			for _, other := range []string{"0-0", "nonsense", "", "1", "-1-1", schedule + "-" + number + "0", schedule + "-0" + number, schedule + "-99999999999999999999"} {
				cmd.wants("unknown", "cancel", x, byID(other))
			}
			cmd.wants("unknown", "cancel", x, byKey("b"))
			for _, verb := range []string{"cancel", "fire"} {
				cmd.wants("unknown", verb, empty, byID(id))
				cmd.wants("unknown", verb, empty, byKey("a"))
			}
			cmd.wants("unknown", "reschedule", empty, amqp.Table{"key": "a", "in": int32(1)})
			cmd.wants("cancelled", "cancel", x, byID(id))
		}),
	commands("scheduled-thousand", "A command may name a thousand messages, and has a result for each, in order; one more is refused with 406.",
		func(t *T) {
			t.ownVhost()
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct")
			var keys []any
			for i := range 999 {
				keys = append(keys, fmt.Sprint(i))
				ch.publish(x, "k", "m", scheduled(far, keys[i]))
			}
			ch.put(x, "k", "left", scheduled(far, "left"))
			keys = slices.Insert(keys, 500, any("nobody"))
			v := cmd.command("cancel", x, amqp.Table{"keys": keys})
			var want []string
			for _, key := range keys {
				want = append(want, map[bool]string{false: "cancelled", true: "unknown"}[key == "nobody"])
			}
			t.equal("outcomes", v.outcomes(), want)
			t.equal("count", v.Count, 999)
			t.equal("left", cmd.command("count", x, nil).Count, 1)
			cmd.publish(control, "cancel", "", headers(amqp.Table{"exchange": x, "keys": append(keys, "left")}))
			t.refusalLike(await(t, "channel.close", cmd.closed), 406, "1001 messages named")
		}),
	commands("scheduled-count", "The command count returns the number of scheduled messages of an exchange, and the next due time.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct")
			t.equal("none", cmd.command("count", x, nil), verdict{Exchange: x})
			begun := time.Now()
			ch.put(x, "k", "m", delay(int32(far)))
			ch.put(x, "k", "m", delay(int32(2*far)))
			v := cmd.command("count", x, nil)
			t.equal("kept", v.Count, 2)
			if next := time.UnixMilli(v.Next).Sub(begun); next < 0 || next > far*time.Millisecond+slack {
				t.Fatalf("the next is due in %v", next)
			}
			t.must(ch.ExchangeDelete(x, false, false))
			t.equal("kept without the exchange", cmd.command("count", x, nil).Count, 2)
		}),
	commands("scheduled-race", "A message that is cancelled at its due time either arrives or is cancelled, and the result says which.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "fanout")
			q := ch.bound("q", x, "")
			const n = 200
			var due [n]time.Time
			for i := range n {
				ms := 200 + 5*i
				due[i] = time.Now().Add(time.Duration(ms) * time.Millisecond)
				ch.publish(x, "", fmt.Sprint(i), scheduled(int32(ms), fmt.Sprint(i)))
			}
			ch.put(x, "", "fence", delay(int32(200+5*n+500)))
			var stayed []string // not cancelled
			for i := range n {
				t.pass(time.Until(due[i].Add(-500 * time.Microsecond))) // about as long as a command takes
				if v := cmd.command("cancel", x, byKey(fmt.Sprint(i))); v.Results[0].Outcome != "cancelled" {
					stayed = append(stayed, fmt.Sprint(i))
				}
			}
			t.equal("arrived", ch.taken(q, len(stayed)+1), append(stayed, "fence"))
			ch.empty(q)
			t.Logf("%d of %d were cancelled", n-len(stayed), n)
		}),
	commands("scheduled-refused", "An invalid command is refused with 406, a command for an exchange that is not a delayed exchange with 404.",
		func(t *T) {
			conn := t.connect()
			x, other := conn.channel().delayed("x", "direct"), conn.channel().exchange("other", "direct")
			refused := func(code int, verb string, request amqp.Table) {
				t.Helper()
				ch := conn.channel()
				ch.publish(control, verb, "", headers(request))
				t.refusalLike(await(t, fmt.Sprintf("channel.close for %s %v", verb, request), ch.closed), code, "")
			}
			refused(404, "cancel", amqp.Table{"exchange": other, "key": "a"})
			refused(404, "cancel", amqp.Table{"exchange": t.name("no-such"), "key": "a"})
			refused(406, "cancel", nil)
			refused(406, "cancel", amqp.Table{"exchange": int32(1), "key": "a"})
			refused(406, "cancel", amqp.Table{"exchange": x})
			refused(406, "cancel", amqp.Table{"exchange": x, "key": int32(1)})
			refused(406, "cancel", amqp.Table{"exchange": x, "ids": "1-1"})
			refused(406, "cancel", amqp.Table{"exchange": x, "ids": []any{int32(1)}})
			refused(406, "cancel", amqp.Table{"exchange": x, "ids": []any{}})
			refused(406, "undo", amqp.Table{"exchange": x, "key": "a"})
			refused(406, "", amqp.Table{"exchange": x, "key": "a"})
			for _, when := range []amqp.Table{nil, {"in": int32(-1)}, {"in": "1"}, {"in": int64(tenYears + 1)}, {"at": true}, {"at": inAWhile(tenYears*time.Millisecond + time.Minute)}, {"in": int32(1), "at": int64(1)}} {
				refused(406, "reschedule", merge([]amqp.Table{when, {"exchange": x, "key": "a"}}))
			}
		}),
	commands("scheduled-permission", "Users with write permission on a delayed exchange can manage its scheduled messages; other users cannot.",
		func(t *T) {
			owner := t.channel()
			x := owner.delayed("x", "direct")
			owner.put(x, "k", "m", scheduled(far, "a"))
			may, _ := t.as(grant{"^$", "^" + x + "$", ".*"})
			may.conn.commander().wants("rescheduled", "reschedule", x, amqp.Table{"key": "a", "in": int32(far)})
			other := &T{T: t.T, Case: t.Case, broker: t.broker, number: t.number + 10000, vhost: t.vhost} // another user's name
			ch, user := other.as(grant{".*", "^" + control + "$", ".*"})
			ch.publish(control, "cancel", "", headers(amqp.Table{"exchange": x, "key": "a"}))
			t.refusal(await(t, "channel.close", ch.closed), 403,
				"ACCESS_REFUSED - write access to exchange '"+x+"' in vhost '"+t.vhost+"' refused for user '"+user+"'")
			owner.conn.commander().wants("cancelled", "cancel", x, byKey("a"))
		}),
	commands("scheduled-confirmed", "A command is confirmed when it has been executed, also if it requests no reply.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			ch.put(x, "k", "m", scheduled(far, "a"))
			ch.put(control, "fire", "", headers(amqp.Table{"exchange": x, "key": "a"}))
			t.equal("arrived", string(ch.get(q).Body), "m")
		}),
	commands("scheduled-transaction", "In a transaction a command is executed at commit, after the publishes before it, and a rollback drops it.",
		func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			other.put(x, "k", "m", scheduled(far, "a"))
			fire := headers(amqp.Table{"exchange": x, "keys": []any{"a", "b"}})
			t.must(ch.Tx())
			ch.publish(control, "fire", "", fire)
			t.must(ch.TxRollback())
			ch.publish(x, "k", "n", scheduled(far, "b"))
			ch.publish(control, "fire", "", fire)
			ch.settled()
			other.empty(q)
			t.must(ch.TxCommit())
			t.equal("arrived", other.taken(q, 2), []string{"m", "n"})
		}),
	commands("scheduled-exchange-reserved", "The exchange for commands can be neither declared, deleted nor bound.",
		func(t *T) {
			conn := t.connect()
			q := conn.channel().queue("q")
			t.refusalLike(conn.channel().ExchangeDeclare(control, "direct", true, false, false, false, nil), 403, "")
			t.refusalLike(conn.channel().ExchangeDelete(control, false, false), 403, "")
			t.refusalLike(conn.channel().QueueBind(q, "cancel", control, false, nil), 404, "")
		}),
	delays(5, "delayed-max-length", "A delayed exchange with x-delayed-max-length accepts at most this number of scheduled messages: one more is nacked until one has left.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct", amqp.Table{"x-delayed-max-length": int32(2)})
			q := ch.bound("q", x, "k")
			ch.put(x, "k", "first", scheduled(far, "a"))
			ch.put(x, "k", "second", scheduled(far, "b"))
			ch.publish(x, "k", "third", scheduled(far, "c"))
			ch.confirmed(false)
			ch.put(x, "k", "at once")
			t.equal("arrived", string(ch.get(q).Body), "at once")
			ch.put(x, "k", "in place of the second", scheduled(far, "b"))
			cmd.wants("cancelled", "cancel", x, byKey("a"))
			ch.put(x, "k", "third", scheduled(far, "c"))
			t.equal("kept", cmd.command("count", x, nil).Count, 2)
		}),
	delays(5, "delayed-max-length-in-a-transaction", "If a full delayed exchange refuses a message of a transaction, the commit is refused with 406; its other operations take effect.",
		func(t *T) {
			conn := t.connect()
			owner, ch := conn.channel(), conn.channel()
			x := owner.delayed("x", "direct", amqp.Table{"x-delayed-max-length": int32(1)})
			q := owner.queue("q")
			t.must(ch.Tx())
			for range 2 {
				ch.publish(x, "k", "m", delay(int32(far)))
			}
			ch.publish("", q, "other")
			t.refusal(ch.TxCommit(), 406, "PRECONDITION_FAILED - partial tx completion")
			t.awaitScheduled(x, 1)
			t.equal("taken", owner.taken(q, 1), []string{"other"})
		}),
	delays(5, "delayed-max-length-nonsense", "An x-delayed-max-length that is not an integer, or negative, is refused with 406.",
		func(t *T) {
			for _, v := range []any{"2", int32(-1), 1.5, true} {
				t.refusalLike(t.declareDelayed(amqp.Table{"x-delayed-type": "direct", "x-delayed-max-length": v}), 406, "x-delayed-max-length")
			}
		}),
}
