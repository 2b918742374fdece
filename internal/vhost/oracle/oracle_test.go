package oracle_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// first takes the first of all choices.
type first struct{}

func (first) Next([]oracle.CopyID) int          { return 0 }
func (first) Taker([]oracle.ConsumerID) int     { return 0 }
func (first) Taken(oracle.CopyID, []string) int { return 0 }

// story is an oracle with one channel, and what it was told.
type story struct {
	t *testing.T
	v *oracle.VHost
}

func begin(t *testing.T) *story {
	s := &story{t, oracle.New(first{})}
	s.v.Now = 1_000_000
	return s.tell(oracle.Command{Kind: oracle.OpenChannel})
}

// tell does commands, one after the other.
func (s *story) tell(list ...oracle.Command) *story {
	s.t.Helper()
	for i := range list {
		list[i].Channel = 1
		s.v.Do(&list[i])
		for _, a := range s.v.Answers {
			if strings.HasPrefix(a.Text, "refused") {
				s.t.Fatalf("%s: %s", &list[i], a.Text)
			}
		}
	}
	return s
}

// wait lets time pass, instant by instant.
func (s *story) wait(ms int64) *story {
	target := s.v.Now + ms
	for at, ok := s.v.Due(); ok && at <= target; at, ok = s.v.Due() {
		s.v.Now = max(at, s.v.Now)
		s.v.Do(&oracle.Command{Kind: oracle.Tick})
	}
	s.v.Now = target
	return s
}

