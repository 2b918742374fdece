package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// noReserve has an engine keep nothing for a full disk.
func noReserve(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: -1} }

// fillUp fills a disk, with a batch that was decided and finds no space: the log waits. It returns who has published,
// and how many messages are confirmed.
func fillUp(t *testing.T, d *disk, e *Engine) (c *client, confirmed int) {
	t.Helper()
	c = attach(t, e, "")
	c.post(declare("work"), confirms(), publish("work", "m"))
	c.expect("confirm 1")
	d.budget(0)
	var batch []vhost.Command
	for range 40 {
		batch = append(batch, publish("work", string(make([]byte, 8<<10))))
	}
	c.post(batch...)
	synctest.Wait()
	if e.Waiting() == nil {
		t.Fatal("the log does not wait for room")
	}
	return c, 1
}

// within fails the test if fn takes longer.
func within(t *testing.T, most time.Duration, what string, fn func()) {
	t.Helper()
	began := time.Now()
	fn()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %v", what, took)
	}
}

// If this fails, a broker on a full disk does not stop while its log waits for space, or loses what was safe.
func TestCloseWhileTheLogWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		log := &bytes.Buffer{}
		e := start(t, d, noReserve, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
		_, confirmed := fillUp(t, d, e)
		within(t, closeGrace, "closing", func() { e.Close() }) // an error may say what was lost
		if !strings.Contains(log.String(), "the broker stops while the disk is full") {
			t.Errorf("the log does not say what the stop has cost:\n%s", log)
		}
		d.budget(-1)
		e = start(t, d, noReserve)
		defer stop(t, e)
		if n := ready(t, e, "work"); n < confirmed {
			t.Errorf("%d messages are there, %d were confirmed", n, confirmed)
		}
		c := attach(t, e, "")
		c.post(confirms(), publish("work", "again"))
		c.expect("confirm 1")
	})
}

// If this fails, a disk that does not answer keeps a broker from ending, or it ends without a word.
func TestCloseWithADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		c := attach(t, e, "")
		c.post(declare("work"), confirms(), publish("work", "safe"))
		c.expect("confirm 1")
		release := d.holdSyncs()
		c.post(publish("work", "not safe"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var err error
		within(t, 3*time.Second+closeGrace, "closing", func() { err = e.CloseBy(ctx) })
		if err == nil || !strings.Contains(err.Error(), "cannot close the log in time") {
			t.Errorf("closing a disk that hangs: %v", err)
		}
		c.expect()
		release()
		synctest.Wait()
		e = start(t, d)
		defer stop(t, e)
		if n := ready(t, e, "work"); n < 1 {
			t.Error("what was confirmed is lost")
		}
	})
}

// If this fails, a broker that has no time left to stop begins to save millions of messages, or what it does not save
// is lost.
func TestCloseWithoutTimeForACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		d := newDisk()
		log := &bytes.Buffer{}
		e := start(t, d, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
		c := attach(t, e, "")
		c.post(declare("work"), confirms())
		for range n {
			c.post(publish("work", "m"))
		}
		c.take()
		made := e.writer.statistics.checkpoints.Load()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.CloseBy(ctx); err != nil {
			t.Error(err)
		}
		if e.writer.statistics.checkpoints.Load() != made || !strings.Contains(log.String(), "stopped before the last checkpoint") {
			t.Errorf("a checkpoint was made, or nothing said:\n%s", log)
		}
		e = start(t, d)
		defer stop(t, e)
		if got := ready(t, e, "work"); got != n {
			t.Errorf("%d of %d messages are there", got, n)
		}
	})
}

// If this fails, nobody can see how a broker stands while its log waits for space, nobody can connect, or they are not
// told why nothing goes on; or a strict look shows what is not safe.
func TestSeenWhileTheLogWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, noReserve)
		defer stop(t, e)
		publisher, _ := fillUp(t, d, e)
		within(t, time.Second, "a glance, a connection and its end, the storage's figures", func() {
			n := 0
			err := e.QueryUnsafe(t.Context(), "/", func(v vhost.Reader) { n = len(v.Channels()) })
			if err != nil || n == 0 {
				t.Errorf("%d channels are seen: %v", n, err)
			}
			attach(t, e, "").session.Close()
			if s := e.Storage(t.Context()); s.Waiting == nil || len(s.VHosts) != 1 || s.VHosts[0].Down != nil || s.VHosts[0].Live == 0 {
				t.Errorf("the storage: %+v", s)
			}
		})
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Query(soon, "/", func(vhost.Reader) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a look has shown what is not safe: %v", err)
		}
		if why := e.WhyLate("/"); !strings.Contains(why, "waits for disk space since") {
			t.Errorf("why: %s", why)
		}
		user := accounts.Command{Kind: accounts.PutUser, User: "u"}
		if _, err := e.ChangeAccounts(t.Context(), user); !errors.Is(err, ErrNoSpace) {
			t.Errorf("a change of users: %v", err)
		}
		late := attach(t, e, "")
		late.post(declare("another"))
		late.expect("blocked low on disk")

		got := publisher.take()
		confirmed := 0 // those of the groups for which there was space
		for confirmed < len(got) && strings.HasPrefix(got[confirmed], "confirm ") {
			confirmed++
		}
		if want := []string{"blocked low on disk"}; !slices.Equal(got[confirmed:], want) || confirmed >= 40 {
			t.Errorf("got %q, want %q after some confirms", got, want)
		}
		d.budget(-1)
		time.Sleep(2 * noSpaceRetry) // of the bubble's time
		synctest.Wait()
		if e.Waiting() != nil || e.Alarms() != 0 {
			t.Errorf("there is room, and it waits: %v, alarms %v", e.Waiting(), e.Alarms())
		}
		if n := ready(t, e, "work"); n != 41 {
			t.Errorf("%d messages are there, not 41", n)
		}
		if ready(t, e, "another") != 0 {
			t.Error("the queue is not empty")
		}
	})
}

// If this fails, a connection to a vhost that does not answer is let wait until the client gives up, and takes the
// silence for a refusal.
func TestAttachSaysWhyItTakesSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		c := attach(t, e, "")
		release := d.holdSyncs()
		c.post(declare("work"))
		synctest.Wait()
		within(t, attachPatience, "the refusal", func() {
			_, err := e.Attach(&client{t: t}, ConnInfo{Principal: authz.Broker(), Name: "test", VHost: "/"})
			var refused *amqp.Error
			if !errors.As(err, &refused) || refused.Code != amqp.CodeInternalError || !strings.Contains(refused.Text, "did not respond in time") {
				t.Errorf("refused with %v", err)
			}
		})
		release()
		synctest.Wait()
		if n := len(e.allRunners()[0].sessions); n != 1 {
			t.Errorf("%d sessions are left, one is open", n)
		}
	})
}
