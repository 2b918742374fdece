package vhost

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// walk makes lines of the scenario language at random.
type walk struct {
	dice  *rand.Rand
	tags  int
	world *world
}

func (w *walk) one(list ...string) string { return list[w.dice.IntN(len(list))] }

// maybe is s, one time in n.
func (w *walk) maybe(n int, s string) string {
	if w.dice.IntN(n) == 0 {
		return " " + s
	}
	return ""
}

func (w *walk) queue() string    { return w.one("q1", "q2", "q3", "q4") }
func (w *walk) exchange() string { return w.one("x1", "x2", "x3", "d") }
func (w *walk) channel() string  { return w.one("a", "a2", "b", "c", "t") + ": " }
func (w *walk) tag() string      { return strconv.Itoa(1 + w.dice.IntN(12)) }

// line is the next thing that somebody does.
func (w *walk) line() string {
	n := w.dice.IntN(110)
	for _, step := range walkSteps {
		if n -= step.weight; n < 0 {
			return step.line(w)
		}
	}
	return "advance " + w.one("1ms", "7ms", "50ms", "1s")
}

var walkSteps = []struct {
	weight int
	line   func(w *walk) string
}{
	{8, (*walk).declare},
	{27, (*walk).publish},
	{4, func(w *walk) string {
		return w.channel() + "publish d:" + w.one("k", "q1") + ` "later" h.x-delay=` + w.one("1", "20", "20", "300") + w.maybe(2, "h.x-schedule-key="+w.one("a", "b")) +
			w.maybe(3, "transient") + w.maybe(4, "expiration="+w.one("0", "20"))
	}},
	{6, func(w *walk) string {
		w.tags++
		return w.channel() + "consume " + w.queue() + fmt.Sprintf(" t%d", w.tags) + w.maybe(4, "noack") + w.maybe(12, "exclusive") + w.maybe(4, "x-priority=3")
	}},
	{5, func(w *walk) string { return w.channel() + "get " + w.queue() + w.maybe(3, "noack") }},
	{10, func(w *walk) string { return w.channel() + "ack " + w.tag() + w.maybe(3, "multiple") }},
	{8, func(w *walk) string {
		return w.channel() + "nack " + w.tag() + w.maybe(3, "multiple") + w.maybe(2, "requeue")
	}},
	{4, func(w *walk) string { return w.channel() + "reject " + w.tag() + w.maybe(2, "requeue") }},
	{2, func(w *walk) string { return w.channel() + "recover requeue" }},
	{2, func(w *walk) string { return w.channel() + "cancel " + fmt.Sprintf("t%d", 1+w.dice.IntN(w.tags+1)) }},
	{2, func(w *walk) string { return w.channel() + "qos " + w.one("0", "1", "3") + w.maybe(2, "global") }},
	{3, func(w *walk) string { return w.one("a: confirm", "b: confirm", "c: tx", "t: commit", "t: rollback") }},
	{1, func(w *walk) string { return w.one("t: tx", "t: commit") }},
	{2, func(w *walk) string { return w.channel() + "purge " + w.queue() }},
	{2, func(w *walk) string {
		return w.channel() + w.one("close", "purge "+w.queue(), "delete "+w.queue()+w.maybe(2, "if-empty"))
	}},
	{2, func(w *walk) string {
		return w.channel() + "exchange " + w.exchange() + " " + w.one("direct", "fanout", "topic", "x-random", "x-modulus-hash", "x-recent-history") + w.maybe(4, "transient") + w.maybe(4, "auto-delete")
	}},
	{2, func(w *walk) string {
		return w.channel() + "exchange " + w.one("d", "d", "d", "x3") + " x-delayed-message x-delayed-type=" +
			w.one("direct", "fanout", "topic", "x-recent-history") + w.maybe(6, "transient") + w.maybe(6, "x-delayed-max-length=2")
	}},
	{4, func(w *walk) string {
		return w.channel() + w.one("bind ", "bind ", "unbind ") + w.exchange() + " -> " + w.queue() + " key=" + w.one("k", "q1", "#")
	}},
	{1, func(w *walk) string {
		return w.channel() + w.one("link ", "unlink ") + w.exchange() + " -> " + w.exchange()
	}},
	{1, func(w *walk) string { return w.channel() + "delete-exchange " + w.exchange() + w.maybe(2, "if-unused") }},
	{2, (*walk).policy},
	{1, (*walk).lostLetters},
	{2, (*walk).back},
	{3, (*walk).later},
	{1, func(w *walk) string {
		return w.one("stop-deliveries a", "stop-deliveries b", "disconnect a", "disconnect b", "written a 500", "written c 500")
	}},
	{1, func(w *walk) string { return w.one("restart", "restart snapshot") }},
}

