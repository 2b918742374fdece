package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// noReserve has an engine keep nothing for a full disk.
func noReserve(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: -1} }

// fillUp fills a disk, with a batch that was decided and finds no room: the log waits. It returns who has published, and how
// many messages are confirmed.
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

// If this fails, a broker on a full disk does not stop while its log waits for room, or loses what was safe.
func TestCloseWhileTheLogWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		log := &bytes.Buffer{}
		e := start(t, d, noReserve, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
		_, confirmed := fillUp(t, d, e)
		within(t, closeGrace, "closing", func() { e.Close() }) // an error may say what was lost
		if !strings.Contains(log.String(), "the broker ends while the disk is full") {
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
		if err == nil || !strings.Contains(err.Error(), "could not be closed in time") {
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

// If this fails, a broker that has no time left to stop begins to save millions of messages, or what it does not save is lost.
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
		made := e.scribe.deeds.checkpoints.Load()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.CloseBy(ctx); err != nil {
			t.Error(err)
		}
		if e.scribe.deeds.checkpoints.Load() != made || !strings.Contains(log.String(), "stopped without a checkpoint") {
			t.Errorf("a checkpoint was made, or nothing said:\n%s", log)
		}
		e = start(t, d)
		defer stop(t, e)
		if got := ready(t, e, "work"); got != n {
			t.Errorf("%d of %d messages are there", got, n)
		}
	})
}
