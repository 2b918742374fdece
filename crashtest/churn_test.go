//go:build linux

package crashtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	churnExchange = "crashtest.churn"
	churnPrefix   = "churn."
	churnQueues   = 40 // at once
	churnBatch    = 20 // messages published to one of them together
)

// A stage is how far a command has come, as its client knows.
type stage int

const (
	done    stage = iota // answered
	doubted              // sent, and not answered
)

// A churned queue is one that comes and goes during a load.
type churned struct {
	declared stage
	bound    stage
	deleted  bool // its deletion was sent
	atLeast  int  // messages confirmed
	atMost   int  // messages sent
}

// A churn declares, fills and deletes queues, and changes policies, while messages flow elsewhere. It keeps the books
// of what must be there after a crash. One client at a time owns it; between loads the audit does.
type churn struct {
	random  *rand.Rand
	next    int
	queues  map[string]*churned // whose deletion was not answered
	deleted int
	rules   []rule
	now     []int // variant that each rule has, by the last answer; -1: none
	asked   []int // and the one that was sent last
	changes int
	fault   func(format string, about ...any)
}

func newChurn(random *rand.Rand, fault func(string, ...any)) *churn {
	c := &churn{random: random, queues: map[string]*churned{}, rules: rules(), fault: fault}
	for range c.rules {
		c.now, c.asked = append(c.now, -1), append(c.asked, -1)
	}
	return c
}

// queuesClient returns the client that declares and deletes.
func (c *churn) queuesClient(l *load) client {
	one := l.goal("who declares and deletes", 5, 60)
	return func(conn *amqp.Connection, _ int) {
		ch, err := conn.Channel()
		if err != nil || ch.Confirm(false) != nil {
			return
		}
		returned := ch.NotifyReturn(make(chan amqp.Return, churnBatch))
		for err == nil {
			select {
			case <-l.quit:
				return
			case r, ok := <-returned:
				if !ok {
					return
				}
				c.fault("a message to %s came back: %s", r.RoutingKey, r.ReplyText)
			default:
				err = c.step(ch)
				one()
			}
		}
	}
}

// step does one thing to one queue.
func (c *churn) step(ch *amqp.Channel) error {
	luck := c.random.IntN(10)
	name, q := c.any()
	switch {
	case q == nil || luck < 3 && len(c.queues) < churnQueues:
		c.next++
		name = fmt.Sprintf("%s%d", churnPrefix, c.next)
		c.queues[name] = &churned{declared: doubted, bound: doubted}
		return c.declare(ch, name)
	case q.declared == doubted || q.bound == doubted:
		return c.declare(ch, name)
	case luck < 5 || q.deleted:
		q.deleted = true
		if _, err := ch.QueueDelete(name, false, false, false); err != nil {
			return err
		}
		c.deleted++
		delete(c.queues, name)
		return nil
	}
	return c.fill(ch, name, q)
}

// any returns some queue, nil if there is none.
func (c *churn) any() (string, *churned) {
	n := 0
	if len(c.queues) > 0 {
		n = c.random.IntN(len(c.queues))
	}
	for name, q := range c.queues {
		if n--; n < 0 {
			return name, q
		}
	}
	return "", nil
}

func (c *churn) declare(ch *amqp.Channel, name string) error {
	q := c.queues[name]
	if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
		return err
	}
	q.declared = done
	if err := ch.QueueBind(name, name, churnExchange, false, nil); err != nil {
		return err
	}
	q.bound = done
	return nil
}

// fill publishes some messages by the queue's binding. Without it they come back.
func (c *churn) fill(ch *amqp.Channel, name string, q *churned) error {
	var confirms []*amqp.DeferredConfirmation
	for range churnBatch {
		q.atMost++
		confirm, err := ch.PublishWithDeferredConfirm(churnExchange, name, true, false, persistent([]byte(name)))
		if err != nil {
			return err
		}
		confirms = append(confirms, confirm)
	}
	for _, confirm := range confirms {
		select {
		case <-confirm.Done():
		case <-time.After(2 * patience):
		}
		if !confirm.Acked() {
			return amqp.ErrClosed
		}
		q.atLeast++
	}
	return nil
}

// policiesClient returns the client that changes policies, over HTTP.
func (c *churn) policiesClient(l *load) client {
	one := l.goal("who changes policies", 3, 20)
	return func(*amqp.Connection, int) {
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-pace.C:
			}
			n := c.random.IntN(len(c.rules))
			if err := c.set(l.b, n, c.random.IntN(len(c.rules[n].variants))); err != nil {
				return
			}
			one()
		}
	}
}

// set gives a rule another variant.
func (c *churn) set(b *broker, n, variant int) error {
	c.asked[n] = variant
	status, body, err := b.ask("http", http.MethodPut, c.rules[n].path(), c.rules[n].body(variant))
	if err != nil {
		return err
	}
	if status >= 300 {
		return fmt.Errorf("policy %s: %d %s", c.rules[n].name, status, body)
	}
	c.now[n] = variant
	c.changes++
	return nil
}

// begin puts every rule in force.
func (c *churn) begin(b *broker) {
	b.t.Helper()
	for n := range c.rules {
		if c.now[n] < 0 {
			must(b.t, c.set(b, n, 0))
		}
	}
}

// audit compares with what there is, and opens the gates. From now on that counts.
func (c *churn) audit(b *broker) {
	b.t.Helper()
	c.auditPolicies(b)
	var queues []struct{ Name string }
	b.list("/api/queues/%2F?columns=name", &queues)
	there := map[string]bool{}
	for _, q := range queues {
		if strings.HasPrefix(q.Name, churnPrefix) {
			there[q.Name] = true
		}
	}
	for name := range there {
		if c.queues[name] == nil {
			c.fault("queue %s is there, and its deletion was answered", name)
		}
	}
	ch := b.channel()
	for name, q := range c.queues {
		switch {
		case there[name]:
			n := depth(b.t, ch, name)
			if n < q.atLeast || n > q.atMost {
				c.fault("queue %s holds %d messages, of %d published and %d confirmed", name, n, q.atMost, q.atLeast)
			}
			q.atLeast, q.atMost, q.deleted = n, n, false
		case q.deleted || q.declared == doubted:
			delete(c.queues, name)
		default:
			c.fault("queue %s is gone, and nobody deleted it", name)
			delete(c.queues, name)
		}
	}
	must(b.t, ch.Close())
}

func (c *churn) auditPolicies(b *broker) {
	b.t.Helper()
	var policies []struct {
		Name       string
		Definition map[string]any
	}
	b.list("/api/policies/%2F", &policies)
	there := map[string]map[string]any{}
	for _, p := range policies {
		there[p.Name] = p.Definition
	}
	for n, r := range c.rules {
		is := c.variant(&r, there[r.name])
		if is != c.now[n] && is != c.asked[n] {
			c.fault("policy %s is %v, variant %d; set were %d and then, without an answer, %d", r.name, there[r.name], is, c.now[n], c.asked[n])
		}
		c.now[n], c.asked[n] = is, is
		if r.gate && is >= 0 {
			b.change(http.MethodDelete, r.path(), nil)
			c.now[n], c.asked[n] = -1, -1
		}
	}
}

// variant tells which of a rule's definitions it is; -1: none.
func (c *churn) variant(r *rule, definition map[string]any) int {
	for k, v := range r.variants {
		var want map[string]any
		text, err := json.Marshal(v)
		if err == nil && json.Unmarshal(text, &want) == nil && reflect.DeepEqual(want, definition) {
			return k
		}
	}
	return -1
}
