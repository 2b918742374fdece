package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// patience is how long a case waits for something that must happen. Nothing takes this long unless it never comes.
const patience = 10 * time.Second

// run is part of every name, so that runs against the same broker do not meet.
var run = strings.ToLower(rand.Text()[:5])

// T is what a case works with: the broker, names of its own, and ways to wait.
type T struct {
	*testing.T
	Case
	broker broker
	number int
	vhost  string // that the case's connections open

	asked    struct{ since, differs bool } // which sides the case has told apart
	lifeline lifeline
}

// caseLimit is how long a case may take at all; the longest waits ten seconds for a handshake to be given up.
const caseLimit = 45 * time.Second

// A lifeline cuts the connections of a case that takes too long: the library waits for an answer for ever.
type lifeline struct {
	mu struct {
		sync.Mutex
		conns []net.Conn
	}
}

func (l *lifeline) add(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.conns = append(l.mu.conns, c)
}

func (l *lifeline) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.mu.conns {
		c.Close()
	}
}

// sides fails a case that says in its data that sides differ and then does not tell them apart. On RabbitMQ the
// series may decide before it matters what Bartleby does.
func (t *T) sides() {
	if t.Since != "" && !t.asked.since {
		t.Error("the case says since when its rule holds, but asserts the same for every series")
	}
	if t.Differs != "" && t.broker.bartleby && !t.asked.differs {
		t.Error("the case says that Bartleby differs, but asserts the same for it")
	}
}

// name makes the name of a queue, exchange or user that no other case uses. It is short, so that no reply text is cut.
func (t *T) name(role string) string { return fmt.Sprintf("%s.%d.%s", run, t.number, role) }

// equal fails the case unless got is want.
func (t *T) equal(what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %#v, want %#v", what, got, want)
	}
}

func (t *T) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refusal fails the case unless err is the broker's, with this code and text.
func (t *T) refusal(err error, code int, text string) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want the refusal %d %s", err, code, text)
	}
	if e.Code != code || e.Reason != text {
		t.Fatalf("got  %d %s\nwant %d %s", e.Code, e.Reason, code, text)
	}
}

// refusalLike is refusal for texts of which clients rely on a part.
func (t *T) refusalLike(err error, code int, part string) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Reason, part) {
		t.Fatalf("got %v, want %d with %q", err, code, part)
	}
}

// await returns the next event of a channel, and fails the case when none comes in time.
func await[E any](t *T, what string, events <-chan E) E {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatalf("waiting for %s: the channel or connection has been closed", what)
		}
		return e
	case <-time.After(patience):
		t.Fatalf("waiting for %s: nothing in %v", what, patience)
	}
	panic("unreachable")
}

// silent fails the case if an event waits already. What could have caused it must have been answered before.
func silent[E any](t *T, what string, events <-chan E) {
	t.Helper()
	select {
	case e, ok := <-events:
		if ok {
			t.Fatalf("unexpected %s: %+v", what, e)
		}
	default:
	}
}

// A connection is a client's, with the broker's close as an event. It is closed with the case.
type connection struct {
	*amqp.Connection
	t      *T
	closed chan *amqp.Error
}

func (t *T) dial(user, password, vhost string) (*connection, error) {
	uri := t.broker.uri
	uri.Username, uri.Password, uri.Vhost = user, password, vhost
	dial := amqp.DefaultDial(patience)
	config := amqp.Config{Vhost: vhost, Dial: func(network, addr string) (net.Conn, error) {
		c, err := dial(network, addr)
		if err == nil {
			t.lifeline.add(c)
		}
		return c, err
	}}
	c, err := amqp.DialConfig(uri.String(), config)
	if err != nil {
		return nil, err
	}
	conn := &connection{Connection: c, t: t, closed: c.NotifyClose(make(chan *amqp.Error, 1))}
	t.Cleanup(func() { _ = c.CloseDeadline(time.Now().Add(patience)) })
	return conn, nil
}

