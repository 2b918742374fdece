package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// journey follows one message through three queues that it dies in.
type journey struct {
	*world
	t       *testing.T
	channel *clients.Channel
	number  uint64 // of the message, 0 before it is published
	taken   int    // steps
	cut     int    // the step that the power goes in
	how     func(*journey)
}

// A leg begins with the message in one place. Its steps may be taken again: after a crash the leg begins anew, or the
// next one, if its last step has been safe. So the message must be in one of two places.
type leg struct {
	queue  string // "": it is nowhere
	state  queue.State
	deaths []ledger.Death
	steps  []func(*journey)
}

var legs = []leg{
	{"", queue.Gone, nil, []func(*journey){
		declare("q0"), declare("q1"), declare("q2"), declare("q3"),
		policy("q0", "dead-letter-exchange=", "dead-letter-routing-key=q3"),
		policy("q1", "message-ttl=400", "dead-letter-exchange=", "dead-letter-routing-key=q0"),
		policy("q3", "max-length=0", "overflow=reject-publish"),
		(*journey).send,
	}},
	{"q0", queue.Ready, nil, []func(*journey){
		policy("q0", "dead-letter-exchange=", "dead-letter-routing-key=q1", "dead-letter-strategy=at-least-once"),
		take("q0"), settle(vhost.Reject, false),
	}},
	{"q1", queue.Ready, []ledger.Death{once("q0", "reject")}, []func(*journey){
		policy("q1", "dead-letter-exchange=later", "dead-letter-routing-key=k", "dead-letter-strategy=at-least-once"),
		wait(402),
	}},
	{"q1", queue.Held, []ledger.Death{once("q1", "expired"), once("q0", "reject")}, []func(*journey){
		exchange("later"), wait(100), bind("q2", "k"), wait(10),
	}},
	{"q2", queue.Ready, []ledger.Death{once("q1", "expired"), once("q0", "reject")}, []func(*journey){
		policy("q2", "delivery-limit=0", "dead-letter-exchange=later", "dead-letter-routing-key=l", "dead-letter-strategy=at-least-once"),
		bind("q3", "l"), take("q2"), settle(vhost.Reject, true),
	}},
	{"q2", queue.Held, allDeaths(), []func(*journey){
		policy("q2", "dead-letter-exchange=later", "dead-letter-routing-key=l", "dead-letter-strategy=at-most-once"), wait(3000),
		policy("q3", "max-length=1", "overflow=reject-publish"), wait(10),
	}},
	{"q3", queue.Ready, allDeaths(), []func(*journey){
		take("q3"), settle(vhost.Ack, false),
	}},
	{"", queue.Gone, nil, nil},
}

func TestThreeHops(t *testing.T) {
	t.Parallel()
	// On its way through three dead-letter exchanges, with policies changing and the power going at any moment, a
	// message would be lost, or be in two places, or its history would tell another way than it went.
	cuts := map[string]func(*journey){
		"never":       func(*journey) {},
		"before":      func(j *journey) { j.finish(); j.powerCut() },
		"written":     func(j *journey) { j.finish(); j.write(); j.powerCut() },
		"safe":        func(j *journey) { j.settle(); j.powerCut() },
		"checkpoint":  func(j *journey) { j.advanceCheckpoint(); j.advanceCheckpoint(); j.powerCut() },
		"sync fails":  func(j *journey) { j.fail(FaultOnce, target{}, j.faulty.Calls()+1); j.settle() },
		"first call":  func(j *journey) { j.fail(FaultPower, target{}, j.faulty.Calls()+1); j.settle() },
		"second call": func(j *journey) { j.fail(FaultPower, target{}, j.faulty.Calls()+2); j.settle() },
	}
	steps := 0
	for _, l := range legs {
		steps += len(l.steps)
	}
	for name, how := range cuts {
		for cut := range steps {
			j := &journey{world: newWorld(Options{Seed: uint64(cut)}), t: t, cut: cut, how: how}
			if err := j.travel(); err != nil {
				t.Fatalf("power goes in step %d, %s: %v", cut, name, err)
			}
		}
	}
}

