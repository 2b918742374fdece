package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// disk is a disk in memory whose syncs can be held up or made to fail.
type disk struct {
	*vfs.Faulty
	mem  *vfs.Mem
	mu   sync.Mutex
	hold chan struct{} // syncs wait until it is closed
	fail error         // of the next sync
	grow *int64        // bytes that files may grow by from the next call on; negative: any
}

func newDisk() *disk {
	d := &disk{mem: vfs.NewMem(1)}
	d.Faulty = vfs.NewFaulty(d.mem)
	d.Before(func(c vfs.Call) error {
		d.mu.Lock()
		if d.grow != nil {
			d.Budget(*d.grow)
			d.grow = nil
		}
		d.mu.Unlock()
		if c.Op != "sync" {
			return nil
		}
		d.mu.Lock()
		hold, fail := d.hold, d.fail
		d.fail = nil
		d.mu.Unlock()
		if hold != nil {
			<-hold
		}
		return fail
	})
	return d
}

// diskFile passes by Faulty for reading, which the journal does beside other calls.
type diskFile struct {
	vfs.File
	plain vfs.File
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) { return f.plain.ReadAt(p, off) }

func (f *diskFile) Close() error { return errors.Join(f.plain.Close(), f.File.Close()) }

// Create implements vfs.FS.
func (d *disk) Create(name string) (vfs.File, error) { return d.both(name, d.Faulty.Create) }

// Open implements vfs.FS.
func (d *disk) Open(name string) (vfs.File, error) { return d.both(name, d.Faulty.Open) }

func (d *disk) both(name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	plain, err := d.mem.Open(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{f, plain}, nil
}

// holdSyncs keeps syncs from ending until the function that it returns is called.
func (d *disk) holdSyncs() (release func()) {
	hold := make(chan struct{})
	d.mu.Lock()
	d.hold = hold
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		d.hold = nil
		d.mu.Unlock()
		close(hold)
	}
}

// failNextSync fails the next sync that somebody asks for from now on: what is made ready beside the traffic has come
// to rest.
func (d *disk) failNextSync(err error) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
}

// crash is a power cut in a quiet moment.
func (d *disk) crash() {
	synctest.Wait()
	d.mem.Crash()
}

func (d *disk) budget(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grow = &n
}

// start opens an engine with a clock that stands still, unless change says otherwise.
func start(t *testing.T, d *disk, change ...func(*Options)) *Engine {
	t.Helper()
	o := Options{
		FS: d, Clock: NewTestClock(time.Unix(1_000_000_000, 0)), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1},
	}
	for _, f := range change {
		f(&o)
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func stop(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// client is a frontend that notes what it is told, with one channel.
type client struct {
	t       *testing.T
	session *Session
	channel vhost.ChannelID
	mu      sync.Mutex
	got     []string
	events  chan string // what came, if somebody listens
	unflush int         // effects since the last flush
	stopped *amqp.Error
}

// attach connects a client to "/" as user; "" is the broker itself.
// testPrincipal is a user, or the broker itself if the name is "".
func testPrincipal(user string) authz.Principal {
	return authz.Principal{User: user, Local: user == ""}
}

func attach(t *testing.T, e *Engine, user string) *client {
	t.Helper()
	c := &client{t: t, events: make(chan string, 10_000)}
	var err error
	info := ConnInfo{Name: "test", Principal: testPrincipal(user), VHost: "/", Window: WindowDefault}
	if c.session, err = e.Attach(c, info); err != nil {
		t.Fatal(err)
	}
	c.open()
	return c
}

// open opens a new channel, which later commands go to.
func (c *client) open() {
	c.channel = c.session.NewChannel()
	c.post(vhost.Command{Kind: vhost.OpenChannel, Conn: c.session.Conn()})
}

// Blocked and Unblocked implement Frontend.
func (c *client) Blocked(reason string) { c.note("blocked " + reason) }

func (c *client) Unblocked() { c.note("unblocked") }

func (c *client) note(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unflush++
	c.got = append(c.got, s)
	select {
	case c.events <- s:
	default:
	}
}

// Emit implements Frontend.
func (c *client) Emit(e *vhost.Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unflush++
	if e.Kind == vhost.Done && e.Command == vhost.OpenChannel {
		return
	}
	s := map[vhost.EffectKind]string{
		vhost.Deliver: "deliver", vhost.DeliverGot: "got", vhost.DeliverNone: "none", vhost.Confirm: "confirm", vhost.Refuse: "refuse",
		vhost.SendBack: "return", vhost.Done: "done", vhost.Cancelled: "cancelled", vhost.Closed: "closed",
	}[e.Kind]
	switch e.Kind {
	case vhost.Confirm, vhost.Refuse:
		s += fmt.Sprint(" ", e.Tag)
	case vhost.Deliver, vhost.DeliverGot, vhost.SendBack:
		v, err := e.Message.View()
		if err != nil {
			c.t.Error(err)
		}
		s += " " + string(v.Body)
	case vhost.Closed:
		s += " " + e.Err.Text
	}
	c.got = append(c.got, s)
	c.events <- s
}

// Flush implements Frontend.
func (c *client) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unflush = 0
}

// Stopped implements Frontend.
func (c *client) Stopped(err *amqp.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = err
	c.events <- "stopped"
}

// post sends commands on the client's channel, as one batch.
func (c *client) post(commands ...vhost.Command) {
	for i := range commands {
		commands[i].Channel = c.channel
	}
	c.session.Submit(&Batch{Commands: commands})
}

// take waits until all is quiet and returns what has come since.
func (c *client) take() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unflush > 0 {
		c.t.Errorf("%d effects were not flushed", c.unflush)
	}
	got := c.got
	c.got = nil
	return got
}