func (w *walk) declare() string {
	s := w.channel() + "declare " + w.queue() + w.maybe(3, "transient") + w.maybe(12, "exclusive") + w.maybe(6, "auto-delete")
	s += w.maybe(3, "ttl="+w.one("0", "5", "60")) + w.maybe(4, "max="+w.one("0", "1", "3")) + w.maybe(6, "max-bytes=4")
	s += w.maybe(4, "overflow="+w.one("reject-publish", "reject-publish-dlx")) + w.maybe(5, "limit="+w.one("0", "1", "2"))
	s += w.maybe(4, "strategy=at-least-once") + w.maybe(5, "retry="+w.one("all", "failed", "returned")+" retry-min=7 retry-max=20")
	s += w.maybe(8, "mode="+w.one("all", "failed")) + w.maybe(8, "timeout=50")
	s += w.maybe(4, "priorities=3") + w.maybe(8, "single") + w.maybe(8, "type=quorum") + w.maybe(8, "expires=200")
	switch w.dice.IntN(3) {
	case 0:
		s += ` dlx="" dlrk=` + w.queue()
	case 1:
		s += " dlx=" + w.exchange()
	}
	return s
}

func (w *walk) publish() string {
	to := w.queue()
	if w.dice.IntN(3) == 0 {
		to = w.exchange() + ":" + w.one("k", "q1")
	}
	return w.channel() + "publish " + to + ` "m"` + w.maybe(3, "transient") + w.maybe(4, "expiration="+w.one("0", "3", "20", "100")) +
		w.maybe(3, "h.x-delay="+w.one("1", "20", "20", "300", "-5", "x")) + w.maybe(12, "h.x-schedule-key="+w.one("a", "b", "7")) +
		w.maybe(12, "h.x-opt-delivery-time=l:"+strconv.Itoa(int(epoch)+w.dice.IntN(9000))) +
		w.maybe(4, "priority="+w.one("1", "3")) + w.maybe(6, "mandatory") + w.maybe(12, "cc=q2,q3") + w.maybe(12, "bcc=q4") + w.maybe(6, "h.n=1")
}

func (w *walk) lostLetters() string {
	return w.channel() + w.one("republish 1 2 3", "republish 1 5 9 to="+w.queue(), "discard 2 4 6 8",
		"options lost-letters-max-bytes="+w.one("0", "300", "100000"), "options dialect="+w.one("rabbitmq-3", "rabbitmq-4", "apsaramq"),
		"options lost-letters-max-age=200", "options ttl-in-loops=false hops-max=2 consumer-timeout=60")
}

// back sends dead letters back, changes jobs, and edits.
func (w *walk) back() string {
	source := w.one(w.queue(), w.queue(), w.queue(), "lost")
	switch w.dice.IntN(4) {
	case 0:
		return w.channel() + fmt.Sprintf("job %d ", 1+w.dice.IntN(12)) + w.one("pause", "resume", "cancel", "rate 100", "rate 0", "forget")
	case 1:
		return w.channel() + "resend " + source + fmt.Sprintf(` %d "edited"`, 1+w.dice.IntN(40)) + w.maybe(3, "keep") +
			w.maybe(2, "way="+w.one("queue", "x1:k", ":q2")) + w.maybe(4, "transient") + w.maybe(4, "expiration=20") + w.maybe(6, "cc=q3")
	}
	s := w.channel() + "redrive " + source + w.maybe(2, "way="+w.one("origin", "queue", "on", "x2:k", ":q1", "x1:")) + w.maybe(6, "to-queue="+w.queue())
	s += w.maybe(5, "discard") + w.maybe(4, "newest") + w.maybe(4, "most=2") + w.maybe(4, "rate="+w.one("10", "200")) + w.maybe(4, "canary=1") +
		w.maybe(2, "ramp") + w.maybe(3, "percent=30") + w.maybe(6, "stop-no-consumer") + w.maybe(4, "strip") + w.maybe(4, "drop-expiration")
	return s + w.maybe(2, "watch="+w.one("1", "50")) + w.maybe(5, "ids=1,3,9,12") + w.maybe(4, "filter="+w.one("reason:rejected", "count:>1", "-queue:q1"))
}

