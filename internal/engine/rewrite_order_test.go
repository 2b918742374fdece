package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestALossEndsARewriting says that what was ended by batches that are lost goes with its segment all the same.
func TestALossEndsARewriting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := diskOf(1)
		e := start(t, d, small)
		c := attach(t, e, "")
		left, ended := leaveFew(t, e, c)
		time.Sleep(time.Second) // of the bubble: what has ended is safe
		segment, _ := d.groupOf(c, vhost.Command{Kind: vhost.Ack, Multiple: true})
		failed := d.failSyncOf(segment)
		if err := e.rewrite(func() bool { return true }); err == nil {
			t.Error("a rewriting has ended as if nothing was lost")
		}
		if c.stoppedWith() == nil || !failed.Load() {
			t.Error("nothing was lost: nothing is shown by this")
		}
		d.kill(e)
		e = start(t, d, small)
		defer stop(t, e)
		c = attach(t, e, "")
		defer c.session.Close()
		expectLeft(t, c, "work", left, ended)
	})
}

// TestAMarkEndsTheBatch says that what an owner had not appended yet when a vhost was marked is not waited for.
func TestAMarkEndsTheBatch(t *testing.T) {
	t.Parallel()
	var left, ended []string
	cutEverywhere(t, func(t *testing.T, e *Engine, c *client) {
		left, ended = leaveFew(t, e, c)
		r, err := e.runnerOf("/")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of the bubble
		synctest.Wait()
		r.own()
		r.decide(c.session, &vhost.Command{Kind: vhost.Ack, Conn: c.session.Conn(), Channel: c.channel, Multiple: true})
		r.ownership.pass()
	}, func(e *Engine) {
		_ = e.rewrite(func() bool { return true })
	}, func(t *testing.T, _ *Engine, c *client) {
		expectLeft(t, c, "work", nil, append(left, ended...))
	})
}

// TestAVHostThatIsDownKeepsWhatItHas says that segments of a vhost that cannot be opened are given back, or rewritten
// without what it needs, by the housekeeping of others.
func TestAVHostThatIsDownKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := diskOf(1)
		e := start(t, d, small)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "other"})
		other := attachTo(t, e, "other")
		sent := publishMany(t, other, "work", 600)
		name := ""
		d.Before(func(c vfs.Call) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if c.Op == "create" && strings.HasSuffix(c.Name, ".checkpoint") && name == "" {
				name = c.Name
			}
			return nil
		})
		r, err := e.runnerOf("other")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.checkpointAll(map[string]*runner{"other": r}); err != nil {
			t.Fatal(err)
		}
		d.kill(e)
		flip := func() {
			f, err := d.mem.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 1)
			_, err = f.ReadAt(b, 20)
			b[0] ^= 0xff
			_, again := f.WriteAt(b, 20)
			if err := errors.Join(err, again, f.Sync(), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		flip()
		e = start(t, d, small)
		if e.Down("other") == nil {
			t.Error("the vhost is not down: nothing is shown by this")
		}
		c := attach(t, e, "")
		publishMany(t, c, "work", 600)
		c.session.Close()
		checkpoint(t, e)
		checkpoint(t, e)
		d.kill(e)
		flip() // somebody has repaired it
		e = start(t, d, small)
		defer stop(t, e)
		if err := e.Down("other"); err != nil {
			t.Fatal(err)
		}
		other = attachTo(t, e, "other")
		defer other.session.Close()
		expectLeft(t, other, "work", sent, nil)
	})
}

// TestWhatHasEndedIsRecordedAsSafeBeforeItGoes says that a record goes with its segment before the journal itself says
// that what ended it is safe: damage to that would look like an unfinished tail, a start would cut it, and the record
// would be needed again.
func TestWhatHasEndedIsRecordedAsSafeBeforeItGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := diskOf(1)
		e := start(t, d, small)
		defer stop(t, e)
		c := attach(t, e, "")
		defer c.session.Close()
		leaveFew(t, e, c)
		segment, _ := d.groupOf(c, vhost.Command{Kind: vhost.Ack, Multiple: true})
		release := d.holdCalls(func(c vfs.Call) bool { return c.Op == "write" && c.Name == segment })
		rounds := 0
		done := make(chan error)
		go func() {
			done <- e.rewrite(func() bool {
				rounds++
				return rounds == 1
			})
		}()
		synctest.Wait()
		gone := &e.writer.statistics.rewritten
		if gone.Load() > 0 {
			t.Error("a segment is gone before the journal says that what has ended is safe")
		}
		release()
		if err := <-done; err != nil || gone.Load() == 0 {
			t.Errorf("%d segments were compacted: %v", gone.Load(), err)
		}
	})
}
