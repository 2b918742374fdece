package engine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// diskOf is newDisk with other dice for what a power cut leaves.
func diskOf(seed uint64) *disk {
	d := &disk{mem: vfs.NewMem(seed)}
	d.Faulty = vfs.NewFaulty(d.mem)
	return d
}

// cutBehind has the power go right behind the n-th call from now on that can make something durable; cut tells whether
// it went.
func (d *disk) cutBehind(n int) (cut *atomic.Bool) {
	seen := 0
	cut = new(atomic.Bool)
	d.Before(func(c vfs.Call) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if seen >= n {
			cut.Store(true)
			return vfs.ErrCrashed
		}
		switch c.Op {
		case "sync", "syncdir", "rename", "remove":
			seen++
		}
		return nil
	})
	return cut
}

// failSyncOf fails the next sync of one file.
func (d *disk) failSyncOf(name string) (failed *atomic.Bool) {
	failed = new(atomic.Bool)
	d.Before(func(c vfs.Call) error {
		if c.Op == "sync" && c.Name == name && failed.CompareAndSwap(false, true) {
			return errors.New("broken")
		}
		return nil
	})
	return failed
}

// groupOf tells where is written what commands lead to, with nothing else going on.
func (d *disk) groupOf(c *client, commands ...vhost.Command) (segment string, at int64) {
	time.Sleep(time.Second) // of the bubble: maintenance runs
	synctest.Wait()
	d.Before(func(c vfs.Call) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.Op == "write" && strings.HasSuffix(c.Name, ".segment") && segment == "" {
			segment, at = c.Name, c.Off
		}
		return nil
	})
	c.post(commands...)
	c.take()
	time.Sleep(lazyWrite)
	synctest.Wait()
	d.Before(nil)
	return segment, at
}

// cutEverywhere lives the same life again and again: it begins, and the power goes behind another call of the disk that
// act leads to, and what is found by the next start is looked at.
func cutEverywhere(t *testing.T, begin func(t *testing.T, e *Engine, c *client), act func(e *Engine), look func(t *testing.T, e *Engine, c *client)) {
	t.Helper()
	reached := true
	for n := 1; reached; n++ {
		reached = false
		for seed := range uint64(6) {
			synctest.Test(t, func(t *testing.T) {
				d := diskOf(seed)
				e := start(t, d, small)
				c := attach(t, e, "")
				begin(t, e, c)
				cut := d.cutBehind(n)
				act(e)
				d.kill(e)
				reached = reached || cut.Load()
				e = start(t, d, small)
				defer stop(t, e)
				if err := e.Down("/"); err != nil {
					t.Fatalf("seed %d, cut behind call %d: %v", seed, n, err)
				}
				c = attach(t, e, "")
				look(t, e, c)
				if err := c.stoppedWith(); err != nil {
					t.Errorf("seed %d, cut behind call %d: %v", seed, n, err)
				}
				c.session.Close()
				if t.Failed() {
					t.Fatalf("seed %d, cut behind call %d", seed, n)
				}
			})
		}
		if t.Failed() {
			return
		}
	}
}

// publishMany publishes n messages to a queue and waits until they are safe.
func publishMany(t *testing.T, c *client, queue string, n int) (bodies []string) {
	t.Helper()
	c.post(declare(queue), confirms())
	var want []string
	for k := range n {
		bodies = append(bodies, fmt.Sprintf("%05d %s", k, strings.Repeat("b", 300)))
		want = append(want, fmt.Sprint("confirm ", k+1))
		c.post(publish(queue, bodies[k]))
	}
	c.expect(want...)
	return bodies
}

// checkpointOnly takes one of everything, and rewrites nothing.
func checkpointOnly(e *Engine) error {
	runners := map[string]*runner{}
	for _, r := range e.allRunners() {
		runners[r.name] = r
	}
	return e.checkpointAll(runners)
}

// covered is the batch that the newest checkpoint of "/" covers.
func covered(e *Engine) uint64 {
	r, err := e.runnerOf("/")
	if err != nil {
		return 0
	}
	return r.checkpointed.Load()
}

