package journal

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// flip inverts bits of a byte of a file for good.
func flip(t *testing.T, fs vfs.FS, name string, off int64) {
	t.Helper()
	f, err := fs.Open(name)
	must(t, err)
	var p [1]byte
	_, err = f.ReadAt(p[:], off)
	must(t, err)
	p[0] ^= 0x10
	_, err = f.WriteAt(p[:], off)
	must(t, errors.Join(err, f.Sync(), f.Close()))
}

// threeGroups leaves a journal that was killed after three synced groups, of which two are recorded as safe: of logs 1
// and 2, of log 2, of log 1. It returns the file and where the groups are.
func threeGroups(t *testing.T) (fs *vfs.Mem, name string, at [4]int64) {
	t.Helper()
	fs = vfs.NewMem(3)
	j := mustOpen(t, fs, small())
	for i, logs := range [][]storage.LogID{{1, 2}, {2}, {1}} {
		write(t, j, 700, logs...)
		if i == 0 {
			at[0] = segment.HeaderBytes
		}
		must(t, j.Sync())
		at[i+1] = j.open.End
	}
	name = j.path(j.open.Name())
	fs.Crash()
	return fs, name, at
}

func TestDamageBelowTheSafePositionIsAFault(t *testing.T) {
	t.Parallel()
	// A broken disk would pass for a crash, and confirmed messages vanish without a word.
	const header, body = 20, segment.GroupHeaderBytes + segment.BatchHeaderBytes + 300
	for _, c := range []struct {
		what  string
		off   func(at [4]int64) int64
		fault []storage.LogID
		words string
		more  bool // there may have been other logs
	}{
		{"data of a batch", func(at [4]int64) int64 { return at[0] + body }, []storage.LogID{1}, "checksum mismatch", false},
		{"header of a batch", func(at [4]int64) int64 { return at[1] + segment.GroupHeaderBytes + 5 }, []storage.LogID{2}, "checksum mismatch", true},
		{"header of the first group", func(at [4]int64) int64 { return at[0] + header }, []storage.LogID{1, 2}, "batches 1 to 1 are missing", false},
		{"header of the last safe group", func(at [4]int64) int64 { return at[1] + header }, []storage.LogID{2}, "checksum mismatch", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			fs, name, at := threeGroups(t)
			flip(t, fs, name, c.off(at))
			for range 2 { // the fault is found at each start
				j, r, err := Open(fs, small())
				must(t, err)
				if r.Cut != nil || len(r.Faults) != len(c.fault) || (r.Unnamed != nil) != c.more {
					t.Fatalf("cut %v, faults %v", r.Cut, r.Faults)
				}
				for i, f := range r.Faults {
					if f.Log != c.fault[i] || j.path(f.File) != name || f.Offset < at[0] || f.Offset > c.off(at) || !strings.Contains(f.Error(), c.words) {
						t.Fatalf("fault %v; want log %d, %s at %d, %q", &f, c.fault[i], name, c.off(at), c.words)
					}
					var fault *Fault
					if err := j.Replay(f.Log, nil); !errors.As(err, &fault) {
						t.Fatalf("replay of a damaged log: %v", err)
					}
					if err := j.Write([]Batch{{Log: f.Log, Index: j.Next(f.Log)}}); !errors.As(err, &fault) {
						t.Fatalf("write to a damaged log: %v", err)
					}
				}
				write(t, j, 100, 3) // other logs go on
				must(t, j.Close())
			}
		})
	}
}

func TestDamageAboveTheSafePositionIsCut(t *testing.T) {
	t.Parallel()
	// The broker would refuse to start after a power cut, or keep what may be half of a write.
	fs, name, at := threeGroups(t)
	flip(t, fs, name, at[2]+segment.GroupHeaderBytes+segment.BatchHeaderBytes+10)
	j, r, err := Open(fs, small())
	must(t, err)
	if len(r.Faults) > 0 || r.Cut == nil || j.path(r.Cut.File) != name || r.Cut.Offset != at[2] || r.Cut.Bytes < 700 || r.Cut.Bytes > at[3]-at[2] {
		t.Fatalf("cut %+v, faults %v; want a cut of %s at %d, up to %d bytes", r.Cut, r.Faults, name, at[2], at[3]-at[2])
	}
	has(t, j, 1, 1, 1, 700)
	has(t, j, 2, 1, 2, 700)
	write(t, j, 700, 1)
	has(t, j, 1, 1, 2, 700)
	must(t, j.Close())
	j, r, err = Open(fs, small())
	if err != nil || r.Cut != nil || len(r.Faults) > 0 {
		t.Fatalf("opened again: cut %v, faults %v, %v", r.Cut, r.Faults, err)
	}
	has(t, j, 1, 1, 2, 700)
	must(t, j.Close())
}

