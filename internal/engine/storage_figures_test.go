package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestStorageFigures says that an operator is shown other figures than there are: of messages in memory and on the
// disk, of what is live, of checkpoints, syncs and rewriting, of vhosts that are down.
func TestStorageFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, small)
		if s := e.Storage(t.Context()); s.Sync != vhost.SyncAlways || s.SyncInterval != syncInterval || !s.CheckpointAt.IsZero() || s.Checkpoints != 0 {
			t.Errorf("at the beginning: %+v", s)
		}
		c := attach(t, e, "")
		c.post(declare("q"), confirms())
		const n, size = 3000, 500
		for range n / 10 {
			var some []vhost.Command
			for range 10 {
				some = append(some, publish("q", string(make([]byte, size))))
			}
			c.post(some...)
			c.take()
		}
		s := e.Storage(t.Context())
		if v := s.VHosts[0]; v.Name != "/" || v.Hot != n || v.Cold != 0 || v.Spilled != 0 || v.Down != nil || v.Sync != vhost.SyncAlways {
			t.Errorf("all hot: %+v", v)
		}
		if s.Live < n*size || s.Live > n*size*3/2 || s.Share() < 0.5 || s.Syncs.Count == 0 || s.Journal.Written.Groups < n*size {
			t.Errorf("%d bytes live of %d, %d syncs, %+v", s.Live, s.Journal.SegmentBytes, s.Syncs.Count, s.Journal.Written)
		}
		keepCold(t, e)
		c.post(publish("q", "the last"))
		c.take()
		checkpoint(t, e)
		s = e.Storage(t.Context())
		if v := s.VHosts[0]; v.Hot+v.Cold != n+1 || v.Hot > n/5 {
			t.Errorf("mostly cold: %+v", v)
		}
		if s.Checkpoints != 1 || !s.CheckpointAt.Equal(e.Now()) || s.CheckpointsFailed != 0 {
			t.Errorf("after a checkpoint: %+v", s)
		}
		for range n / 100 { // all but a tenth
			var some []vhost.Command
			for range 90 {
				some = append(some, get("q"))
			}
			c.post(some...)
			c.take()
			c.session.Written(1 << 20)
		}
		checkpoint(t, e)
		checkpoint(t, e)
		s = e.Storage(t.Context())
		if s.Reclaimed+s.Rewritten < 10 || s.RewritingsFailed != 0 || s.Live > n*size/4 || s.Live < n*size/10 {
			t.Errorf("drained: %+v", s)
		}
		c.session.Close()
		stop(t, e)
		for _, v := range e.Storage(t.Context()).VHosts {
			if v.Down == nil {
				t.Errorf("an engine that is closed has %+v", v)
			}
		}
	})
}

func TestLatency(t *testing.T) {
	// If this fails, a slow disk looks like a fast one.
	t.Parallel()
	var l latency
	for _, took := range []time.Duration{0, time.Millisecond, 1100 * time.Microsecond, time.Minute} {
		l.add(took)
	}
	got := map[time.Duration]uint64{}
	r := l.read()
	for _, b := range r.Up {
		got[b.Most] = b.Count
	}
	if r.Count != 4 || r.Sum != time.Minute+2100*time.Microsecond || got[100*time.Microsecond] != 1 || got[time.Millisecond] != 2 ||
		got[2500*time.Microsecond] != 3 || got[2500*time.Millisecond] != 3 {
		t.Errorf("%+v", r)
	}
}