// later commands what waits.
func (w *walk) later() string {
	switch w.dice.IntN(8) {
	case 0:
		return w.channel() + "purge-schedule " + w.exchange()
	case 1:
		return w.channel() + "publish amq.bartleby.scheduled:" + w.one("count", "cancel", "fire", "reschedule") + ` "" reply-to=` + w.queue() +
			" h.in=20 h.exchange=" + w.exchange() + " h.key=" + w.one("a", "b")
	}
	s := w.channel() + w.one("unschedule", "fire", fmt.Sprintf("reschedule at=%dms", int(w.world.now-epoch)+w.dice.IntN(900)-100))
	var ids []fact.QueueID
	for _, x := range w.world.v.Reader().Schedules() {
		ids = append(ids, x.ID)
	}
	for _, q := range w.world.v.Reader().Queues() {
		if q.Waiting > 0 {
			ids = append(ids, q.ID)
		}
	}
	for range 1 + w.dice.IntN(6) {
		id := ScheduledID{Schedule: fact.QueueID(w.dice.IntN(20))}
		if len(ids) > 0 {
			id.Schedule = ids[w.dice.IntN(len(ids))]
		}
		if q := w.world.v.queues[id.Schedule]; q != nil {
			id.Number = uint64(max(int(q.messages.Next(0))-w.dice.IntN(6), 0))
		}
		s += " " + id.String()
	}
	return s
}

func (w *walk) policy() string {
	name := w.one("p1", "p2")
	if w.dice.IntN(3) == 0 {
		return "clear-policy " + name
	}
	return "policy " + name + " " + w.one(".", "q[12]", "^x") + " " + w.one("max-length=2", "message-ttl=30", "expires=300",
		"delivery-limit=1", `dead-letter-exchange="" dead-letter-routing-key=q2`, "overflow=reject-publish", "alternate-exchange=x1",
		"dead-letter-strategy=at-least-once", "expiry=head", "expiry=exact cycle=keep", "delayed-retry-type=all delayed-retry-min=10",
		"overflow=drop-lowest max-length=2", "consumer-timeout=40 delivery-count-mode=failed")
}

