package engine

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func withClock(c Clock) func(*Options) { return func(o *Options) { o.Clock = c } }

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// count counts the lines with a text.
func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(string(l.text), text)
}

func logTo(l *lines) func(*Options) {
	return func(o *Options) { o.Log = slog.New(slog.NewTextHandler(l, nil)) }
}

// slowQueue declares a queue whose messages go to the queue grave after a while.
func slowQueue(name string, ttl time.Duration) vhost.Command {
	return declare(name, append(dlxArgs("", "grave"), amqp.Field{Name: "x-message-ttl",
		Value: amqp.Int64(ttl.Milliseconds())})...)
}

// follow consumes without acks.
func follow(queue string) vhost.Command {
	return vhost.Command{Kind: vhost.Consume, NoWait: true, Definition: &vhost.Definition{Name: queue, ConsumerTag: queue, NoAck: true}}
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

// wantReady checks how many messages are ready in the queue grave.
func wantReady(t *testing.T, e *Engine, when string, n int) {
	t.Helper()
	if got := ready(t, e, "grave"); got != n {
		t.Errorf("%s: %d messages have fired, want %d", when, got, n)
	}
}

// TestSetBackWhileRunning says that a wall clock which is set back makes messages fire twice, early or late, blocks
// publishers, or that nobody is told.
func TestSetBackWhileRunning(t *testing.T) {
	for _, back := range []time.Duration{time.Hour, 365 * 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, log := newSetClock(), &lines{}
				e := start(t, newDisk(), withClock(clock), logTo(log))
				defer stop(t, e)
				c := attach(t, e, "")
				c.post(confirms(), declare("grave"), slowQueue("slow", 10*time.Minute), publish("slow", "before"))
				c.expect("confirm 1")
				pass(5 * time.Minute)
				clock.set(-back)
				pass(2 * time.Second)
				c.post(publish("slow", "after"))
				c.expect("confirm 2")
				if now := e.Time(); !now.Alarm() || now.Behind() != back || log.count("clock alarm set") != 1 {
					t.Errorf("behind by %v, alarm: %v, told %d times; want %v", now.Behind(), now.Alarm(), log.count("clock alarm set"), back)
				}
				if e.Alarms() != 0 {
					t.Error("a clock that is behind holds publishers back")
				}
				pass(5*time.Minute - 3*time.Second)
				wantReady(t, e, "a second early", 0)
				pass(time.Second)
				wantReady(t, e, "ten minutes after the first", 1)
				pass(5*time.Minute + time.Second)
				wantReady(t, e, "a second before the second", 1)
				pass(time.Second)
				wantReady(t, e, "ten minutes after the second", 2)
				clock.set(back)
				pass(24 * time.Hour)
				wantReady(t, e, "when the clock was set right", 2)
				if e.Time().Alarm() || log.count("clock alarm cleared") != 1 {
					t.Error("the alarm was not cleared when the clock was set right")
				}
			})
		})
	}
}

// TestSetBackWhileStopped says that data from a machine whose clock was ahead, or a clock that was set back while the
// broker was stopped, lets messages fire twice or early, keeps them from firing at all, or that nobody is told.
func TestSetBackWhileStopped(t *testing.T) {
	for _, back := range []time.Duration{time.Hour, 365 * 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, clock, log := newDisk(), newSetClock(), &lines{}
				e := start(t, d, withClock(clock))
				c := attach(t, e, "")
				c.post(declare("grave"), declare("marks"), slowQueue("fast", time.Minute), slowQueue("slow", 10*time.Minute), publish("fast", "a"), publish("slow", "b"))
				pass(time.Minute)
				wantReady(t, e, "before the stop", 1)
				stop(t, e)

				clock.set(-back)
				e = start(t, d, withClock(clock), logTo(log))
				synctest.Wait()
				if now := e.Time(); !now.Alarm() || now.Behind() != back || log.count("clock alarm set") != 1 {
					t.Errorf("behind by %v, told %d times", now.Behind(), log.count("clock alarm set"))
				}
				wantReady(t, e, "after the start", 1)
				pass(3 * time.Minute)
				wantReady(t, e, "early", 1)
				attach(t, e, "").post(publish("marks", "the log knows how late it is"))
				stop(t, e)

				e = start(t, d, withClock(clock))
				defer stop(t, e)
				pass(6*time.Minute - time.Second)
				wantReady(t, e, "a second early", 1)
				pass(time.Second)
				wantReady(t, e, "after ten minutes", 2)
				pass(24 * time.Hour)
				wantReady(t, e, "a day later", 2)
			})
		})
	}
}