// expectLeft expects messages in a queue: all of must, in order, and beside them none but those of may.
func expectLeft(t *testing.T, c *client, queue string, must, may []string) {
	t.Helper()
	var got []string
	for more := true; more; {
		c.post(get(queue), get(queue), get(queue))
		some := c.take()
		if len(some) == 0 {
			t.Errorf("after %d messages there is no answer", len(got))
		}
		more = len(some) == 3
		for _, s := range some {
			body, ok := strings.CutPrefix(s, "got ")
			if more = more && ok; ok {
				got = append(got, body)
			}
		}
		c.session.Written(1 << 30)
	}
	rest := must
	for _, body := range got {
		if len(rest) > 0 && body == rest[0] {
			rest = rest[1:]
		} else if !slices.Contains(may, body) {
			t.Errorf("there is %.10q, which nobody has left", body)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d of %d messages are there, %.10q is missing", len(got), len(must), rest[0])
	}
}

// TestPagesAreSafeBeforeTheirCheckpoint says that a checkpoint counts before the disk has all the pages that it names.
func TestPagesAreSafeBeforeTheirCheckpoint(t *testing.T) {
	t.Parallel()
	var sent []string
	cutEverywhere(t, func(t *testing.T, _ *Engine, c *client) {
		sent = publishMany(t, c, "work", 600)
	}, func(e *Engine) {
		if err := checkpointOnly(e); err == nil && covered(e) == 0 {
			t.Error("no checkpoint was stored")
		}
	}, func(t *testing.T, _ *Engine, c *client) {
		expectLeft(t, c, "work", sent, nil)
	})
}

// TestACheckpointWithoutItsPages says that a checkpoint counts whose pages were lost by a sync that failed.
func TestACheckpointWithoutItsPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := diskOf(1)
		e := start(t, d, small)
		c := attach(t, e, "")
		sent := append(publishMany(t, c, "work", 600), "last")
		segment, _ := d.groupOf(c, publish("work", "last"))
		failed := d.failSyncOf(segment)
		if err := checkpointOnly(e); err != nil {
			t.Error(err)
		}
		if c.stoppedWith() == nil || !failed.Load() {
			t.Error("no page was lost: nothing is shown by this")
		}
		if err := e.Down("/"); err != nil {
			t.Error(err)
		}
		if at := covered(e); at != 0 {
			t.Errorf("a checkpoint of batch %d has been stored", at)
		}
		d.kill(e)
		e = start(t, d, small)
		defer stop(t, e)
		if err := e.Down("/"); err != nil {
			t.Fatal(err)
		}
		c = attach(t, e, "")
		defer c.session.Close()
		expectLeft(t, c, "work", sent, nil)
	})
}

// TestWhatACheckpointCoversIsNoTail says that damage to what a checkpoint covers looks like the end of the log, and is
// cut without a word.
func TestWhatACheckpointCoversIsNoTail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := diskOf(1)
		e := start(t, d, small)
		c := attach(t, e, "")
		publishMany(t, c, "work", 1) // whose end is the last group: nothing is left that a page would say
		time.Sleep(time.Second)      // of the bubble: maintenance runs
		synctest.Wait()
		busy := make(chan struct{})
		e.writer.do(func(*logWriter) { <-busy }) // so that the batch and the checkpoint come to it at once, without a pause
		synctest.Wait()
		c.post(get("work"))
		stored := make(chan error, 1)
		go func() { stored <- checkpointOnly(e) }()
		synctest.Wait()
		var segment, behind string
		at := int64(0)
		d.Before(func(call vfs.Call) error { // the power goes behind the first manifest that names a checkpoint
			d.mu.Lock()
			defer d.mu.Unlock()
			switch {
			case behind == "syncdir":
				return vfs.ErrCrashed
			case call.Op == "write" && strings.HasSuffix(call.Name, ".segment") && segment == "":
				segment, at = call.Name, call.Off
			case behind == "" && call.Op == "create" && strings.HasSuffix(call.Name, ".checkpoint"),
				behind == "create" && call.Op == "rename", behind == "rename" && call.Op == "syncdir":
				behind = call.Op
			}
			return nil
		})
		close(busy)
		<-stored
		d.kill(e)
		f, err := d.mem.Open(segment)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, 100), at+74) // the data of its batch
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		e = start(t, d, small)
		defer stop(t, e)
		if err := e.Down("/"); err == nil || !strings.Contains(err.Error(), ".segment") {
			t.Errorf("the vhost is down with %v", err)
		}
	})
}

// leaveFew leaves every 20th message of many in its queue, and covers that by a checkpoint; then it ends every second
// of these, which nobody waits for.
func leaveFew(t *testing.T, e *Engine, c *client) (left, ended []string) {
	t.Helper()
	sent := publishMany(t, c, "work", 1000)
	var kept []uint64
	for k := range sent {
		c.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}})
		c.take()
		c.session.Written(1 << 20)
		if k%20 != 7 {
			c.post(vhost.Command{Kind: vhost.Ack, Tag: uint64(k + 1)})
			continue
		}
		kept = append(kept, uint64(k+1))
	}
	c.take()
	e.writer.settle()
	keepCold(t, e)
	if err := checkpointOnly(e); err != nil {
		t.Fatal(err)
	}
	for i, tag := range kept {
		if i%2 == 0 {
			c.post(vhost.Command{Kind: vhost.Ack, Tag: tag})
			ended = append(ended, sent[tag-1])
		} else {
			left = append(left, sent[tag-1])
		}
	}
	c.take()
	return left, ended
}

// TestWhatHasEndedIsSafeBeforeItGoes says that a record goes with its segment before the disk has that nobody needs it.
func TestWhatHasEndedIsSafeBeforeItGoes(t *testing.T) {
	t.Parallel()
	var left, ended []string
	rewritten := false
	cutEverywhere(t, func(t *testing.T, e *Engine, c *client) {
		left, ended = leaveFew(t, e, c)
	}, func(e *Engine) {
		_ = e.rewrite(func() bool { return true })
		rewritten = rewritten || e.writer.statistics.rewritten.Load() > 0
	}, func(t *testing.T, _ *Engine, c *client) {
		expectLeft(t, c, "work", left, ended)
	})
	if !rewritten {
		t.Error("nothing was rewritten")
	}
}