// TestRandomWalk finds sequences of commands after which the machine contradicts itself, its log or the time:
// what no scenario has thought of.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	seeds, steps := 30, 400
	if s := os.Getenv("VHOST_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := walkOnce(n, 4*steps, map[string]int{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	done := map[string]int{}
	for seed := range uint64(seeds) {
		if err := walkOnce(seed, steps, done); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range walkSees {
		if done[what] == 0 {
			t.Errorf("no walk has seen %q", what)
		}
	}
	for _, verb := range []string{"declare", "publish", "consume", "get", "ack", "nack", "reject", "recover", "cancel", "qos", "confirm",
		"tx", "commit", "rollback", "close", "purge", "delete", "exchange", "delete-exchange", "bind", "unbind", "link", "unlink", "policy",
		"clear-policy", "options", "republish", "discard", "redrive", "job", "resend", "unschedule", "fire", "reschedule", "purge-schedule", "disconnect", "written", "stop-deliveries", "restart", "advance"} {
		if done[verb] == 0 {
			t.Errorf("no walk has made %q succeed", verb)
		}
	}
}

// walkSees is what becomes of what waits.
var walkSees = []string{
	"keyed scheduled", "deferred scheduled", "until=", " fired\n", " cancelled\n", " already_fired @", " rescheduled @", " cancelled @", " fired @",
	" unknown @", "queue deleted schedule of", "deferred q",
}

// walkOnce plays one walk; done counts by verb what was not refused.
func walkOnce(seed uint64, steps int, done map[string]int) error {
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	w := &walk{dice: rand.New(rand.NewPCG(seed, 1)), world: sc.world}
	if seed%3 == 0 {
		sc.world.hot = true
		sc.world.v = sc.world.fresh()
	}
	if seed%4 == 1 {
		sc.world.stepMax = 1
		sc.world.v.BoundSteps(1)
	}
	var told []string
	for range steps {
		text := w.line()
		lines := []string{text}
		if strings.HasPrefix(text, "restart") {
			lines = append(lines, "advance 0s") // the engine ticks at once if anything is due
		} else if strings.Contains(text, "policy ") || strings.Contains(text, "options ") {
			lines = append(lines, "advance 0s")
		} else if seed%2 == 1 && w.dice.IntN(2) == 0 {
			lines = append(lines, w.publish(), w.publish()) // in one batch
		}
		told = append(told, lines...)
		err := sc.block(lines)
		if err == nil {
			err = sc.world.laws()
		}
		if err == nil {
			err = sc.world.checkpoint(w.dice)
		}
		if err != nil {
			return fmt.Errorf("VHOST_SEED=%d: %w\nafter\n%s\n%s", seed, err, strings.Join(told[max(0, len(told)-25):], "\n"), sc.out.String())
		}
		for _, what := range walkSees {
			done[what] += strings.Count(sc.out.String(), what)
		}
		if out := sc.out.String(); !strings.Contains(out, "closed ") && !strings.Contains(out, "refused ") {
			words := strings.Fields(text)
			if strings.HasSuffix(words[0], ":") {
				words = words[1:]
			}
			done[words[0]]++
		}
	}
	return nil
}

// laws are what must hold between commands, beside Check: nothing that is due is still ready, nothing ready
// waits for a consumer with credit, no limit is exceeded, every deadline belongs to something, and volatile
// memory is held by copies alone.
func (w *world) laws() error {
	v := w.v
	v.exhumeAll()
	deadlines := 0
	refs := map[storage.Index]int{}
	for _, q := range append(v.sortedQueues(), v.lost) {
		var err error
		q.messages.Each(0, func(s queue.Seq, e *queue.Entry) bool {
			switch {
			case (e.State == queue.Ready && !q.settings.ExpiryHead || e.State == queue.Waiting) && e.ExpireAt != 0 && e.ExpireAt < w.now:
				err = fmt.Errorf("message %d of %q is ready at %s, and expired at %s", s, q.object.Name, seconds(w.now), seconds(e.ExpireAt))
			case e.State == queue.Waiting && q.messages.Side(s).Until < w.now:
				err = fmt.Errorf("message %d of %q waits since %s", s, q.object.Name, seconds(q.messages.Side(s).Until))
			}
			if e.Flags&queue.Volatile != 0 {
				refs[e.Index]++
			}
			if h := q.messages.Side(s).History; !h.IsZero() && h.Log == storage.Volatile {
				refs[h.Index]++
			}
			return err == nil
		})
		if err != nil {
			return err
		}
		q.messages.Armed(func(chunk queue.Seq, _ deadline.Instant) {
			if q.messages.ArmedFor(chunk) != 0 {
				deadlines++
			}
		})
		for _, at := range [...]deadline.Instant{q.armed, q.expires, q.excess, q.again} {
			if at != 0 {
				deadlines++
			}
		}
		q.consumers.WakeAll()
		if q.messages.Ready() > 0 && q.consumers.Next() != nil && q.again == 0 {
			return fmt.Errorf("queue %q has %d ready messages and a consumer with room", q.object.Name, q.messages.Ready())
		}
		if q.settings.Overflow.DropsHead() && q.messages.Ready() > 0 && q.over(q.settings) && q.excess == 0 {
			return fmt.Errorf("queue %q is over its limit: %d ready", q.object.Name, q.messages.Ready())
		}
	}
	deadlines += v.near
	if v.holding.at != 0 {
		deadlines++
	}
	if v.handedAt != 0 {
		deadlines++
	}
	if v.freeing {
		deadlines++
	}
	if v.backlogNext < len(v.backlog) {
		deadlines++
	}
	if len(v.ongoing) > 0 {
		deadlines++
	}
	if v.wideAt != 0 {
		deadlines++
	}
	for _, ch := range v.channels {
		if ch.timeoutAt != 0 {
			deadlines++
		}
	}
	for _, j := range v.jobs.all {
		if j.next != 0 {
			deadlines++
		}
	}
	for _, r := range v.recents {
		for _, m := range r.messages(topology.RecentMax) {
			for _, ref := range [2]storage.Ref{m.record, m.history} {
				if !ref.IsZero() && ref.Log == storage.Volatile {
					refs[ref.Index]++
				}
			}
		}
	}
	if n := v.deadlines.Len() + v.chunks.Len(); n != deadlines {
		return fmt.Errorf("%d deadlines, %d things that have one", n, deadlines)
	}
	for i, c := range v.volatile.chunks {
		if c.refs != refs[i] || c.refs == 0 && c != v.volatile.open {
			return fmt.Errorf("volatile chunk %d counts %d references, and has %d", i, c.refs, refs[i])
		}
	}
	return nil
}