// travel goes from leg to leg.
func (j *journey) travel() error {
	for at := 0; at < len(legs)-1; {
		crashed := j.walk(&legs[at])
		if j.violation != nil {
			return j.violation
		}
		arrived, err := j.found(&legs[at+1])
		switch {
		case arrived && (at < len(legs)-2 || j.number > 0):
			at++
			continue
		case err == nil && crashed:
			arrived, err = j.found(&legs[at])
		}
		if err != nil || !arrived || !crashed {
			return fmt.Errorf("leg %d: the message is neither where it was nor where it goes (crashed: %t): %v", at, crashed, err)
		}
	}
	j.end()
	books := j.vhost.Reader().DurableBooks()
	if books.Made != 4 || books.Ended[fact.Moved] != 3 || books.Ended[fact.Acked] != 1 || books.Total() != 4 {
		return fmt.Errorf("four copies in turn, three moves and an ack make other books than %+v", books)
	}
	if j.violation != nil {
		return j.violation
	}
	return nil
}

// walk takes the steps of a leg until the power goes, and reports that.
func (j *journey) walk(l *leg) (crashed bool) {
	for _, step := range l.steps {
		recoveries := j.result.Recoveries
		if step(j); j.taken == j.cut && j.violation == nil {
			j.how(j)
		}
		j.taken++
		if j.violation == nil && j.result.Recoveries == recoveries {
			j.settle()
		}
		if j.violation != nil || j.result.Recoveries != recoveries {
			j.channel = nil
			return true
		}
	}
	return false
}

// found reports whether the message is where a leg begins, and there only, with the deaths that it has by then.
func (j *journey) found(l *leg) (bool, error) {
	var copies []*ledger.Entry
	for q := range j.live.All() {
		for _, e := range q.Copies {
			copies = append(copies, e)
		}
	}
	switch {
	case len(copies) == 0:
		return l.queue == "", nil
	case len(copies) > 1:
		return false, fmt.Errorf("the message is in %d places", len(copies))
	}
	e := copies[0]
	if e.Line.Name != l.queue || e.State != l.state {
		j.note("the message is in %q, state %d", e.Line.Name, e.State)
		return false, nil
	}
	if !slices.Equal(e.Deaths, l.deaths) {
		return false, fmt.Errorf("in %q the message has %v, expected %v", l.queue, e.Deaths, l.deaths)
	}
	return true, nil
}

// ask has a command decided on a channel.
func (j *journey) ask(c vhost.Command) {
	if j.channel == nil {
		j.decide(j.Connect())
		n := j.Connections[0]
		j.decide(j.OpenChannel(n))
		j.channel = n.Channels[0]
	}
	c.Conn, c.Channel = j.channel.Conn.ID, j.channel.ID
	if !j.decide(c) && j.violation == nil {
		j.t.Errorf("command %d was refused", c.Kind)
	}
}

// send publishes the message: again, if it is nowhere.
func (j *journey) send() {
	m := &clients.Message{TTL: -1, Persistent: true, Keys: []string{"q0"}}
	c := j.Compose(m, nil, "q0", 100)
	j.number = j.Published
	j.ask(c)
}

func declare(name string) func(*journey) {
	return func(j *journey) {
		j.ask(vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: name, Durable: true}})
	}
}

func exchange(name string) func(*journey) {
	return func(j *journey) {
		j.ask(vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{Name: name, Type: "direct", Durable: true}})
	}
}

func bind(name, key string) func(*journey) {
	return func(j *journey) {
		j.ask(vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{Name: name, Source: "later", RoutingKey: key}})
	}
}

// policy gives a queue another policy, of entries name=value.
func policy(name string, entries ...string) func(*journey) {
	p := &vhost.Policy{Name: name, Pattern: "^" + name + "$", ApplyTo: "queues"}
	for _, e := range entries {
		key, text, _ := strings.Cut(e, "=")
		value := amqp.String(text)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			value = amqp.Int64(n)
		}
		p.Definition = append(p.Definition, amqp.Field{Name: key, Value: value})
	}
	return func(j *journey) { j.ask(vhost.Command{Kind: vhost.SetPolicy, Policy: p}) }
}

// wait lets so many milliseconds pass.
func wait(milliseconds int64) func(*journey) {
	return func(j *journey) {
		j.clock += milliseconds * 1_000_000
		j.tick()
	}
}

func take(name string) func(*journey) {
	return func(j *journey) { j.ask(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: name}}) }
}

func settle(kind vhost.CommandKind, requeue bool) func(*journey) {
	return func(j *journey) { j.ask(vhost.Command{Kind: kind, Tag: j.channel.Tag, Requeue: requeue}) }
}

// once is one death.
func once(queue, reason string) ledger.Death {
	return ledger.Death{Queue: queue, Reason: reason, Count: 1}
}

// allDeaths are those of the whole journey, the newest first.
func allDeaths() []ledger.Death {
	return []ledger.Death{once("q2", ledger.LimitReason), once("q1", "expired"), once("q0", "reject")}
}
