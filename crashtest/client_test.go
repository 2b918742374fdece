//go:build linux

package crashtest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// beat is the heartbeat of clients that wait for anything: a stalled reader must not be taken for dead.
const beat = 60 * time.Second

// dial connects as guest. The library waits for answers for ever: after a multiple of our patience the socket is cut.
func (b *broker) dial() *amqp.Connection {
	b.t.Helper()
	c, _, err := b.dialValve(beat)
	must(b.t, err)
	return c
}

func (b *broker) dialValve(heartbeat time.Duration) (*amqp.Connection, *valve, error) {
	var v *valve
	config := amqp.Config{
		Heartbeat: heartbeat,
		Vhost:     "/",
		Dial: func(network, addr string) (net.Conn, error) {
			conn, err := net.DialTimeout(network, addr, patience)
			if err != nil {
				return nil, err
			}
			late := time.AfterFunc(4*patience, func() { conn.Close() })
			b.t.Cleanup(func() { late.Stop() })
			v = &valve{Conn: conn, open: make(chan struct{})}
			close(v.open)
			return v, nil
		},
	}
	c, err := amqp.DialConfig("amqp://guest:guest@"+b.addr("amqp"), config)
	if err == nil {
		b.t.Cleanup(func() { _ = c.CloseDeadline(time.Now().Add(time.Second)) })
	}
	return c, v, err
}

// channel opens a channel on a connection of its own.
func (b *broker) channel() *amqp.Channel {
	b.t.Helper()
	return channelOn(b.t, b.dial())
}

func channelOn(t testing.TB, c *amqp.Connection) *amqp.Channel {
	t.Helper()
	ch, err := c.Channel()
	must(t, err)
	return ch
}

// A valve is a socket whose reader can be stopped.
type valve struct {
	net.Conn
	mu   sync.Mutex
	open chan struct{} // closed: reads go on
}

func (v *valve) Read(p []byte) (int, error) {
	v.mu.Lock()
	open := v.open
	v.mu.Unlock()
	<-open
	return v.Conn.Read(p)
}

// shut stops reads from the next one on; reopen lets them go on.
func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = make(chan struct{})
}

func (v *valve) reopen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.open)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks until yes: for what has no event that a client could wait for.
func eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for !yes() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// await returns the next event, and fails the test when none comes.
func await[E any](t testing.TB, what string, events <-chan E) E {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatalf("waiting for %s: the channel or connection has been closed", what)
		}
		return e
	case <-time.After(patience):
		showGoroutines(t)
		t.Fatalf("waiting for %s: nothing in %v", what, patience)
	}
	panic("unreachable")
}

// showGoroutines ends the brokers that run with SIGQUIT, so that their output says what they wait for.
func showGoroutines(t testing.TB) {
	t.Helper()
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var gone []int
	for _, list := range lists {
		children, err := os.ReadFile(list)
		must(t, err)
		for pid := range strings.FieldsSeq(string(children)) {
			n, err := strconv.Atoi(pid)
			must(t, err)
			_ = syscall.Kill(n, syscall.SIGQUIT) // one that has just ended shows nothing
			gone = append(gone, n)
		}
	}
	eventually(t, "the brokers have shown their goroutines", func() bool {
		return !slices.ContainsFunc(gone, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// depth is how many messages of a queue are ready.
func depth(t testing.TB, ch *amqp.Channel, queue string) int {
	t.Helper()
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	must(t, err)
	return q.Messages
}

// declare makes a queue and empties nothing.
func declare(t testing.TB, ch *amqp.Channel, name string, durable bool, args amqp.Table) {
	t.Helper()
	_, err := ch.QueueDeclare(name, durable, false, false, false, args)
	must(t, err)
}

// publish sends persistent messages to a queue and waits for their confirms.
func publish(t testing.TB, ch *amqp.Channel, queue string, bodies ...[]byte) {
	t.Helper()
	must(t, ch.Confirm(false))
	all := make([]*amqp.DeferredConfirmation, 0, len(bodies))
	for _, body := range bodies {
		c, err := ch.PublishWithDeferredConfirm("", queue, false, false, persistent(body))
		must(t, err)
		all = append(all, c)
	}
	deadline := time.After(patience)
	for i, c := range all {
		select {
		case <-c.Done():
			if !c.Acked() {
				t.Fatalf("message %d to %s was not confirmed", i, queue)
			}
		case <-deadline:
			t.Fatalf("%d of %d messages to %s confirmed in %v", i, len(all), queue, patience)
		}
	}
}

func persistent(body []byte) amqp.Publishing {
	return amqp.Publishing{DeliveryMode: amqp.Persistent, Body: body}
}

// refusal fails the test unless err is the broker's, with this code.
func refusal(t testing.TB, err error, code int) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want the refusal %d", err, code)
	}
}
