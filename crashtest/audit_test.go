//go:build linux

package crashtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// An audit looks at every message there is, judges it by the books, and gives it back or takes it away for good.
type audit struct {
	t      testing.TB
	b      *broker
	end    ending
	share  int // of what is found, percent: taken away for good
	random *rand.Rand
}

// run audits all shapes, by books. The gates are open already.
func (a *audit) run(all []*shape, books map[*shape]*ledger) (sum account) {
	a.t.Helper()
	a.end.again = a.b.started
	conn := a.b.dial()
	ch := channelOn(a.t, conn)
	a.recover(ch)
	for _, s := range all {
		sum.add(a.shape(s, books[s]))
	}
	must(a.t, conn.Close())
	return sum
}

// recover brings lost letters and held dead letters to the queues where they would have gone.
func (a *audit) recover(ch *amqp.Channel) {
	a.t.Helper()
	const lost = "expire.lost"
	must(a.t, ch.ExchangeDeclare(lostExchange, "fanout", true, false, false, false, nil))
	must(a.t, ch.QueueBind(lost+".dead", "", lostExchange, false, nil))
	for _, s := range []string{lost, "expire"} {
		a.expired(ch, s)
	}
	var answer struct{ Outcomes map[string]int }
	body := a.b.change(http.MethodPost, "/api/x/lost-letters/%2F/republish", map[string]any{"all": true})
	must(a.t, json.Unmarshal(body, &answer))
	for outcome, n := range answer.Outcomes {
		if outcome != "redriven" && n > 0 {
			a.t.Errorf("%d lost letters could not be sent on: %s", n, outcome)
		}
	}
	must(a.t, ch.ExchangeDelete(lostExchange, false, false))
	eventually(a.t, "held dead letters go where there is room now", func() bool {
		var queues []struct {
			Held int `json:"messages_dlx"`
		}
		a.b.list("/api/queues/%2F?columns=messages_dlx", &queues)
		sum := 0
		for _, q := range queues {
			sum += q.Held
		}
		return sum == 0
	})
}

func (a *audit) expired(ch *amqp.Channel, queue string) {
	a.t.Helper()
	eventually(a.t, "all expired in "+queue, func() bool { return depth(a.t, ch, queue) == 0 })
}

func (a *audit) shape(s *shape, books *ledger) account {
	a.t.Helper()
	conn := a.b.dial()
	seen := map[id][]sighting{}
	if s.volatile && a.end.died {
		_, err := channelOn(a.t, conn).QueueDeclarePassive(s.name, false, false, false, false, nil)
		refusal(a.t, err, amqp.NotFound)
	} else {
		ch := channelOn(a.t, conn)
		if s.args["x-message-ttl"] != nil {
			a.expired(ch, s.name)
		}
		if s.waiting() != "" {
			a.expired(ch, s.waiting())
		}
		n := 0
		if s.delayed {
			a.delayed(ch, s, books, seen)
		} else {
			n = a.look(ch, s, books, s.name, seen)
		}
		if n > 2*lengthMax && s.reason == "maxlen" {
			books.fault("%d messages, more than the limit", n)
		}
	}
	for _, queue := range s.deadLetters() {
		a.look(channelOn(a.t, conn), s, books, queue, seen)
	}
	if s.copies() != "" {
		a.compareCopies(channelOn(a.t, conn), s, books, seen)
	}
	must(a.t, conn.Close()) // what was not acked returns
	return books.close(s, seen, a.end)
}

// look takes every message of one queue, and acks some. The answer to a question proves it.
func (a *audit) look(ch *amqp.Channel, s *shape, books *ledger, queue string, seen map[id][]sighting) int {
	a.t.Helper()
	dead := queue != s.name
	durable := dead || !s.volatile
	depth := func() int {
		q, err := ch.QueueDeclarePassive(queue, durable, false, false, false, nil)
		must(a.t, err)
		return q.Messages
	}
	n := depth()
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	must(a.t, err)
	inOrder := newOrder(s)
	for place := range n {
		d := await(a.t, fmt.Sprintf("message %d of %d in %s", place+1, n, queue), deliveries)
		i, at, err := s.sight(&d, dead)
		if err != nil {
			books.fault("in %s: %v", queue, err)
			continue
		}
		at.queue, at.place, at.settled = queue, place, a.random.IntN(100) < a.share
		if s.delayed {
			at.early = books.comesEarly(i, time.Now())
		}
		seen[i] = append(seen[i], at)
		if at.settled {
			must(a.t, d.Ack(false))
		}
		if s.style == retries {
			n, err := s.tries(&d)
			if err != nil {
				books.fault("message %v %v", i, err)
			}
			books.tried(i, n)
			continue
		}
		// What a quorum queue got back has no place of its own; what was rejected is in the order of that.
		if s.delayed || s.quorum && d.Redelivered || dead && (s.reason == "rejected" || !s.deadLettersInOrder()) {
			continue
		}
		if wrong := inOrder.next(i); wrong != "" {
			books.fault("in %s: %s (redelivered: %v)", queue, wrong, d.Redelivered)
		}
	}
	if left := depth(); left != 0 && !s.delayed {
		books.fault("in %s: %d messages were ready, then %d more", queue, n, left)
	}
	return n
}

// compareCopies looks at the queue that has each dead letter too. It is emptied only together with all
// others, so that it has those, too, that are settled elsewhere.
func (a *audit) compareCopies(ch *amqp.Channel, s *shape, books *ledger, seen map[id][]sighting) {
	a.t.Helper()
	all := *a
	if all.share < 100 {
		all.share = 0
	}
	copies := map[id][]sighting{}
	all.look(ch, s, books, s.copies(), copies)
	for i, at := range copies {
		if len(at) > 1 {
			books.fault("dead letter %v has %d copies: %+v", i, len(at), at)
		}
	}
	for i, at := range seen {
		if at[0].dead && len(copies[i]) == 0 {
			books.fault("dead letter %v has no copy", i)
		}
	}
}

// compareDoors asks two doors how much is in each queue.
func compareDoors(t testing.TB, b *broker, atLeast int) {
	t.Helper()
	ch := b.channel()
	var queues []struct {
		Name     string
		Messages int
	}
	eventually(t, "the management API counts as AMQP does", func() bool {
		b.list("/api/queues", &queues)
		for _, q := range queues {
			if depth(t, ch, q.Name) != q.Messages {
				return false
			}
		}
		return true
	})
	if len(queues) < atLeast {
		t.Errorf("the management API knows %d queues", len(queues))
	}
	must(t, ch.Close())
}