// queue tells what a queue holds: bodies with their places, in order.
func (s *story) queue(name string) string {
	list := s.v.State().LostStore
	if name != "lost store" {
		list = nil
		for _, q := range s.v.State().Queues {
			if q.Name == name {
				list = q.Copies
			}
		}
	}
	var all []string
	for _, c := range list {
		text := c.Body
		if c.Place != oracle.Ready {
			text += " " + string(c.Place)
		}
		if c.History != nil {
			for _, d := range c.History.Deaths {
				text += " " + d.Queue + "/" + string(d.Reason)
			}
		}
		if c.Cause != "" {
			text += " " + c.Cause
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// want fails unless the queue holds just that.
func (s *story) want(queue, want string) *story {
	s.t.Helper()
	if got := s.queue(queue); got != want {
		s.t.Errorf("%s holds [%s], and not [%s]", queue, got, want)
	}
	return s
}

// queue declares one. Arguments are "name=value", the name without x-; a number is an integer.
func queue(name string, arguments ...string) oracle.Command {
	c := oracle.Command{Kind: oracle.DeclareQueue, Name: name, Durable: true}
	for _, a := range arguments {
		key, text, _ := strings.Cut(a, "=")
		value := amqp.String(text)
		if n, err := strconv.Atoi(text); err == nil {
			value = amqp.Int64(int64(n))
		}
		c.Arguments = append(c.Arguments, amqp.Field{Name: "x-" + key, Value: value})
	}
	return c
}

func publish(queue, body string) oracle.Command {
	return oracle.Command{Kind: oracle.Publish, Key: queue, Body: body}
}

func expiring(queue, body, ms string) oracle.Command {
	c := publish(queue, body)
	c.Properties = amqp.Properties{Has: amqp.FlagExpiration, Expiration: ms}
	return c
}

func get(queue string) oracle.Command { return oracle.Command{Kind: oracle.Get, Name: queue} }

func reject(tag uint64, requeue bool) oracle.Command {
	return oracle.Command{Kind: oracle.Reject, Tag: tag, Requeue: requeue}
}

func nack(tag uint64, requeue bool) oracle.Command {
	return oracle.Command{Kind: oracle.Nack, Tag: tag, Requeue: requeue}
}

// TestRules says which rule the oracle itself has wrong, so that what it finds is not to be trusted. Each story is a
// check of the documents.
func TestRules(t *testing.T) {
	t.Parallel()
	dead := []string{"dead-letter-exchange=", "dead-letter-routing-key=dlq"}
	with := func(more ...string) []string { return slices.Concat(dead, more) }
	for name, tell := range map[string]func(s *story){
		"a rejected message is in the dead letter queue": func(s *story) {
			s.tell(queue("q", dead...), queue("dlq"), publish("q", "m"), get("q"), reject(1, false)).want("q", "").want("dlq", "m q/rejected")
		},
		"rejection beats TTL": func(s *story) {
			s.tell(queue("q", with("message-ttl=100")...), queue("dlq"), publish("q", "m"), get("q")).wait(300)
			s.tell(reject(1, false)).want("dlq", "m q/rejected")
		},
		"what comes back too late has expired": func(s *story) {
			s.tell(queue("q", with("message-ttl=100")...), queue("dlq"), publish("q", "m"), get("q")).wait(300)
			s.tell(nack(1, true)).want("q", "").want("dlq", "m q/expired")
		},
		"each message expires at its own instant": func(s *story) {
			s.tell(queue("q", dead...), queue("dlq"), expiring("q", "A", "30000"), expiring("q", "B", "1000")).wait(2000)
			s.want("q", "A").want("dlq", "B q/expired").wait(28000).want("dlq", "B q/expired, A q/expired")
		},
		"a full queue drops its head": func(s *story) {
			s.tell(queue("q", with("max-length=2")...), queue("dlq"), publish("q", "1"), publish("q", "2"), publish("q", "3"))
			s.want("q", "2, 3").want("dlq", "1 q/maxlen")
		},
		"unacked messages do not count, returned ones are dropped first": func(s *story) {
			s.tell(queue("q", with("max-length=1")...), queue("dlq"), publish("q", "1"), get("q"), publish("q", "2")).want("q", "1 unacked, 2")
			s.tell(nack(1, true)).want("q", "2").want("dlq", "1 q/maxlen")
		},
		"reject-publish-dlx makes a dead letter of the new message": func(s *story) {
			s.tell(queue("q", with("max-length=1", "overflow=reject-publish-dlx")...), queue("dlq"), publish("q", "1"), publish("q", "2"))
			s.want("q", "1").want("dlq", "2 q/maxlen")
		},
		"a cycle without a rejection ends in the lost store": func(s *story) {
			s.tell(queue("q", "message-ttl=10", "dead-letter-exchange=", "dead-letter-routing-key=q"), publish("q", "m")).wait(1000)
			s.want("q", "").want("lost store", "m q/expired cycle")
		},
		"a rejected message may come back for ever": func(s *story) {
			s.tell(queue("q", "dead-letter-exchange=", "dead-letter-routing-key=q"), publish("q", "m"))
			for n := range uint64(10) {
				s.tell(get("q"), reject(n+1, false)).want("q", "m q/rejected")
			}
		},
		"the third failure is beyond a limit of two": func(s *story) {
			s.tell(queue("q", with("queue-type=quorum", "delivery-limit=2")...), queue("dlq"), publish("q", "m"))
			s.tell(get("q"), reject(1, true), get("q"), reject(2, true)).want("q", "m").tell(get("q"), nack(3, true))
			s.want("q", "").want("dlq", "m q/delivery_limit")
		},
		"where failures count, nacks do not": func(s *story) {
			s.tell(queue("q", with("delivery-limit=0", "delivery-count-mode=failed")...), queue("dlq"), publish("q", "m"))
			s.tell(get("q"), nack(1, true)).want("q", "m").tell(get("q"), reject(2, true)).want("dlq", "m q/delivery_limit")
		},
		"a limit without a dead-letter exchange leads to the lost store": func(s *story) {
			s.tell(queue("q", "delivery-limit=0"), publish("q", "m"), get("q"), reject(1, true)).want("lost store", "m q/delivery_limit delivery_limit")
		},
		"a retry waits longer each time, up to a maximum": func(s *story) {
			s.tell(queue("q", "delayed-retry-type=all", "delayed-retry-min=1000", "delayed-retry-max=2500"), publish("q", "m"))
			for n, ms := range []int64{1000, 2000, 2500, 2500} {
				s.tell(get("q"), reject(uint64(n+1), true)).wait(ms-1).want("q", "m waiting").wait(1).want("q", "m")
			}
		},
		"a waiting message expires at its instant": func(s *story) {
			s.tell(queue("q", with("message-ttl=500", "delayed-retry-type=all", "delayed-retry-min=2000")...), queue("dlq"), publish("q", "m"))
			s.tell(get("q"), reject(1, true)).wait(500).want("dlq", "m q/expired")
		},
		"a dead letter is held until its exchange leads somewhere": func(s *story) {
			s.tell(queue("q", with("dead-letter-strategy=at-least-once")...), publish("q", "m"), get("q"), reject(1, false))
			s.want("q", "m held q/rejected no_route").tell(queue("dlq")).want("q", "").want("dlq", "m q/rejected")
		},
		"a dead letter is held for a full target alone": func(s *story) {
			s.tell(oracle.Command{Kind: oracle.DeclareExchange, Name: "x", Type: "fanout"})
			s.tell(queue("q", "dead-letter-exchange=x", "dead-letter-strategy=at-least-once"), queue("a"), queue("b", "max-length=0", "overflow=reject-publish"))
			for _, to := range []string{"a", "b"} {
				s.tell(oracle.Command{Kind: oracle.Bind, Exchange: "x", Name: to})
			}
			s.tell(publish("q", "m"), get("q"), reject(1, false)).want("a", "m q/rejected").want("q", "m held q/rejected refused").wait(60000)
			s.want("a", "m q/rejected").tell(oracle.Command{Kind: oracle.DeleteQueue, Name: "b"}).want("q", "").want("a", "m q/rejected")
		},
		"without at-least-once a refused dead letter is in the lost store": func(s *story) {
			s.tell(queue("q", dead...), queue("dlq", "max-length=0", "overflow=reject-publish"), publish("q", "m"), get("q"), reject(1, false))
			s.want("q", "").want("lost store", "m q/rejected refused")
		},
		"priorities: the highest first, and dropped first": func(s *story) {
			s.tell(queue("q", "max-priority=10", "max-length=2"))
			for _, m := range []struct {
				body     string
				priority uint8
			}{{"a", 1}, {"b", 20}, {"c", 1}} {
				c := publish("q", m.body)
				c.Properties = amqp.Properties{Has: amqp.FlagPriority, Priority: m.priority}
				s.tell(c)
			}
			s.want("q", "a, c")
		},
		"the policy of the highest priority, and it alone": func(s *story) {
			policy := func(name string, priority int64, key string, n int64) oracle.Command {
				return oracle.Command{Kind: oracle.SetPolicy, Policy: oracle.Policy{
					Name: name, ApplyTo: "all", Priority: priority, Definition: amqp.Table{{Name: key, Value: amqp.Int64(n)}},
				}}
			}
			s.tell(queue("q"), policy("p1", 0, "message-ttl", 10), policy("p2", 1, "max-length", 1), publish("q", "1"), publish("q", "2")).wait(100)
			s.want("q", "2").tell(oracle.Command{Kind: oracle.ClearPolicy, Policy: oracle.Policy{Name: "p2"}}, publish("q", "3")).wait(100)
			s.want("q", "2")
		},
		"an unused queue goes, and leaves no dead letters": func(s *story) {
			s.tell(queue("q", with("expires=2000")...), queue("dlq"), publish("q", "m")).wait(1999).want("q", "m").wait(1).want("dlq", "")
			if len(s.v.State().Queues) != 1 {
				s.t.Error("the queue is still there")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(begin(t))
		})
	}
}