func (c *client) expect(want ...string) {
	c.t.Helper()
	if got := c.take(); !slices.Equal(got, want) {
		c.t.Errorf("got %q, want %q", got, want)
	}
}

// stoppedWith is why the client was stopped; nil if it was not.
func (c *client) stoppedWith() *amqp.Error {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

func properties(mode uint8) []byte {
	return amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: mode})
}

func publish(key, body string) vhost.Command {
	return vhost.Command{Kind: vhost.Publish, Key: []byte(key), Properties: properties(amqp.Persistent), Body: []byte(body)}
}

func publishTransient(key, body string) vhost.Command {
	return vhost.Command{Kind: vhost.Publish, Key: []byte(key), Properties: properties(1), Body: []byte(body)}
}

func declare(name string, arguments ...amqp.Field) vhost.Command {
	return vhost.Command{Kind: vhost.DeclareQueue, NoWait: true, Definition: &vhost.Definition{Name: name, Durable: true, Arguments: arguments}}
}

func consume(queue string) vhost.Command {
	return vhost.Command{Kind: vhost.Consume, NoWait: true, Definition: &vhost.Definition{Name: queue, ConsumerTag: "c"}}
}

func get(queue string) vhost.Command {
	return vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: queue, NoAck: true}}
}

func confirms() vhost.Command { return vhost.Command{Kind: vhost.SelectConfirms, NoWait: true} }

// ready counts what is ready in a queue, -1 if there is none.
func ready(t *testing.T, e *Engine, queue string) int {
	t.Helper()
	n := -1
	if err := e.Query(context.Background(), "/", func(v vhost.Reader) {
		if q, ok := v.Queue(queue); ok {
			n = q.Ready
		}
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEffectsWaitUntilSafe says that something durable is seen before it can no longer be lost, or that what
// depends on nothing waits for a stranger's write.
func TestEffectsWaitUntilSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		consumer, durable, transient := attach(t, e, ""), attach(t, e, ""), attach(t, e, "")
		consumer.post(declare("work"), declare("other"), consume("work"))
		durable.post(confirms())
		transient.post(confirms())
		synctest.Wait()

		release := d.holdSyncs()
		durable.post(publish("work", "a"), publish("nowhere", "n"))
		transient.post(publishTransient("other", "t"))
		transient.expect("confirm 1")
		durable.expect()
		consumer.expect()
		release()
		durable.expect("confirm 1", "confirm 2")
		consumer.expect("deliver a")
	})
}

// TestOrder says that commands of a session, or effects of a channel, overtake each other: on the way in place,
// through the goroutine, or behind what waits for the disk.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"), confirms())
		var want []string
		n := 0
		for round := range 20 {
			var batch []vhost.Command
			for range []int{1, inPlaceMax + 1, 5}[round%3] {
				n++
				x := publish("work", fmt.Sprint(n))
				if n%3 == 0 {
					x = publishTransient("work", fmt.Sprint(n))
				}
				batch = append(batch, x)
				want = append(want, fmt.Sprint("confirm ", n))
			}
			c.post(batch...)
		}
		c.expect(want...)
		want = want[:0]
		for i := range n {
			want = append(want, fmt.Sprint("deliver ", i+1))
		}
		c.post(consume("work"))
		c.expect(want...)
	})
}

