//go:build linux

package crashtest

import (
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// drainAll takes out all that there is, while others look.
func (r *diskRun) drainAll() (count int) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { r.look(stop) })
	if r.greedy {
		all.Go(func() {
			for !isClosed(stop) {
				if err := r.stranger.fill(0); err != nil {
					r.t.Error(err)
				}
				pause(stop, 50*time.Millisecond)
			}
		})
	}
	switch r.drain {
	case "consume":
		for _, q := range r.queues() {
			count += r.drainQueue(q)
		}
	default:
		for _, q := range r.queues() {
			began := time.Now()
			n, err := r.empty(q)
			if err != nil {
				r.wedge("%s of %v: %v", r.drain, q, err)
				break
			}
			r.took(r.drain, began, startWithin)
			count += n
		}
	}
	close(stop)
	all.Wait()
	return count
}

// empty purges or deletes a queue.
func (r *diskRun) empty(q diskQueue) (n int, err error) {
	s, err := r.connect(q.vhost)
	if err != nil {
		return 0, err
	}
	defer s.cut()
	err = bounded(startWithin, s.cut, func() (err error) {
		if r.drain == "purge" {
			n, err = s.ch.QueuePurge(q.name, false)
		} else {
			n, err = s.ch.QueueDelete(q.name, false, false, false)
		}
		return err
	})
	return n, err
}

// drainQueue consumes and acks all messages of a queue. It goes on as long as it gets on.
func (r *diskRun) drainQueue(q diskQueue) (count int) {
	last := time.Now()
	for time.Since(last) < goesOnWithin && !r.isWedged() {
		s, err := r.connect(q.vhost)
		if err != nil {
			r.refusedBy("connection of a draining consumer", err)
			pause(nil, 200*time.Millisecond)
			continue
		}
		n, done := r.drainOn(s, q.name)
		s.cut()
		if count += n; done {
			return count
		}
		if n > 0 {
			last = time.Now()
		}
	}
	r.wedge("drain: %v is not empty after %d messages, and does not get on", q, count)
	return count
}

func (r *diskRun) drainOn(s *diskClient, queue string) (count int, done bool) {
	var deliveries <-chan amqp.Delivery
	err := bounded(answerWithin, s.cut, func() (err error) {
		if err = s.ch.Qos(200, 0, false); err == nil {
			deliveries, err = s.ch.Consume(queue, "", false, false, false, false, nil)
		}
		return err
	})
	if err != nil {
		r.refusedBy("basic.consume of the drain", err)
		return 0, false
	}
	var acked []int
	defer func() { // what was acked and not answered may come again, or not
		r.books.note(func(e *diskEntry) { e.settled, e.seen = true, 0 }, acked...)
	}()
	for {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return count, false
			}
			n := number(d.Body)
			r.seen(n, queue)
			r.books.note(func(e *diskEntry) { e.seen++ }, n)
			acked = append(acked, n)
			if d.Ack(false) != nil {
				return count, false
			}
			if len(acked) < 100 {
				continue
			}
		case <-time.After(300 * time.Millisecond):
		}
		began := time.Now()
		left, err := s.depth(queue)
		if err != nil {
			r.refusedBy("an answer behind acks of the drain", err)
			return count, false
		}
		r.took("acks", began, answerWithin)
		idle := len(acked) == 0
		r.books.note(func(e *diskEntry) { e.proven, e.settled = true, true }, acked...)
		count += len(acked)
		acked = acked[:0]
		if left == 0 && idle {
			return count, true
		}
	}
}
