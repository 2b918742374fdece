package journal

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// BenchmarkAppend writes batches of messages of 1 KiB in groups, each synced; segments are reclaimed and recycled as in
// a broker that consumes what it is sent.
func BenchmarkAppend(b *testing.B) {
	const message = 1 << 10
	for _, c := range []struct{ batches, messages int }{{1, 1}, {1, 64}, {4, 64}, {16, 64}, {16, 16}} {
		b.Run(fmt.Sprintf("group=%dKiB/batches=%d", c.batches*c.messages*message>>10, c.batches), func(b *testing.B) {
			j := mustOpen(b, vfs.Dir(b.TempDir()), Options{Entropy: 1, ReserveBytes: 128 << 20})
			group := make([]Batch, c.batches)
			for i := range group {
				group[i] = Batch{Log: storage.LogID(1 + i), Data: data(storage.LogID(i), 1, c.messages*message)}
			}
			must(b, j.Reserve(0, Growing))
			prepare(b, j)
			segments := len(j.segments)
			b.SetBytes(int64(c.batches * c.messages * message))
			b.ReportAllocs()
			for b.Loop() {
				for i := range group {
					group[i].Index = j.Next(group[i].Log)
				}
				must(b, j.Reserve(c.batches*(c.messages*message+Overhead), Growing))
				must(b, j.Write(group))
				must(b, j.Sync())
				if len(j.segments) > segments {
					for i := range group {
						must(b, j.Checkpoint(group[i].Log, group[i].Index, nil))
					}
					_, err := j.Reclaim(nothing)
					must(b, err)
					segments = len(j.segments)
				}
			}
			b.ReportMetric(float64(c.batches*c.messages*b.N)/b.Elapsed().Seconds()/1000, "kmsg/s")
			must(b, j.Close())
		})
	}
}

// BenchmarkRead reads what lies in closed segments: whole batches in order, and single messages.
func BenchmarkRead(b *testing.B) {
	j := mustOpen(b, vfs.Dir(b.TempDir()), Options{Entropy: 1, SegmentBytes: 16 << 20, ReserveBytes: -1})
	p := data(1, 1, 64<<10)
	for range 1000 {
		must(b, put(j, []Batch{{Log: 1, Index: j.Next(1), Data: p}}))
	}
	must(b, j.Sync())
	b.Run("batch of 64 KiB", func(b *testing.B) {
		b.SetBytes(64 << 10)
		b.ReportAllocs()
		var buf []byte
		for i := 0; b.Loop(); i++ {
			var err error
			buf, err = j.ReadBatch(buf, 1, storage.Index(1+i%1000))
			must(b, err)
		}
	})
	b.Run("message of 1 KiB", func(b *testing.B) {
		b.SetBytes(1 << 10)
		b.ReportAllocs()
		msg := make([]byte, 1<<10)
		for i := 0; b.Loop(); i++ {
			_, err := j.ReadAt(msg, storage.Ref{Log: 1, Index: storage.Index(1 + i%1000), Offset: uint32(i%63) << 10, Size: 1 << 10})
			must(b, err)
		}
	})
	must(b, j.Close())
}
