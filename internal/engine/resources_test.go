package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// fakeMachine has the figures that a test gives it.
type fakeMachine struct {
	mu       sync.Mutex
	usage    resource.Usage
	garbage  int64 // of the memory used: gone when it is given back
	gaveBack int
	aim      int64
}

func newMachine() *fakeMachine {
	return &fakeMachine{usage: resource.Usage{MemoryUsed: 100, MemoryMax: 1000, DiskFree: 1 << 40}}
}

// Read implements Machine.
func (m *fakeMachine) Read() resource.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

// GiveBack implements Machine.
func (m *fakeMachine) GiveBack() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.MemoryUsed -= m.garbage
	m.garbage = 0
	m.gaveBack++
}

func (m *fakeMachine) allocates(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Allocated += bytes
}

// Aim implements Machine.
func (m *fakeMachine) Aim(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.aim = bytes
}

// asked is how often memory was given back, and the latest aim, once all is quiet.
func (m *fakeMachine) asked() (gaveBack int, aim int64) {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gaveBack, m.aim
}

// uses sets the memory in use and the free disk, and waits until that has been seen.
func (m *fakeMachine) uses(memory, garbage, free int64) {
	m.mu.Lock()
	m.usage.MemoryUsed, m.garbage, m.usage.DiskFree = memory+garbage, garbage, free
	m.mu.Unlock()
	time.Sleep(resource.CheckLatest) // of the bubble's time
	synctest.Wait()
}

// startOn starts an engine on a machine, in a bubble whose time the resource monitor goes by. Its log is in the buffer.
func startOn(t *testing.T, m *fakeMachine, change ...func(*Options)) (*Engine, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	all := append([]func(*Options){func(o *Options) {
		o.Node, o.Machine, o.Log = "rabbit@h", m, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	}}, change...)
	return start(t, newDisk(), all...), log
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// TestMemoryAlarm says that publishers fill the memory, that consumers wait with them, or that it does not end by
// itself.
func TestMemoryAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		e, log := startOn(t, m)
		defer stop(t, e)
		before, silent, consumer := attach(t, e, ""), attach(t, e, ""), attach(t, e, "")
		before.post(declare("work"), confirms(), publish("work", "a"), publish("work", "b"))
		before.expect("confirm 1", "confirm 2")

		m.uses(601, 0, 1<<40)
		if got := e.Alarms(); got != resource.LowMemory {
			t.Fatalf("alarms %q", got)
		}
		before.expect("blocked low on memory")
		silent.expect()
		silent.post(confirms(), publish("work", "c"), publish("work", "d"))
		silent.expect("blocked low on memory")
		during := attach(t, e, "") // opened while it holds
		during.expect()
		during.post(confirms(), declare("other"), get("work"))
		during.expect("got a")
		during.post(publish("other", "e"))
		during.expect("blocked low on memory")
		before.post(publish("work", "f"))
		before.expect()
		consumer.post(consume("work"), vhost.Command{Kind: vhost.Ack, Tag: 1})
		consumer.expect("deliver b")
		if n := ready(t, e, "work"); n != 0 {
			t.Errorf("%d ready: what has to wait has come in", n)
		}

		m.uses(571, 0, 1<<40) // not far enough below
		if e.Alarms() == 0 {
			t.Error("cleared at once: it will flap")
		}
		m.uses(570, 0, 1<<40)
		if e.Alarms() != 0 {
			t.Error("not cleared")
		}
		silent.expect("unblocked", "confirm 1", "confirm 2")
		before.expect("unblocked", "confirm 3")
		during.expect("unblocked", "confirm 1")
		if got := consumer.take(); len(got) != 3 {
			t.Errorf("the consumer got %q", got)
		}
		want := `msg="memory resource limit alarm set on node rabbit@h: publishers are blocked" used=601 limit=600
msg="memory resource limit alarm cleared on node rabbit@h" used=570 limit=600
`
		if got := log.String(); got != want {
			t.Errorf("logged\n%swant\n%s", got, want)
		}
	})
}

