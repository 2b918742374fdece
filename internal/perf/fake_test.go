package perf

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// fakeBroker knows just enough AMQP for the scenarios: the default exchange, queues, consumers, confirms, dead letters,
// delayed exchanges. What has to wait for longMax or longer waits for ever.
type fakeBroker struct {
	t         testing.TB
	url       string
	copies    func(n int) int // how often the n-th message that reaches a queue is put into it; nil: once
	deaths    amqp.Table      // the headers of dead letters
	unlimited bool            // takes no notice of x-max-length
	refuse    string          // a queue with this in its name cannot be declared
	hasty     bool            // does not let anything wait
	plain     bool            // has no delayed exchanges
	forgotten int             // how many fewer were purged than waited

	mu struct {
		sync.Mutex
		queues    map[string]*fakeQueue
		exchanges map[string]bool
		waiting   []fakeWaiting // for ever, in a delayed exchange
		n         int
	}
}

const longMax = time.Minute

type fakeQueue struct {
	deadTo   string
	most     int // 0: any number of messages
	ready    []fakeMessage
	consumer *fakeConn
	tag      string
	autoAck  bool
}

type fakeMessage struct {
	properties, body []byte
	queue            string
}

// fakeConn is one connection; its fields but the socket are guarded by the broker's lock.
type fakeConn struct {
	conn     net.Conn
	unacked  map[uint64]fakeMessage
	next     uint64
	closed   bool   // its channel is
	confirms uint64 // the number of the next publish; 0: no confirms

	exchange string // where the content that is arriving goes
	to       string // the routing key
	arriving fakeMessage
	left     uint64
}

func startFake(t *testing.T) *fakeBroker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newFake(t)
	b.url = "amqp://guest:guest@" + l.Addr().String() + "/"
	var served sync.WaitGroup
	served.Go(func() { b.accept(l, &served) })
	t.Cleanup(func() {
		l.Close()
		served.Wait()
		if len(b.mu.queues) > 0 || len(b.mu.exchanges) > 0 {
			t.Errorf("left behind: %d queues, exchanges %v", len(b.mu.queues), b.mu.exchanges)
		}
	})
	return b
}

func newFake(t testing.TB) *fakeBroker {
	b := &fakeBroker{t: t, deaths: amqp.Table{{Name: "x-death", Value: amqp.Array(amqp.TableValue(nil))}}}
	b.mu.queues, b.mu.exchanges = map[string]*fakeQueue{}, map[string]bool{}
	return b
}

// accept serves until the listener is closed.
func (b *fakeBroker) accept(l net.Listener, served *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		served.Go(func() { b.serve(conn) })
	}
}

func (b *fakeBroker) serve(conn net.Conn) {
	defer conn.Close()
	c := &fakeConn{conn: conn, unacked: map[uint64]fakeMessage{}}
	buf, end := make([]byte, 1<<20), 0
	for started := false; ; {
		n, err := conn.Read(buf[end:])
		if err != nil {
			return
		}
		end += n
		at := 0
		if !started {
			started, at = true, len(wire.ProtocolHeader) // which is written alone
			c.write(0, &wire.ConnectionStart{VersionMinor: 9, Mechanisms: "PLAIN", Locales: "en_US", ServerProperties: amqp.Table{
				{Name: "product", Value: amqp.String("fake")}, {Name: "version", Value: amqp.String("1")},
			}})
		}
		for {
			f, n, err := wire.ParseFrame(buf[at:end], 0)
			if err != nil {
				b.t.Error(err)
				return
			}
			if n == 0 {
				break
			}
			at += n
			b.frame(c, f)
		}
		end = copy(buf, buf[at:end])
	}
}

func (b *fakeBroker) frame(c *fakeConn, f wire.Frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch f.Type {
	case wire.FrameHeader:
		h, _ := wire.ParseContentHeader(f.Payload)
		c.arriving = fakeMessage{properties: append([]byte(nil), h.Properties...)}
		c.left = h.BodySize
	case wire.FrameBody:
		c.arriving.body = append(c.arriving.body, f.Payload...)
		if c.left -= uint64(len(f.Payload)); c.left == 0 {
			b.route(c.exchange, c.to, c.arriving)
			if c.confirms > 0 {
				c.conn.Write(wire.AppendAck(nil, f.Channel, c.confirms, false))
				c.confirms++
			}
		}
	case wire.FrameMethod:
		m, err := wire.ParseMethod(f.Payload)
		if err != nil {
			b.t.Error(err)
			return
		}
		b.method(c, f.Channel, m)
	}
}