// TestSetForward says that what a clock set forward makes due happens late or out of order, or that a backlog that is
// due keeps others from being served.
func TestSetForward(t *testing.T) {
	const day, each = 24 * time.Hour, 2000
	for _, ahead := range []time.Duration{day, 365 * day} {
		t.Run(ahead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, log := newSetClock(), &lines{}
				e := start(t, newDisk(), withClock(clock), logTo(log))
				defer stop(t, e)
				r, err := e.runnerOf("/")
				if err != nil {
					t.Fatal(err)
				}
				c := attach(t, e, "")
				c.post(declare("grave"), declare("other"), slowQueue("3", 3*time.Hour), slowQueue("1", time.Hour), slowQueue("2", 2*time.Hour), slowQueue("later", ahead+time.Hour))
				for range each {
					c.post(publish("3", "third"), publish("1", "first"), publish("2", "second"), publish("later", "not yet"))
				}
				c.post(follow("other"))
				c.expect()

				r.own()
				clock.set(ahead)
				fired := [2]int{}
				for i := range fired {
					if i > 0 {
						c.post(publishTransient("other", "from somebody else"))
					}
					r.run(1)
					q, _ := r.vhost.Reader().Queue("grave")
					fired[i] = q.Ready
				}
				r.release()
				if fired[0] == 0 || fired[1] <= fired[0] || fired[1] >= 3*each {
					t.Errorf("%d messages fired in two turns of the vhost: they are not bounded", fired)
				}
				c.expect("deliver from somebody else")
				pass(clockEvery)
				c.post(follow("grave"))
				want := slices.Concat(slices.Repeat([]string{"deliver first"}, each), slices.Repeat([]string{"deliver second"}, each), slices.Repeat([]string{"deliver third"}, each))
				if got := c.take(); !slices.Equal(got, want) {
					t.Errorf("%d messages fired, want %d in the order in which they were due", len(got), len(want))
				}
				if log.count("jumped forward") != 1 {
					t.Error("the log does not say that the clock was set forward")
				}
				pass(time.Hour - 2*time.Second)
				c.expect()
				pass(2 * time.Second)
				if n := len(c.take()); n != each {
					t.Errorf("%d of what was due later have fired, want %d", n, each)
				}
			})
		})
	}
}

// TestForwardUnnoticed says that what a clock set forward makes due waits until somebody uses the vhost.
func TestForwardUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newSetClock()
		e := start(t, newDisk(), withClock(clock))
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("grave"), consume("grave"), slowQueue("slow", 20*time.Hour), publish("slow", "a"))
		c.expect()
		clock.set(21 * time.Hour)
		pass(clockEvery)
		c.expect("deliver a")
	})
}

// TestResyncOfVHosts says that a resync lets messages fire early or twice, does not bring the vhosts and the wall clock
// together, leaves the alarm, or is taken for something that a restart undoes.
func TestResyncOfVHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, clock, log := newDisk(), newSetClock(), &lines{}
		e := start(t, d, withClock(clock), logTo(log))
		c := attach(t, e, "")
		c.post(declare("grave"), slowQueue("slow", 10*time.Minute))
		clock.set(-time.Hour)
		pass(2 * time.Second)
		e.Resync()
		c.post(publish("slow", "a"))
		c.expect()
		pass(20*time.Minute - time.Second)
		wantReady(t, e, "at half speed", 0)
		pass(2 * time.Second)
		wantReady(t, e, "after twice the time", 1)
		stop(t, e)

		e = start(t, d, withClock(clock), logTo(log)) // ten minutes have been caught up with
		defer stop(t, e)
		synctest.Wait()
		if behind := e.Time().Behind().Round(time.Minute); behind != 50*time.Minute {
			t.Errorf("behind by %v after the restart, want 50 minutes", behind)
		}
		e.Resync()
		if now := e.Time(); !now.VHosts[0].Resyncing {
			t.Errorf("%+v is not resyncing", now.VHosts[0])
		}
		pass(100 * time.Minute)
		if now := e.Time(); now.Behind() != 0 || now.Alarm() || now.VHosts[0].Resyncing || log.count("clock alarm cleared") != 1 {
			t.Errorf("not in step: %+v", now)
		}
		c = attach(t, e, "")
		c.post(publish("slow", "b"))
		pass(10*time.Minute - time.Second)
		wantReady(t, e, "early", 1)
		pass(time.Second)
		wantReady(t, e, "at full speed again", 2)
	})
}

// TestInstantsWhileBehind says that an instant which a client names is taken for one of a vhost that is ahead of the
// wall clock: it would be long over.
func TestInstantsWhileBehind(t *testing.T) {
	for _, back := range []time.Duration{time.Hour, 365 * 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newSetClock()
				e := start(t, newDisk(), withClock(clock))
				defer stop(t, e)
				c := attach(t, e, "")
				c.post(declare("grave"))
				clock.set(-back)
				pass(2 * time.Second)
				later := publish("grave", "in ten minutes")
				later.Properties = amqp.AppendProperties(nil, &amqp.Properties{
					Has:     amqp.FlagHeaders,
					Headers: amqp.Table{{Name: "x-opt-delivery-time", Value: amqp.Int64(time.Now().Add(10*time.Minute - back).UnixMilli())}},
				})
				c.post(later)
				pass(10*time.Minute - time.Millisecond)
				wantReady(t, e, "a millisecond early", 0)
				pass(time.Millisecond)
				wantReady(t, e, "after ten minutes", 1)
			})
		})
	}
}

// TestStampWhileBehind says that instants which clients name are taken for instants of a vhost that is ahead of the
// wall clock, or that its deadlines count from the wall clock.
func TestStampWhileBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newSetClock()
		e := start(t, newDisk(), withClock(clock))
		defer stop(t, e)
		pass(time.Second)
		clock.set(-time.Hour)
		r, err := e.runnerOf("/")
		if err != nil {
			t.Fatal(err)
		}
		var s vhost.Stamp
		r.between(func() { s = r.stamp() })
		wall := time.Now().Add(-time.Hour).UnixMilli()
		if got := [3]int64{int64(s.Now) - wall, int64(s.From) - wall, int64(s.Wall) - wall}; got != [3]int64{3_600_000, 3_600_000, 0} {
			t.Errorf("now, from and wall are %v ms after the wall clock", got)
		}
	})
}