// TestSeveralAlarms says that publishers go on when one of two alarms ends, or are told twice.
func TestSeveralAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		e, log := startOn(t, m, func(o *Options) {
			o.Limits = &resource.Limits{MemoryHighWatermark: resource.Relative(0.5), DiskFree: resource.Absolute(100 << 20)}
		})
		defer stop(t, e)
		publisher, late := attach(t, e, ""), attach(t, e, "")
		publisher.post(declare("work"), confirms(), publish("work", "a"))
		publisher.expect("confirm 1")
		m.uses(100, 0, 1<<20)
		publisher.expect("blocked low on disk")
		m.uses(501, 0, 1<<20)
		publisher.expect()
		publisher.post(publish("work", "b"))
		late.post(confirms(), publish("work", "c"))
		late.expect("blocked low on memory & disk")
		e.resources.SetJournalFull(true)
		if got := e.Alarms(); got != resource.EveryAlarm {
			t.Errorf("alarms %q", got)
		}
		m.uses(100, 0, 1<<20)
		m.uses(100, 0, 1<<40)
		publisher.expect()
		if got := e.Alarms(); got != resource.JournalFull {
			t.Errorf("alarms %q", got)
		}
		e.resources.SetJournalFull(false)
		publisher.expect("unblocked", "confirm 2")
		late.expect("unblocked", "confirm 1")
		if r := e.Resources(); r.Raised[resource.LowMemory] != 1 || r.Raised[resource.LowDisk] != 1 || r.Raised[resource.JournalFull] != 1 || r.MemoryLimit != 500 || r.DiskLimit != 100<<20 {
			t.Errorf("%+v", r)
		}
		for _, line := range []string{
			`msg="disk resource limit alarm set on node rabbit@h: publishers are blocked" free=`,
			`msg="disk resource limit alarm cleared on node rabbit@h" free=`,
			`msg="journal resource limit alarm set on node rabbit@h: publishers are blocked" free=`,
		} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("not logged: %s in\n%s", line, log)
			}
		}
	})
}

// TestGarbageIsNoAlarm says that publishers wait because of memory that nobody uses any more, or that memory is given
// back over and over.
func TestGarbageIsNoAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		e, _ := startOn(t, m)
		defer stop(t, e)
		check := func(alarms resource.Alarms, least, most int, wantAim int64) {
			t.Helper()
			gaveBack, aim := m.asked()
			if e.Alarms() != alarms || gaveBack < least || gaveBack > most || aim != wantAim {
				t.Errorf("alarms %q, memory given back %d times, aim %d; want %q, %d to %d, %d", e.Alarms(), gaveBack, aim, alarms, least, most, wantAim)
			}
		}
		check(0, 0, 0, 600)
		m.uses(300, 500, 1<<40)
		check(0, 1, 1, 600)
		if got := e.Resources().MemoryUsed; got != 300 {
			t.Errorf("uses %d", got)
		}
		time.Sleep(resource.GiveBackEvery)
		m.uses(700, 0, 1<<40)
		check(resource.LowMemory, 2, 5, 675)
		time.Sleep(10 * resource.GiveBackEvery)
		check(resource.LowMemory, 11, 16, 675)
		m.uses(300, 400, 1<<40) // drained: it shows when memory is given back
		time.Sleep(resource.GiveBackEvery)
		check(0, 11, 20, 600)
	})
}

// TestARestGivesMemoryBack says that a broker keeps the garbage of a burst when nothing is to be done any more, or that
// it collects all the time, or while it is busy.
func TestARestGivesMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		e, _ := startOn(t, m)
		defer stop(t, e)
		check := func(when string, want int) {
			t.Helper()
			if got, _ := m.asked(); got != want {
				t.Errorf("%s: memory given back %d times, want %d", when, got, want)
			}
		}
		for range 30 {
			m.allocates(100 << 20)
			time.Sleep(resource.CheckLatest)
		}
		check("busy", 0)
		time.Sleep(20 * time.Second)
		check("at rest", 1)
		for range 30 {
			m.allocates(1 << 20)
			time.Sleep(resource.CheckLatest)
		}
		check("little to do", 1)
		m.allocates(100 << 20)
		time.Sleep(20 * time.Second)
		check("after another burst", 2)
	})
}

