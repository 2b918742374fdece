package storage

import (
	"cmp"
	"sort"
)

// UseGrain is how much of a log is counted together, if nobody says otherwise. Segments hold many such ranges, so that
// what is counted at their edges for both matters little.
const UseGrain = 1 << 20

// Use counts which bytes of a log are referred to, by ranges of batches. It says at most too much, never too little:
// a record with several references counts several times. Source: ours, decision 10.
type Use struct {
	Grain  int64      // bytes; 0: UseGrain
	ranges []UseRange // by First; a range ends where the next begins
	newest Index      // greatest that was ever retained
	stored int64      // bytes first retained in the last range
	hit    int        // the range found last
	used   int        // ranges with references
}

// UseRange is the batches from First to before the next range.
type UseRange struct {
	First Index
	Refs  int64 // references to records there
	Bytes int64 // that they name
}

// Retain counts a reference to r.
func (u *Use) Retain(r Ref) {
	if r.Index > u.newest {
		u.newest = r.Index
		if len(u.ranges) == 0 || u.stored >= cmp.Or(u.Grain, UseGrain) {
			if len(u.ranges) > 64+3*u.used {
				u.merge()
			}
			u.ranges = append(u.ranges, UseRange{First: r.Index})
			u.stored = 0
		}
	}
	i := u.find(r.Index)
	if i < 0 { // older than all: a checkpoint was read that does not list it
		u.ranges = append([]UseRange{{First: r.Index}}, u.ranges...)
		i, u.hit = 0, 0
	}
	if i == len(u.ranges)-1 {
		u.stored += int64(r.Size)
	}
	if u.ranges[i].Refs == 0 {
		u.used++
	}
	u.ranges[i].Refs++
	u.ranges[i].Bytes += int64(r.Size)
}

// Release takes a reference back.
func (u *Use) Release(r Ref) {
	i := u.find(r.Index)
	if i < 0 {
		return
	}
	x := &u.ranges[i]
	if x.Refs == 0 {
		return
	}
	if x.Refs--; x.Refs > 0 {
		x.Bytes -= int64(r.Size)
		return
	}
	u.used--
	*x = UseRange{First: x.First}
	if i == 0 {
		n := 0
		for n < len(u.ranges)-1 && u.ranges[n].Refs == 0 {
			n++
		}
		u.ranges, u.hit = u.ranges[n:], 0
	}
}

// merge makes one of neighbours without references.
func (u *Use) merge() {
	n := 0
	for i, r := range u.ranges {
		if i == 0 || r.Refs > 0 || u.ranges[n-1].Refs > 0 {
			u.ranges[n] = r
			n++
		}
	}
	u.ranges, u.hit = u.ranges[:n], 0
}

// find returns the number of the range with a batch, -1 if it comes before all.
func (u *Use) find(i Index) int {
	if u.hit < len(u.ranges) && u.ranges[u.hit].First <= i && (u.hit == len(u.ranges)-1 || i < u.ranges[u.hit+1].First) {
		return u.hit
	}
	n := len(u.ranges)
	if n > 0 && u.ranges[n-1].First <= i {
		u.hit = n - 1
		return u.hit
	}
	k := sort.Search(n, func(k int) bool { return u.ranges[k].First > i }) - 1
	u.hit = max(k, 0)
	return k
}

// Ranges lists what is in use, oldest first, ranges without references left out; the result is the caller's.
func (u *Use) Ranges() []UseRange {
	all := make([]UseRange, 0, len(u.ranges)+1)
	for i, r := range u.ranges {
		// A range without references stays where one with references ends.
		if r.Refs > 0 || i > 0 && u.ranges[i-1].Refs > 0 {
			all = append(all, r)
		}
	}
	return all
}

// Restore makes u what Ranges of another gave. Batches after the last of them are counted anew.
func (u *Use) Restore(ranges []UseRange, newest Index) {
	*u = Use{Grain: u.Grain, ranges: ranges, newest: newest, stored: cmp.Or(u.Grain, UseGrain)}
	for _, r := range ranges {
		if r.Refs > 0 {
			u.used++
		}
	}
}

// Bytes tells how many bytes of batches first to last are referred to, at most; zero only if none is.
func Bytes(ranges []UseRange, first, last Index) int64 {
	i := max(sort.Search(len(ranges), func(k int) bool { return ranges[k].First > first })-1, 0)
	var n int64
	for ; i < len(ranges) && ranges[i].First <= last; i++ {
		if r := ranges[i]; r.Refs > 0 && (i == len(ranges)-1 || ranges[i+1].First > first) {
			n += max(r.Bytes, 1)
		}
	}
	return n
}

// Span is a range of batches of a log.
type Span struct {
	Log         LogID
	First, Last Index
}

// Holds reports whether r lies in s.
func (s Span) Holds(r Ref) bool { return r.Log == s.Log && s.First <= r.Index && r.Index <= s.Last }

// Fault is the one panic that a machine's runner recovers: a record or a page could not be read, and nothing may be
// decided without it.
type Fault struct{ Err error }