// connect opens a connection to the case's vhost.
func (t *T) connect() *connection {
	t.Helper()
	c, err := t.dial(t.broker.uri.Username, t.broker.uri.Password, t.vhost)
	t.must(err)
	return c
}

// channel opens a channel on a new connection.
func (t *T) channel() *channel {
	t.Helper()
	return t.connect().channel()
}

// A channel is a client's, with what the broker sends unasked as events.
type channel struct {
	*amqp.Channel
	t        *T
	conn     *connection
	closed   chan *amqp.Error
	returns  chan amqp.Return
	cancels  chan string
	confirms chan amqp.Confirmation // after confirm
}

// eventsMax is more than any case leaves unread: the library blocks a connection whose events nobody takes.
const eventsMax = 2048

func (c *connection) channel() *channel {
	c.t.Helper()
	ch, err := c.Connection.Channel()
	c.t.must(err)
	return &channel{
		Channel: ch, t: c.t, conn: c,
		closed:  ch.NotifyClose(make(chan *amqp.Error, 1)),
		returns: ch.NotifyReturn(make(chan amqp.Return, eventsMax)),
		cancels: ch.NotifyCancel(make(chan string, eventsMax)),
	}
}

// refused waits for the broker to close the channel with this code and text, as it does after asynchronous methods.
func (ch *channel) refused(code int, text string) {
	ch.t.Helper()
	ch.t.refusal(await(ch.t, "channel.close", ch.closed), code, text)
}

// requeueUnacked is basic.recover.
func (ch *channel) requeueUnacked() {
	ch.t.Helper()
	//lint:ignore SA1019 The library advises against the method; a broker must know it all the same.
	ch.t.must(ch.Recover(true))
}

// confirm puts the channel into confirm mode.
func (ch *channel) confirm() {
	ch.t.Helper()
	ch.t.must(ch.Confirm(false))
	ch.confirms = ch.NotifyPublish(make(chan amqp.Confirmation, eventsMax))
}

// confirmed waits for the next confirm and fails the case unless it is an ack (or, with ack false, a nack).
func (ch *channel) confirmed(ack bool) {
	ch.t.Helper()
	if c := await(ch.t, "confirm", ch.confirms); c.Ack != ack {
		ch.t.Fatalf("publish %d: ack is %v, want %v", c.DeliveryTag, c.Ack, ack)
	}
}

// An edit changes a message before it is published.
type edit func(*amqp.Publishing)

func expiration(ms string) edit     { return func(m *amqp.Publishing) { m.Expiration = ms } }
func headers(h amqp.Table) edit     { return func(m *amqp.Publishing) { m.Headers = h } }
func persistent(m *amqp.Publishing) { m.DeliveryMode = amqp.Persistent }

// publish publishes a text.
func (ch *channel) publish(exchange, key, body string, edits ...edit) {
	ch.t.Helper()
	ch.send(exchange, key, body, false, edits...)
}

// put publishes a text and waits until the broker has it: a count asked for on RabbitMQ overtakes what is on its way.
func (ch *channel) put(exchange, key, body string, edits ...edit) {
	ch.t.Helper()
	if ch.confirms == nil {
		ch.confirm()
	}
	ch.publish(exchange, key, body, edits...)
	ch.confirmed(true)
}

// publishMandatory is publish with the mandatory flag.
func (ch *channel) publishMandatory(exchange, key, body string, edits ...edit) {
	ch.t.Helper()
	ch.send(exchange, key, body, true, edits...)
}

func (ch *channel) send(exchange, key, body string, mandatory bool, edits ...edit) {
	ch.t.Helper()
	m := amqp.Publishing{Body: []byte(body)}
	for _, e := range edits {
		e(&m)
	}
	ch.t.must(ch.PublishWithContext(context.Background(), exchange, key, mandatory, false, m))
}
