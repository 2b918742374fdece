package vfs

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkSyncedAppend compares ways to append groups to a segment file, each followed by one Sync: what
// docs/decisions/0001-segment-writes.md was decided by.
func BenchmarkSyncedAppend(b *testing.B) {
	const segment = 64 << 20
	for _, group := range []int{4 << 10, 64 << 10, 256 << 10, 1 << 20} {
		for _, way := range []struct {
			name              string
			zero, direct      bool
			skew              int64 // start of the first group: 512 is not a whole block
			recycled, reserve bool
		}{
			{name: "fresh-buffered"},
			{name: "fallocated-buffered", reserve: true},
			{name: "zeroed-buffered", zero: true},
			{name: "recycled-buffered", zero: true, recycled: true},
			{name: "fallocated-direct", reserve: true, direct: true},
			{name: "zeroed-direct", zero: true, direct: true},
			{name: "recycled-direct", zero: true, direct: true, recycled: true},
			{name: "zeroed-direct-512", zero: true, direct: true, skew: 512},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", way.name, group>>10), func(b *testing.B) {
				path := b.TempDir()
				fs := Dir(path)
				p := Aligned(group)
				for i := range p {
					p[i] = byte(i * 7)
				}
				files := 0
				next := func() *dirFile {
					files++
					f, err := fs.Create(fmt.Sprintf("%d", files))
					if err != nil {
						b.Fatal(err)
					}
					d := f.(*dirFile)
					if way.zero {
						if err := d.Preallocate(0, segment); err != nil {
							b.Fatal(err)
						}
					}
					if way.reserve {
						reserveOnly(b, d, segment)
					}
					d.noDirect = !way.direct
					if way.recycled {
						for off := int64(0); off < segment; off += 1 << 20 {
							if _, err := d.WriteAt(zeros, off); err != nil {
								b.Fatal(err)
							}
						}
					}
					if err := d.Sync(); err != nil {
						b.Fatal(err)
					}
					return d
				}
				f := next()
				off := way.skew
				b.SetBytes(int64(group))
				for b.Loop() {
					if off+int64(group) > segment {
						b.StopTimer()
						f.Close()
						fs.Remove(fmt.Sprintf("%d", files))
						f, off = next(), way.skew
						b.StartTimer()
					}
					if _, err := f.WriteAt(p, off); err != nil {
						b.Fatal(err)
					}
					if err := f.Sync(); err != nil {
						b.Fatal(err)
					}
					off += int64(group)
				}
				f.Close()
			})
		}
	}
}

// reserveOnly is Preallocate without the zeros.
func reserveOnly(b *testing.B, f *dirFile, n int64) {
	if err := unix.Fallocate(int(f.f.Fd()), 0, 0, n); err != nil {
		b.Fatal(err)
	}
}