func (b *fakeBroker) method(c *fakeConn, ch uint16, m wire.Method) {
	if c.closed && ch != 0 {
		c.conn.Close()
		return
	}
	switch m := m.(type) {
	case *wire.ConnectionStartOk:
		c.write(ch, &wire.ConnectionTune{ChannelMax: 2047, FrameMax: 131072, Heartbeat: 60})
	case *wire.ConnectionOpen:
		c.write(ch, &wire.ConnectionOpenOk{})
	case *wire.ConnectionClose:
		for _, m := range c.settle(c.next, true) {
			if q := b.mu.queues[m.queue]; q != nil {
				q.ready = append(q.ready, m)
			}
		}
		c.write(ch, &wire.ConnectionCloseOk{})
	case *wire.ChannelOpen:
		c.write(ch, &wire.ChannelOpenOk{})
	case *wire.ConfirmSelect:
		c.confirms = 1
		c.write(ch, &wire.ConfirmSelectOk{})
	case *wire.BasicQos:
		c.write(ch, &wire.BasicQosOk{})
	case *wire.QueueDeclare:
		if b.refuse != "" && strings.Contains(m.Queue, b.refuse) {
			c.closed = true
			c.write(ch, &wire.ChannelClose{ReplyCode: 406, ReplyText: "refused"})
			return
		}
		if !m.Passive {
			key, _ := m.Arguments.Get("x-dead-letter-routing-key")
			most, _ := m.Arguments.Get("x-max-length")
			b.mu.queues[m.Queue] = &fakeQueue{deadTo: key.Str, most: int(most.Int)}
		}
		c.write(ch, &wire.QueueDeclareOk{Queue: m.Queue, MessageCount: uint32(len(b.mu.queues[m.Queue].ready))})
	case *wire.QueuePurge:
		b.mu.queues[m.Queue].ready = nil
		c.write(ch, &wire.QueuePurgeOk{})
	case *wire.QueueDelete:
		c.write(ch, &wire.QueueDeleteOk{MessageCount: uint32(len(b.mu.queues[m.Queue].ready))})
		delete(b.mu.queues, m.Queue)
	case *wire.BasicConsume:
		q := b.mu.queues[m.Queue]
		q.consumer, q.tag, q.autoAck = c, m.ConsumerTag, m.NoAck
		b.dispatch(q)
	case *wire.BasicPublish:
		c.exchange, c.to = m.Exchange, m.RoutingKey
	case *wire.ExchangeDeclare:
		if b.plain {
			c.closed = true
			c.write(ch, &wire.ChannelClose{ReplyCode: 406, ReplyText: "PRECONDITION_FAILED - unknown exchange type '" + m.Type + "'"})
			return
		}
		b.mu.exchanges[m.Exchange] = true
		c.write(ch, &wire.ExchangeDeclareOk{})
	case *wire.ExchangeDelete:
		delete(b.mu.exchanges, m.Exchange)
		c.write(ch, &wire.ExchangeDeleteOk{})
	case *wire.QueueBind:
		c.write(ch, &wire.QueueBindOk{})
	case *wire.BasicAck:
		c.settle(m.DeliveryTag, m.Multiple)
	case *wire.BasicReject:
		b.bury(c.settle(m.DeliveryTag, false))
	case *wire.BasicNack:
		b.bury(c.settle(m.DeliveryTag, m.Multiple))
	}
}

func (b *fakeBroker) enqueue(queue string, m fakeMessage) {
	p, _ := amqp.ParseProperties(m.properties)
	m.queue = queue
	q := b.mu.queues[queue]
	if q == nil {
		return // unroutable
	}
	if ttl, _ := strconv.Atoi(p.Expiration); p.Has&amqp.FlagExpiration != 0 && time.Duration(ttl)*time.Millisecond < longMax {
		b.after(ttl, func() { b.bury([]fakeMessage{m}) })
		return
	}
	copies := 1
	if b.copies != nil {
		copies = b.copies(b.mu.n)
	}
	b.mu.n++
	for range copies {
		q.ready = append(q.ready, m)
	}
	if q.most > 0 && !b.unlimited && q.consumer == nil && len(q.ready) > q.most {
		q.ready = q.ready[1:]
	}
	b.dispatch(q)
}

// bury moves messages to where their queues' dead letters go.
func (b *fakeBroker) bury(dead []fakeMessage) {
	for _, m := range dead {
		m.properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: b.deaths})
		if q := b.mu.queues[m.queue]; q != nil {
			b.enqueue(q.deadTo, m)
		}
	}
}

func (b *fakeBroker) dispatch(q *fakeQueue) {
	c := q.consumer
	if c == nil {
		return
	}
	for _, m := range q.ready {
		c.next++
		if !q.autoAck {
			c.unacked[c.next] = m
		}
		out := wire.AppendDeliver(nil, channel, q.tag, c.next, false, nil, []byte(m.queue))
		out = wire.AppendContentHeader(out, channel, uint64(len(m.body)), m.properties)
		c.conn.Write(wire.AppendBody(out, channel, m.body, 4096))
	}
	q.ready = nil
}

// settle takes what is settled out of the unacked, in order.
func (c *fakeConn) settle(tag uint64, multiple bool) (gone []fakeMessage) {
	first := tag
	if multiple {
		first = 1
	}
	for ; first <= tag; first++ {
		if m, ok := c.unacked[first]; ok {
			gone = append(gone, m)
			delete(c.unacked, first)
		}
	}
	return gone
}

func (c *fakeConn) write(ch uint16, m wire.Method) { c.conn.Write(wire.AppendMethod(nil, ch, m)) }