// TestHeldDeadLettersWaitForMemory says that dead letters which are held take memory while it is scarce, or that what
// was put off for that stays so.
func TestHeldDeadLettersWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		e, log := startOn(t, m)
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work", amqp.Field{Name: "x-dead-letter-exchange", Value: amqp.String("nowhere")},
			amqp.Field{Name: "x-dead-letter-strategy", Value: amqp.String("at-least-once")}),
			confirms(), publish("work", "a"), publish("work", "b"), publish("work", "c"))
		c.expect("confirm 1", "confirm 2", "confirm 3")
		state := func(when string, held, off int) {
			t.Helper()
			synctest.Wait()
			var n int
			if err := e.QueryUnsafe(t.Context(), "/", func(r vhost.Reader) {
				q, _ := r.Queue("work")
				n = q.Held
			}); err != nil {
				t.Fatal(err)
			}
			s, is := e.Storage(t.Context()).VHosts[0].PutOff, e.Resources().Scarce
			if n != held || s != off || is != (off > 0) {
				t.Errorf("%s: %d held, %d put off, scarce %t; expected %d and %d", when, n, s, is, held, off)
			}
		}
		live := func(bytes int64) {
			m.mu.Lock()
			m.usage.MemoryLive = bytes
			m.mu.Unlock()
			time.Sleep(resource.CheckLatest)
		}
		settleAll(t, e, "work", func(n int) vhost.CommandKind {
			if n == 1 {
				live(451)
			}
			return vhost.Reject
		})
		state("memory is scarce", 1, 2)
		live(376)
		state("it is still scarce", 1, 2)
		live(374)
		state("it is not", 3, 0)
		if !strings.Contains(log.String(), "memory is scarce: at-least-once queues") {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

// TestSetLimits says that limits set at run time do not hold at once, or that nonsense replaces them.
func TestSetLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		e, log := startOn(t, m)
		defer stop(t, e)
		if err := e.SetLimits(func(l *resource.Limits) { l.MemoryHighWatermark = resource.Relative(1.5) }); err == nil {
			t.Error("1.5 of the memory is accepted")
		}
		if got := e.Resources().Limits; got != resource.DefaultLimits() || log.Len() > 0 {
			t.Errorf("after a refusal: %v, logged %s", got, log)
		}
		if err := e.SetLimits(func(l *resource.Limits) { l.MemoryHighWatermark = resource.Relative(0) }); err != nil || e.Alarms() != resource.LowMemory {
			t.Errorf("alarms %q, error %v", e.Alarms(), err)
		}
		if err := e.SetLimits(func(l *resource.Limits) {
			l.MemoryHighWatermark, l.DiskFree = resource.Absolute(200), resource.Absolute(1<<50)
		}); err != nil || e.Alarms() != resource.LowDisk {
			t.Errorf("alarms %q, error %v", e.Alarms(), err)
		}
		if got := e.Resources(); got.MemoryLimit != 200 || got.DiskLimit != 1<<50 {
			t.Errorf("%+v", got)
		}
		if want := `msg="resource limits set" memory="200 bytes" memory_bytes=200 disk_free="1125899906842624 bytes"`; !strings.Contains(log.String(), want) {
			t.Errorf("not logged: %s in\n%s", want, log)
		}
		_, err := Open(Options{FS: newDisk(), Limits: &resource.Limits{MemoryHighWatermark: resource.Relative(2), DiskFree: resource.Absolute(0)}})
		if err == nil {
			t.Error("an engine starts with twice the memory as its watermark")
		}
	})
}

// TestAlarmAtStart says that a broker that starts on a full disk lets publishers in.
func TestAlarmAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.usage.DiskFree = 49_999_999
		e, _ := startOn(t, m)
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"), confirms(), publish("work", "a"))
		c.expect("blocked low on disk")
		m.uses(100, 0, 52_500_000)
		c.expect("unblocked", "confirm 1")
	})
}