func TestAPauseAndACleanStopLeaveNothingToCut(t *testing.T) {
	t.Parallel()
	// Damage to the last writes before a pause would pass for an unfinished tail.
	for _, how := range []string{"pause", "stop"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(3)
			j := mustOpen(t, fs, small())
			write(t, j, 700, 1, 2)
			must(t, j.Sync())
			name := j.path(j.open.Name())
			if how == "pause" {
				must(t, j.MarkSafe())
				fs.Crash()
			} else {
				must(t, j.Close())
			}
			flip(t, fs, name, segment.HeaderBytes+segment.GroupHeaderBytes+segment.BatchHeaderBytes+10)
			j, r, err := Open(fs, small())
			must(t, err)
			var fault *Fault
			if how == "pause" && len(r.Faults) != 1 {
				t.Fatalf("faults %v", r.Faults)
			}
			if _, err := j.ReadBatch(nil, 1, 1); r.Cut != nil || !errors.As(err, &fault) || fault.Log != 1 {
				t.Fatalf("cut %v, reading: %v", r.Cut, err)
			}
			has(t, j, 2, 1, 1, 700)
			must(t, j.Close())
		})
	}
}

func TestDamageInAClosedSegmentIsFoundWhenRead(t *testing.T) {
	t.Parallel()
	// A reader would be handed other bytes than were written.
	fs := vfs.NewMem(3)
	faulty := vfs.NewFaulty(fs)
	j := mustOpen(t, faulty, small())
	for len(j.segments) < 2 {
		write(t, j, 20_000, 1)
	}
	must(t, j.Close())
	at := int64(segment.HeaderBytes + segment.GroupHeaderBytes + segment.BatchHeaderBytes + 9000)
	faulty.Flip("journal/00000001.segment", at, 1)
	j = mustOpen(t, faulty, small())
	var fault *Fault
	if _, err := j.ReadBatch(nil, 1, 1); !errors.As(err, &fault) || fault.Log != 1 || fault.File != "00000001.segment" {
		t.Fatalf("whole batch: %v", err)
	}
	p := make([]byte, 100)
	if _, err := j.ReadAt(p, storage.Ref{Log: 1, Index: 1, Offset: 9500, Size: 100}); !errors.As(err, &fault) {
		t.Fatalf("part in the damaged chunk: %v", err)
	}
	if _, err := j.ReadAt(p, storage.Ref{Log: 1, Index: 1, Offset: 100, Size: 100}); err != nil {
		t.Fatalf("part in a sound chunk: %v", err)
	}
	s := NewStretch(16 << 10)
	if err := j.ReadStretch(s, 1, 1, 0); !errors.As(err, &fault) || s.Find(storage.Ref{Log: 1, Index: 1, Size: 1}) != nil {
		t.Fatalf("stretch with the damaged chunk: %v", err)
	}
	if err := j.ReadStretch(s, 1, 1, 10<<10); err != nil {
		t.Fatalf("stretch behind it: %v", err)
	}
	if err := j.Replay(1, func(storage.Index, []byte) error { return nil }); !errors.As(err, &fault) {
		t.Fatalf("replay: %v", err)
	}
	must(t, j.Close())
}

func TestADamagedTableIsLearntAnew(t *testing.T) {
	t.Parallel()
	// Damage to what only repeats what the groups say would stop a virtual host.
	fs := vfs.NewMem(3)
	j := mustOpen(t, fs, small())
	for len(j.segments) < 3 {
		write(t, j, 5000, 1, 2)
	}
	last, table, name := j.Next(1)-1, j.segments[0].Table.At, j.path(j.segments[0].Name())
	must(t, j.Close())
	flip(t, fs, name, table+40)
	j = mustOpen(t, fs, small())
	has(t, j, 1, 1, last, 5000)
	has(t, j, 2, 1, last, 5000)
	must(t, j.Close())
}

func TestOpenRefusesInWords(t *testing.T) {
	t.Parallel()
	// A newer or damaged directory would be taken for an empty one, or read wrongly.
	for _, c := range []struct {
		what  string
		spoil func(t *testing.T, fs *vfs.Mem)
		words string
	}{
		{"newer format", func(t *testing.T, fs *vfs.Mem) {
			f, err := fs.Open("journal/manifest")
			must(t, err)
			_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, 99), 8)
			must(t, err)
		}, "format 99: this version of Bartleby reads formats 1 to 3"},
		{"damaged manifest", func(t *testing.T, fs *vfs.Mem) { flip(t, fs, "journal/manifest", 30) }, "manifest: checksum mismatch"},
		{"other file", func(t *testing.T, fs *vfs.Mem) { flip(t, fs, "journal/manifest", 1) }, "not the manifest of a Bartleby journal"},
		{"missing manifest", func(t *testing.T, fs *vfs.Mem) { must(t, fs.Remove("journal/manifest")) }, "manifest: missing, but there is 00000001.segment"},
		{"missing segment", func(t *testing.T, fs *vfs.Mem) { must(t, fs.Remove("journal/00000001.segment")) }, "00000001.segment"},
		{"in use", func(t *testing.T, fs *vfs.Mem) {
			_, err := fs.Lock("journal")
			must(t, err)
		}, "in use by another broker"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(1)
			j := mustOpen(t, fs, small())
			write(t, j, 10, 1)
			must(t, j.Close())
			c.spoil(t, fs)
			_, _, err := Open(fs, small())
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %q", err, c.words)
			}
			if damaged := c.what != "newer format" && c.what != "in use"; errors.Is(err, ErrDamaged) != damaged {
				t.Fatalf("%v: can be repaired: %v, want %v", err, !damaged, damaged)
			}
		})
	}
}
