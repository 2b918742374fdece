package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// hot is a machine in the steady state, with an outcome that is reused as the engine does, but for the batch,
// whose buffer comes back.
type hot struct {
	v     *VHost
	out   Outcome
	index storage.Index
	tag   uint64 // given last
	last  [2][]byte
}

// Record implements storage.Records for the newest batches.
func (h *hot) Record(r storage.Ref) []byte { return h.last[r.Index%2][r.Offset : r.Offset+r.Size] }

// Head implements storage.Records.
func (h *hot) Head(r storage.Ref, n int) []byte { return h.Record(r.First(n)) }

// newHot declares the queue q and, if it shall be consumed, a consumer c of it.
func newHot(t testing.TB, consumed, noAck bool, arguments amqp.Table) *hot {
	h := &hot{index: 1}
	h.v = New("/", testLog, h, newPages())
	for _, c := range open("a") {
		h.step(t, c)
	}
	h.step(t, Command{Kind: SelectConfirms, Channel: 1})
	h.step(t, Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "q", Durable: true, Arguments: arguments}})
	h.step(t, Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "grave", Durable: true}})
	if consumed {
		h.step(t, Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c", NoAck: noAck}})
	}
	return h
}

// step decides one command in a batch of its own.
func (h *hot) step(t testing.TB, c Command) {
	s := Stamp{Now: epoch, From: epoch, Wall: epoch, Index: h.index}
	if err := h.v.Step(s, c, &h.out); err != nil {
		t.Fatal(err)
	}
	for i := range h.out.Effects {
		if k := h.out.Effects[i].Kind; k == Deliver || k == DeliverGot {
			h.tag = h.out.Effects[i].Tag
		}
	}
	old := h.last[(h.index+1)%2]
	if batch, _ := h.out.Seal(); batch != nil {
		h.last[h.index%2] = batch
		h.index++
		h.out.Next(old)
		return
	}
	h.out.Next(h.out.Batch)
}

// hotPaths are rounds of commands after which the machine is as it was. The acks give back window too.
var hotPaths = []struct {
	name            string
	consumed, noAck bool
	round           func(t testing.TB, h *hot, publish *Command)
}{
	{name: "publish and get without acks", round: func(t testing.TB, h *hot, publish *Command) {
		h.step(t, *publish)
		h.step(t, Command{Kind: Get, Channel: 1, Definition: getAuto})
	}},
	{name: "publish to a consumer without acks", consumed: true, noAck: true, round: func(t testing.TB, h *hot, publish *Command) {
		h.step(t, *publish)
		h.step(t, Command{Kind: Grant, Conn: 1, Window: 1 << 20})
	}},
	{name: "publish, deliver, ack", consumed: true, round: func(t testing.TB, h *hot, publish *Command) {
		h.step(t, *publish)
		h.step(t, Command{Kind: Ack, Channel: 1, Tag: h.tag})
		h.step(t, Command{Kind: Grant, Conn: 1, Window: 1 << 20})
	}},
	{name: "publish, deliver, requeue, deliver, ack", consumed: true, round: func(t testing.TB, h *hot, publish *Command) {
		h.step(t, *publish)
		h.step(t, Command{Kind: Reject, Channel: 1, Tag: h.tag, Requeue: true})
		h.step(t, Command{Kind: Ack, Channel: 1, Tag: h.tag})
		h.step(t, Command{Kind: Grant, Conn: 1, Window: 1 << 20})
	}},
	{name: "publish, deliver, reject", consumed: true, round: func(t testing.TB, h *hot, publish *Command) {
		h.step(t, *publish)
		h.step(t, Command{Kind: Reject, Channel: 1, Tag: h.tag})
		h.step(t, Command{Kind: Grant, Conn: 1, Window: 1 << 20})
	}},
}

var getAuto = &Definition{Name: "q", NoAck: true}

// TestHotPathsAllocateNothing says that publishing, handing over or settling makes garbage again. What grows by
// doubling, a chunk of a queue every 256 messages and a piece of volatile memory every 256 KiB is spread too
// thin to be seen here.
func TestHotPathsAllocateNothing(t *testing.T) {
	for _, path := range hotPaths {
		for mode := range uint8(2) {
			t.Run(fmt.Sprintf("%s, mode %d", path.name, mode+1), func(t *testing.T) {
				h := newHot(t, path.consumed, path.noAck, nil)
				publish := publishTo("q", mode+1, "0123456789abcdef")
				for range 2000 {
					path.round(t, h, &publish)
				}
				if n := testing.AllocsPerRun(2000, func() { path.round(t, h, &publish) }); n > 0 {
					t.Errorf("%v allocations in a round", n)
				}
				if err := h.v.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestDeadLettersAllocateLittle says that a move through a dead-letter exchange has become dearer: it builds
// its history anew, with keys and names as strings, 20 allocations at most.
func TestDeadLettersAllocateLittle(t *testing.T) {
	h := newHot(t, true, false, amqp.Table{
		{Name: "x-dead-letter-exchange", Value: amqp.String("")}, {Name: "x-dead-letter-routing-key", Value: amqp.String("grave")},
	})
	publish := publishTo("q", amqp.Persistent, "0123456789abcdef")
	get := &Definition{Name: "grave", NoAck: true}
	round := func() {
		h.step(t, publish)
		h.step(t, Command{Kind: Reject, Channel: 1, Tag: h.tag})
		h.step(t, Command{Kind: Get, Channel: 1, Definition: get})
		h.step(t, Command{Kind: Grant, Conn: 1, Window: 1 << 20})
	}
	for range 1000 {
		round()
	}
	if n := testing.AllocsPerRun(1000, round); n > 20 {
		t.Errorf("%v allocations in a round", n)
	}
}

func benchmarkPath(b *testing.B, i int, mode uint8, bytes int) {
	path := hotPaths[i]
	h := newHot(b, path.consumed, path.noAck, nil)
	publish := publishTo("q", mode, string(make([]byte, bytes)))
	b.ReportAllocs()
	for b.Loop() {
		path.round(b, h, &publish)
	}
}

func BenchmarkPublishGet(b *testing.B)                { benchmarkPath(b, 0, amqp.Persistent, 16) }
func BenchmarkPublishDeliverNoAck(b *testing.B)       { benchmarkPath(b, 1, 1, 16) }
func BenchmarkPublishDeliverAck(b *testing.B)         { benchmarkPath(b, 2, amqp.Persistent, 1024) }
func BenchmarkPublishDeliverAckVolatile(b *testing.B) { benchmarkPath(b, 2, 1, 1024) }
func BenchmarkRequeue(b *testing.B)                   { benchmarkPath(b, 3, amqp.Persistent, 1024) }
func BenchmarkReject(b *testing.B)                    { benchmarkPath(b, 4, amqp.Persistent, 1024) }

// BenchmarkDeadLetter is a publish, a delivery, a rejection and the move to the target, which is emptied.
func BenchmarkDeadLetter(b *testing.B) {
	h := newHot(b, true, false, amqp.Table{
		{Name: "x-dead-letter-exchange", Value: amqp.String("")}, {Name: "x-dead-letter-routing-key", Value: amqp.String("grave")},
	})
	publish, get := publishTo("q", amqp.Persistent, string(make([]byte, 1024))), &Definition{Name: "grave", NoAck: true}
	b.ReportAllocs()
	for b.Loop() {
		h.step(b, publish)
		h.step(b, Command{Kind: Reject, Channel: 1, Tag: h.tag})
		h.step(b, Command{Kind: Get, Channel: 1, Definition: get})
		h.step(b, Command{Kind: Grant, Conn: 1, Window: 1 << 20})
	}
}
