//go:build linux

package crashtest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// errLate is an answer that did not come.
var errLate = errors.New("no answer in time")

// bounded runs something that has no deadline of its own; late is what ends it then.
func bounded(within time.Duration, late func(), fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		late()
		return errLate
	}
}

// A diskClient is a connection with one channel, whose socket can be cut.
type diskClient struct {
	conn *amqp.Connection
	ch   *amqp.Channel
	cut  func()
}

// diskQueue is a queue of one of the virtual hosts that share the disk.
type diskQueue struct{ vhost, name string }

// queues lists the work queues, and behind them the queues of dead letters.
func (r *diskRun) queues() (all []diskQueue) {
	for _, name := range []string{workQueue, deadQueue} {
		for _, vhost := range []string{"/", "second"}[:max(r.vhosts, 1)] {
			all = append(all, diskQueue{vhost, name})
		}
	}
	return all
}

// queue is one of those of that name, the i-th, and again from the first.
func (r *diskRun) queue(name string, i int) diskQueue {
	vhosts := max(r.vhosts, 1)
	if i %= vhosts; name == deadQueue {
		i += vhosts
	}
	return r.queues()[i]
}

// connect opens one; it takes no longer than answerWithin.
func (r *diskRun) connect(vhost string) (*diskClient, error) {
	var mu sync.Mutex
	var socket net.Conn
	s := &diskClient{cut: func() {
		mu.Lock()
		defer mu.Unlock()
		if socket != nil {
			_ = socket.(*net.TCPConn).SetLinger(0)
			socket.Close()
		}
	}}
	config := amqp.Config{Heartbeat: beat, Vhost: vhost, Dial: func(network, addr string) (net.Conn, error) {
		conn, err := net.DialTimeout(network, addr, answerWithin)
		mu.Lock()
		defer mu.Unlock()
		socket = conn
		return conn, err
	}}
	addr := r.broker.addr("amqp")
	err := bounded(answerWithin, s.cut, func() (err error) {
		if s.conn, err = amqp.DialConfig("amqp://guest:guest@"+addr, config); err == nil {
			s.ch, err = s.conn.Channel()
		}
		return err
	})
	if err != nil {
		s.cut()
		return nil, err
	}
	return s, nil
}

// depth asks for the ready messages of a queue: the answer comes behind all that this channel did before.
func (s *diskClient) depth(queue string) (n int, err error) {
	err = bounded(answerWithin, s.cut, func() error {
		q, err := s.ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		n = q.Messages
		return err
	})
	return n, err
}

