package engine

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/engine/recordcache"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// small has an engine write small segments.
func small(o *Options) {
	o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: -1}
	o.SparseShare = 0.7
}

// keepCold has the vhost keep nothing in memory that can be elsewhere.
func keepCold(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.look(t.Context(), "/", false, func(v *vhost.VHost) { v.KeepHot(1, 1) }); err != nil {
		t.Fatal(err)
	}
}

// checkpoint takes one of everything, and gives back what it can.
func checkpoint(t *testing.T, e *Engine) {
	t.Helper()
	runners := map[string]*runner{}
	for _, r := range e.allRunners() {
		runners[r.name] = r
	}
	if err := e.checkpointAll(runners); err != nil {
		t.Fatal(err)
	}
	if err := e.rewrite(func() bool { return true }); err != nil {
		t.Fatal(err)
	}
}

// drain gets every message of a queue.
func drain(c *client, queue string) (bodies []string) {
	for {
		gets := make([]vhost.Command, 50)
		for i := range gets {
			gets[i] = get(queue)
		}
		c.post(gets...)
		for _, s := range c.take() {
			if s == "none" {
				return bodies
			}
			bodies = append(bodies, strings.TrimPrefix(s, "got "))
		}
		c.session.Written(1 << 30)
	}
}

// TestSparseSegments says that a few old messages hold the segments of all that came with them, or that a message is
// lost or changed when its segment is rewritten: alive, dead-lettered, held, with a history, and after a crash.
func TestSparseSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4000
		d := newDisk()
		dice := rand.New(rand.NewPCG(1, 2))
		e := start(t, d, small)
		keepCold(t, e)
		c := attach(t, e, "")
		arguments := dlxArgs("", "grave")
		c.post(declare("work", arguments...), declare("grave"))
		body := func(k int) string { return fmt.Sprintf("%05d %s", k, strings.Repeat("b", dice.IntN(300))) }
		var sent []string
		for k := range n {
			sent = append(sent, body(k))
			c.post(publish("work", sent[k]))
			if k%100 == 0 {
				c.take()
			}
		}
		for range n {
			c.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}})
			c.take()
			c.session.Written(1 << 20)
		}
		var kept, dead []string
		for k := range n {
			switch dice.IntN(20) {
			case 0:
				kept = append(kept, sent[k])
			case 1:
				dead = append(dead, sent[k])
				c.post(vhost.Command{Kind: vhost.Reject, Tag: uint64(k + 1)})
			default:
				c.post(vhost.Command{Kind: vhost.Ack, Tag: uint64(k + 1)})
			}
		}
		c.take()
		before := e.writer.journal.Stats()
		checkpoint(t, e)
		checkpoint(t, e)
		after := e.writer.journal.Stats()
		if after.Segments*3 > before.Segments {
			t.Errorf("%d segments of %d are left, for a tenth of the messages", after.Segments, before.Segments)
		}
		for _, crash := range []bool{false, true} {
			if crash {
				d.crash()
				e.Close()
				d.crash()
			} else {
				c.session.Close()
				stop(t, e)
			}
			e = start(t, d, small)
			keepCold(t, e)
			c = attach(t, e, "")
			c.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}}) // which comes back
			c.take()
			checkpoint(t, e)
		}
		c.session.Close()
		c = attach(t, e, "")
		if got := drain(c, "work"); !slices.Equal(got, kept) {
			t.Errorf("%d messages are left in the queue, and not %d, or other ones", len(got), len(kept))
		}
		got := drain(c, "grave")
		slices.Sort(got)
		if !slices.Equal(got, dead) {
			t.Errorf("%d dead letters are left, and not %d, or other ones", len(got), len(dead))
		}
		c.session.Close()
		checkpoint(t, e)
		stop(t, e)
	})
}

// TestSpill says that a long backlog of transient messages stays in memory, comes back changed or out of order, or
// leaves files behind.
func TestSpill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3000
		d := newDisk()
		e := start(t, d)
		c := attach(t, e, "")
		c.post(declare("work"), declare("other"))
		keepCold(t, e)
		body := func(k int) string { return fmt.Sprintf("%05d %s", k, strings.Repeat("t", k%2000)) }
		var want []string
		for k := range n {
			want = append(want, body(k))
			c.post(publishTransient("work", want[k]))
			c.post(publish("other", want[k])) // beside persistent ones, whose checkpoint leaves the others out
			c.post(publishTransient("other", want[k]))
		}
		c.take()
		checkpoint(t, e)
		names, err := d.List(recordcache.SpillDir)
		if err != nil || len(names) == 0 {
			t.Fatalf("nothing was spilled: %v", err)
		}
		if got := drain(c, "work"); !slices.Equal(got, want) {
			t.Errorf("%d transient messages come back, and not %d, or other ones", len(got), n)
		}
		if got := drain(c, "other"); len(got) != 2*n {
			t.Errorf("%d of %d messages come back", len(got), 2*n)
		}
		c.post(publish("other", "last"), publishTransient("other", "lost"))
		c.take()
		c.session.Close()
		stop(t, e)
		e = start(t, d)
		names, err = d.List(recordcache.SpillDir)
		if err != nil || len(names) > 0 {
			t.Errorf("after a restart there are %q: %v", names, err)
		}
		c = attach(t, e, "")
		if got := drain(c, "other"); !slices.Equal(got, []string{"last"}) {
			t.Errorf("after a restart there is %q", got)
		}
		c.session.Close()
		stop(t, e)
	})
}

// TestSpillIsFull says that transient messages are lost when there is no space to spill them to.
func TestSpillIsFull(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	f := vfs.NewFaulty(m)
	if err := recordcache.RemoveSpilled(f, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s := recordcache.NewSpill(f, func() string { return "a" })
	f.Budget(100)
	if r := s.Put(make([]byte, 200)); !r.IsZero() {
		t.Errorf("%+v was written to a full disk", r)
	}
	f.Budget(-1)
	r := s.Put([]byte("page"))
	if got, err := s.Get(r); err != nil || string(got) != "page" {
		t.Errorf("%q, %v", got, err)
	}
}
