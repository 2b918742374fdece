package recordcache

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// backlog is a log on a disk, of records that tell which they are.
type backlog struct {
	journal *journal.Journal
	written map[storage.LogID]storage.Index
	refs    []storage.Ref
	jobs    sync.WaitGroup
}

// Read implements Source.
func (b *backlog) Read(buf []byte, r storage.Ref, hint *journal.Hint) ([]byte, error) {
	return b.journal.ReadBy(hint, buf, r)
}

// ReadStretch implements Source.
func (b *backlog) ReadStretch(s *journal.Stretch, log storage.LogID, i storage.Index, offset uint32) error {
	return b.journal.ReadStretch(s, log, i, offset)
}

// Written implements Source.
func (b *backlog) Written(log storage.LogID) storage.Index { return b.written[log] }

// newBacklog writes n records of size bytes in batches of at most batch bytes.
func newBacklog(t testing.TB, fs vfs.FS, n, size, batch int) *backlog {
	t.Helper()
	j, _, err := journal.Open(fs, journal.Options{Entropy: 1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	b := &backlog{journal: j, written: map[storage.LogID]storage.Index{}}
	for len(b.refs) < n {
		var group []journal.Batch
		bytes := 0
		for i := j.Next(1); len(b.refs) < n && bytes < 256<<10; i++ {
			data := make([]byte, 0, batch)
			for len(b.refs) < n && (len(data) == 0 || len(data)+size <= batch) {
				ref := storage.Ref{Log: 1, Index: i, Offset: uint32(len(data)), Size: uint32(size)}
				data = append(data, record(len(b.refs), size)...)
				b.refs = append(b.refs, ref)
			}
			group = append(group, journal.Batch{Log: 1, Index: i, Data: data})
			bytes += len(data)
		}
		if err := j.Reserve(bytes+len(group)*journal.Overhead, journal.Committed); err != nil {
			t.Fatal(err)
		}
		if err := j.Write(group); err != nil {
			t.Fatal(err)
		}
		b.written[1] = j.Next(1) - 1
	}
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.jobs.Wait()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// record is the k-th record.
func record(k, size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(k>>(i%4*8) + i/4)
	}
	return p
}

func (b *backlog) cache() *Cache { return New(b, new(Shared), b.jobs.Go) }

// BenchmarkRecords reads 2 million records of 160 bytes, which are not hot, in the orders in which backlogs are read:
// that of the log, as one queue is drained; of a thousand queues filled in turn, drained in turn, by a hundred messages
// each at first; and any order, as random TTLs have it. The runner ends loans after some thousand records.
func BenchmarkRecords(b *testing.B) {
	const n, size, queues, prefetch = 2_000_000, 160, 1000, 100
	turns := make([]int, 0, n)
	for q := range queues {
		for k := range prefetch {
			turns = append(turns, k*queues+q)
		}
	}
	for k := prefetch * queues; k < n; k++ {
		turns = append(turns, k)
	}
	any := rand.New(rand.NewPCG(1, 1)).Perm(n)
	orders := []struct {
		name string
		at   func(i int) int
	}{
		{"one queue", func(i int) int { return i }},
		{"thousand queues", func(i int) int { return turns[i] }},
		{"any", func(i int) int { return any[i] }},
	}
	for _, batch := range []int{256 << 10, size} {
		log := newBacklog(b, vfs.Dir(b.TempDir()), n, size, batch)
		warm := log.cache() // what the disk itself does is not the subject
		for _, r := range log.refs {
			if _, err := warm.Get(r); err != nil {
				b.Fatal(err)
			}
		}
		for _, o := range orders {
			b.Run(fmt.Sprintf("batches of %d/%s", batch, o.name), func(b *testing.B) {
				c := log.cache()
				b.SetBytes(size)
				b.ReportAllocs()
				sum := uint64(0)
				for i := range b.N {
					p, err := c.Get(log.refs[o.at(i%n)])
					if err != nil {
						b.Fatal(err)
					}
					sum += binary.LittleEndian.Uint64(p)
					if i%2000 == 0 {
						c.Release()
					}
				}
				c.Close()
			})
		}
	}
}