// publish sends messages until stop is closed or all is sent.
func (r *diskRun) publish(q diskQueue, stop <-chan struct{}, random *rand.Rand) {
	for !isClosed(stop) && !r.gone() {
		s, err := r.connect(q.vhost)
		if err != nil {
			r.refusedBy("a publisher's connection", err)
			pause(stop, 200*time.Millisecond)
			continue
		}
		r.publishOn(s, q.name, stop, random)
		s.cut()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func pause(stop <-chan struct{}, d time.Duration) {
	select {
	case <-stop:
	case <-time.After(d):
	}
}

// refusedBy judges an error of connecting to a broker that serves: late is a wedge, and so is a wrong reason.
func (r *diskRun) refusedBy(what string, err error) {
	var refused *amqp.Error
	switch {
	case r.gone() || isClosed(r.broker.ending()):
	case errors.Is(err, errLate):
		r.wedge("%s: no answer in %v", what, answerWithin)
	case errors.As(err, &refused) && (refused.Code == amqp.AccessRefused || refused.Code == amqp.NotAllowed):
		r.wedge("%s: a wrong reason: %v", what, err)
	}
}

func (r *diskRun) publishOn(s *diskClient, queue string, stop <-chan struct{}, random *rand.Rand) {
	if bounded(answerWithin, s.cut, func() error { return s.ch.Confirm(false) }) != nil {
		return
	}
	closed := s.conn.NotifyClose(make(chan *amqp.Error, 1))
	go func() { // a write may wait for the end of an alarm
		select {
		case <-stop:
			pause(nil, 100*time.Millisecond) // some confirms still come
			s.cut()
		case <-closed:
		}
	}()
	room := make(chan struct{}, 64)
	for !isClosed(stop) && r.written.Load() < r.publishMax {
		select {
		case room <- struct{}{}:
		case <-stop:
			return
		case <-closed:
			return
		}
		n := cmp.Or(r.body, 1<<random.IntN(20)+20)
		body := make([]byte, max(n, 20))
		number := r.books.next()
		copy(body, fmt.Sprintf("%d.", number))
		confirmation, err := s.ch.PublishWithDeferredConfirm("", queue, false, false, persistent(body))
		if err != nil {
			return
		}
		r.written.Add(int64(len(body)))
		go func() {
			select {
			case <-confirmation.Done():
				if confirmation.Acked() {
					r.books.note(func(e *diskEntry) { e.confirmed = true }, number)
				}
				<-room
			case <-closed:
			}
		}()
	}
	select {
	case <-stop:
	case <-closed:
	}
}

// number reads which message a body is.
func number(body []byte) int {
	var n int
	if _, err := fmt.Sscanf(string(body[:min(20, len(body))]), "%d.", &n); err != nil {
		return math.MaxInt
	}
	return n
}

// consume settles what comes from a queue until stop is closed. What was settled is proven by a later answer.
func (r *diskRun) consume(q diskQueue, ackShare int, stop <-chan struct{}, random *rand.Rand) {
	for !isClosed(stop) && !r.gone() {
		s, err := r.connect(q.vhost)
		if err != nil {
			r.refusedBy("a consumer's connection", err)
			pause(stop, 200*time.Millisecond)
			continue
		}
		r.consumeOn(s, q.name, ackShare, stop, random)
		s.cut()
	}
}

func (r *diskRun) consumeOn(s *diskClient, queue string, ackShare int, stop <-chan struct{}, random *rand.Rand) {
	var deliveries <-chan amqp.Delivery
	err := bounded(answerWithin, s.cut, func() (err error) {
		if err = s.ch.Qos(100, 0, false); err == nil {
			deliveries, err = s.ch.Consume(queue, "", false, false, false, false, nil)
		}
		return err
	})
	if err != nil {
		r.refusedBy("basic.consume", err)
		return
	}
	var acked []int
	prove := func() bool {
		began := time.Now()
		_, err := s.depth(queue)
		if err != nil {
			r.refusedBy("an answer behind acks", err)
			return false
		}
		r.took("acks", began, answerWithin)
		r.books.note(func(e *diskEntry) { e.proven = true }, acked...)
		acked = acked[:0]
		return true
	}
	for unproven := 0; ; {
		var d amqp.Delivery
		ok, idle := false, false
		select {
		case d, ok = <-deliveries:
		case <-time.After(200 * time.Millisecond):
			idle = true
		case <-stop:
			prove()
			return
		}
		switch {
		case idle && unproven == 0:
			continue
		case idle:
		case !ok:
			return
		default:
			n := number(d.Body)
			r.seen(n, queue)
			if queue == deadQueue || random.IntN(100) < ackShare {
				r.books.note(func(e *diskEntry) { e.settled = true }, n)
				acked = append(acked, n)
				err = d.Ack(false)
			} else {
				err = d.Reject(false)
			}
			if err != nil {
				return
			}
			unproven++
		}
		if idle || unproven >= 64 {
			if unproven = 0; !prove() {
				return
			}
		}
	}
}

// seen notes a delivery: of what is known to be gone there is none.
func (r *diskRun) seen(n int, queue string) {
	if r.books.proven(n) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.mu.doubled) < 5 {
			r.mu.doubled = append(r.mu.doubled, fmt.Sprintf("message %d came again from %s, after its ack was answered", n, queue))
		}
	}
}
