package recordcache

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// weighed is a backlog that counts the bytes that are read of it.
type weighed struct {
	*backlog
	bytes atomic.Int64
}

func (w *weighed) Read(buf []byte, r storage.Ref, hint *journal.Hint) ([]byte, error) {
	w.bytes.Add(int64(journal.ReadBytes(r)))
	return w.backlog.Read(buf, r, hint)
}

func (w *weighed) ReadStretch(s *journal.Stretch, log storage.LogID, i storage.Index, offset uint32) error {
	w.bytes.Add(stretchMemory)
	return w.backlog.ReadStretch(s, log, i, offset)
}

func (w *weighed) cache() *Cache { return New(w, new(Shared), w.jobs.Go) }

func TestHeadsOfRecords(t *testing.T) {
	// If this fails, who needs the heads of large records reads their bodies, or those of small ones cost more than the
	// records; or a head is another one than the record's.
	t.Parallel()
	const head = vhost.HeadBytes
	for _, c := range []struct{ n, size, batch int }{
		{5000, 160, 1 << 20}, {200, 5000, 1 << 20}, {200, 20_000, 1 << 20}, {200, 50_000, 1 << 20},
		{40, 1 << 20, 1 << 20},
	} {
		w := &weighed{backlog: newBacklog(t, vfs.NewMem(1), c.n, c.size, c.batch)}
		heads := w.cache()
		for k, ref := range w.refs {
			p, err := heads.Head(ref, head)
			if want := record(k, c.size); err != nil || !bytes.Equal(p, want[:min(head, len(want))]) {
				t.Fatalf("head %d of a record of %d bytes: %d bytes, %v", k, c.size, len(p), err)
			}
			heads.Release()
		}
		heads.Close()
		got := w.bytes.Swap(0)
		whole := w.cache()
		for _, ref := range w.refs {
			if _, err := whole.Get(ref); err != nil {
				t.Fatal(err)
			}
			whole.Release()
		}
		whole.Close()
		most := w.bytes.Load()
		if c.size > int(stretchBytes/2) {
			most = int64(c.n * (head + 3*journal.ChunkBytes))
		}
		if got > most {
			t.Errorf("%d bytes were read for %d heads of records of %d bytes, the limit is %d", got, c.n, c.size, most)
		}
	}
}

func TestHeadsAreReadBeforehand(t *testing.T) {
	// If this fails, a crowd of large messages that are due soon is read whole although their heads
	// suffice; or what was read beforehand is taken for another part of the record.
	t.Parallel()
	w := &weighed{backlog: newBacklog(t, vfs.NewMem(1), 20, 1<<20, 1<<20)}
	c, p := w.cache(), &prefetched{}
	defer c.Close()
	p.read(w, slices.Clone(w.refs))
	most := len(w.refs) * (vhost.HeadBytes + 3*journal.ChunkBytes)
	if n := w.bytes.Load(); n > int64(most) || cap(p.memory) > most {
		t.Errorf("%d bytes were read of %d records, and %d are kept", n, len(w.refs), cap(p.memory))
	}
	c.ahead.shown = append(c.ahead.shown, p)
	w.bytes.Store(0)
	for k, r := range w.refs {
		h, err := c.Head(r, vhost.HeadBytes)
		if err != nil || !bytes.Equal(h, record(k, 1<<20)[:vhost.HeadBytes]) {
			t.Fatalf("head %d: %d bytes, %v", k, len(h), err)
		}
	}
	if n := w.bytes.Load(); n > 0 {
		t.Errorf("%d bytes were read again", n)
	}
	for k, r := range w.refs {
		kept, err := c.Keep(r)
		if err != nil || !bytes.Equal(kept, record(k, 1<<20)) {
			t.Fatalf("record %d: %d bytes, %v", k, len(kept), err)
		}
	}
}