// TestFailedSync says that after a write that failed something lost is confirmed, somebody is not told, or the
// vhost does not come back with what was safe.
func TestFailedSync(t *testing.T) {
	for range 20 { // who is told first is a race
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			e := start(t, d)
			defer stop(t, e)
			c, idle := attach(t, e, ""), attach(t, e, "")
			c.post(declare("work"), confirms(), publish("work", "safe"))
			c.expect("confirm 1")

			d.failNextSync(errors.New("the disk is gone"))
			c.post(publish("work", "lost"))
			c.expect()
			for _, x := range []*client{c, idle} {
				if err := x.stoppedWith(); err == nil || err.Code != amqp.CodeInternalError {
					t.Fatalf("stopped with %v", err)
				}
			}
			again := attach(t, e, "")
			again.post(confirms(), publish("work", "after"))
			again.expect("confirm 1")
			again.post(get("work"), get("work"), get("work"))
			again.expect("got safe", "got after", "none")
			if err := e.Down("/"); err != nil {
				t.Errorf("the vhost is down: %v", err)
			}
		})
	}
}

// TestNoSpace says that a full disk stops those who would empty it, or lets publishers go on; or that nothing
// goes on when there is space again.
func TestNoSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, func(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 256 << 10} })
		defer stop(t, e)
		publisher, consumer := attach(t, e, ""), attach(t, e, "")
		publisher.post(declare("work"), confirms())
		for range 10 {
			publisher.post(publish("work", "m"))
		}
		publisher.take()

		d.budget(0)
		filler := attach(t, e, "")
		body := string(make([]byte, 8<<10))
		for range 1000 {
			if e.Alarms() != 0 {
				break
			}
			filler.post(publish("work", body), confirms())
			synctest.Wait()
		}
		if e.Alarms() == 0 {
			t.Fatal("the disk is never full")
		}
		publisher.post(publish("work", "waits"))
		publisher.expect("blocked low on disk")
		for range 5 {
			consumer.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}})
		}
		consumer.expect("got m", "got m", "got m", "got m", "got m")
		before := ready(t, e, "work")
		consumer.post(vhost.Command{Kind: vhost.Ack, Multiple: true})
		if now := ready(t, e, "work"); now != before {
			t.Errorf("%d ready, %d before: the publisher's message is not waiting", now, before)
		}

		d.budget(-1)
		for ev := range publisher.events {
			if ev == "confirm 11" {
				break
			}
		}
		if e.Alarms() != 0 {
			t.Error("there is room, and the alarm is on")
		}
		if now := ready(t, e, "work"); now != before+1 {
			t.Errorf("%d ready, not %d", now, before+1)
		}
	})
}

// TestReopen says that a clean stop, or a crash, loses or doubles something that was confirmed.
func TestReopen(t *testing.T) {
	for name, crash := range map[string]bool{"stop": false, "crash": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				var before []byte
				look := func(v *vhost.VHost) { before = v.Projection() }
				for round := range 4 {
					e := start(t, d)
					if round > 0 {
						var now []byte
						if err := e.look(t.Context(), "/", false, func(v *vhost.VHost) { now = v.Projection() }); err != nil {
							t.Fatal(err)
						}
						if string(now) != string(before) {
							t.Errorf("round %d: the state is another one", round)
						}
					}
					c := attach(t, e, "")
					c.post(declare("work"), declare("grave"), confirms())
					for i := range 100 {
						c.post(publish("work", fmt.Sprint(i)))
						if i%3 == 0 {
							c.post(get("work"))
						}
					}
					c.take()
					if err := e.look(t.Context(), "/", false, look); err != nil {
						t.Fatal(err)
					}
					if crash {
						d.crash()
						e.Close()
						d.crash()
						continue
					}
					c.session.Close()
					stop(t, e)
				}
			})
		})
	}
}

// TestClose says that a broker that ends leaves goroutines or frontends behind, or can be used still.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		d := newDisk()
		e := start(t, d)
		gone := attach(t, e, "")
		gone.session.Close()
		gone.session.Close()
		gone.post(declare("work"))
		if n := ready(t, e, "work"); n != -1 {
			t.Error("a session that has ended is listened to")
		}
		c := attach(t, e, "")
		if _, err := Open(Options{FS: d, Log: e.slog}); err == nil {
			t.Error("a second engine has opened the same data")
		}
		stop(t, e)
		if err := c.stoppedWith(); err == nil || err.Code != amqp.CodeConnectionForced {
			t.Errorf("stopped with %v", err)
		}
		stop(t, e)
		if _, err := e.Attach(c, ConnInfo{Principal: authz.Broker(), VHost: "/", Window: WindowDefault}); err == nil {
			t.Error("a closed engine can be attached to")
		}
	})
}
