package deadline

import (
	"cmp"
	"slices"
)

// Instant is a moment in milliseconds since the Unix epoch. Zero means none.
type Instant int64

// Entry is one deadline. The zero Entry is smaller than every other with a positive instant.
type Entry struct {
	At    Instant // when it is due; ms since the Unix epoch
	Owner uint64  // whose it is, e.g. a queue
	Item  uint64  // which of the owner's, e.g. a message's seq
}

// Compare orders entries by At, then Owner, then Item.
func (e Entry) Compare(o Entry) int {
	if c := cmp.Compare(e.At, o.At); c != 0 {
		return c
	}
	if c := cmp.Compare(e.Owner, o.Owner); c != 0 {
		return c
	}
	return cmp.Compare(e.Item, o.Item)
}

func (e Entry) less(o Entry) bool {
	if e.At != o.At {
		return e.At < o.At
	}
	if e.Owner != o.Owner {
		return e.Owner < o.Owner
	}
	return e.Item < o.Item
}

// Set is an ordered set of entries. The zero value is empty and ready. It must not be copied after first use, and
// belongs to one goroutine at a time.
type Set struct {
	root  fanout[*branch]
	size  int
	spare []*leaf // emptied leaves for the next splits, at most spareMax
}

// branch is the middle floor.
type branch struct {
	fanout[*leaf]
}

// Len is the number of entries.
func (s *Set) Len() int { return s.size }

// Min is the earliest entry; ok is false if there is none.
func (s *Set) Min() (e Entry, ok bool) {
	if s.size == 0 {
		return Entry{}, false
	}
	return s.root.kids[0].kids[0].first(), true
}

// Add puts e into the set and reports whether it was new.
func (s *Set) Add(e Entry) bool {
	if s.size == 0 {
		l := s.newLeaf()
		l.insert(0, e)
		b := &branch{}
		b.insert(0, e, l)
		s.root.insert(0, e, b)
		s.size = 1
		return true
	}
	at := s.seek(e)
	l := s.leaf(at)
	i, found := l.search(e)
	if found {
		return false
	}
	if l.len() == leafMax {
		at = s.split(at, i, e)
		l = s.leaf(at)
		i, _ = l.search(e)
	}
	l.insert(i, e)
	s.size++
	return true
}

// Remove takes e out of the set and reports whether it was there.
func (s *Set) Remove(e Entry) bool {
	if s.size == 0 {
		return false
	}
	at := s.seek(e)
	l := s.leaf(at)
	i, found := l.search(e)
	if !found {
		return false
	}
	l.remove(i)
	s.size--
	switch n := l.len(); {
	case n == 0:
		s.dropLeaf(at)
	case n <= leafMax/2:
		s.mergeLeaf(at)
	}
	return true
}

// PopDue takes out the earliest entry if its instant is at or before now; ok is false if nothing is due.
func (s *Set) PopDue(now Instant) (e Entry, ok bool) {
	if s.size == 0 {
		return Entry{}, false
	}
	l := s.root.kids[0].kids[0]
	e = l.first()
	if e.At > now {
		return Entry{}, false
	}
	l.remove(0)
	s.size--
	if l.len() == 0 {
		s.dropLeaf(position{})
	}
	return e, true
}

// Ascend calls fn with the entries at or after from, in order, until fn returns false. fn must not change the set.
func (s *Set) Ascend(from Entry, fn func(Entry) bool) {
	if s.size == 0 {
		return
	}
	at := s.seek(from)
	skip, _ := s.leaf(at).search(from)
	for _, b := range s.root.kids[at.branch:] {
		for _, l := range b.kids[at.leaf:] {
			for _, e := range l.live()[skip:] {
				if !fn(e) {
					return
				}
			}
			skip = 0
		}
		at.leaf = 0
	}
}

// position names a leaf: its branch's position in the root and its own in the branch.
type position struct{ branch, leaf int }

func (s *Set) leaf(at position) *leaf { return s.root.kids[at.branch].kids[at.leaf] }

// seek names the only leaf that may hold e.
func (s *Set) seek(e Entry) position {
	b := s.root.child(e)
	return position{b, s.root.kids[b].child(e)}
}

// split makes space for e, whose position in the full leaf at would be i, and names the leaf e now belongs to.
func (s *Set) split(at position, i int, e Entry) position {
	b := s.root.kids[at.branch]
	l := b.kids[at.leaf]
	if i == leafMax {
		// e follows everything here. A stream of rising instants leaves full leaves behind it, wherever in the
		// set it runs, if it continues in a leaf of its own instead of splitting this one. Such a leaf has one
		// entry at first, but only a full leaf can have made it.
		return s.addLeaf(at, e, s.newLeaf())
	}
	if n := at.leaf + 1; n < len(b.kids) && b.kids[n].len() <= shareMax {
		r := b.kids[n]
		r.takeEnd(l, (leafMax-r.len()+1)/2)
		b.seps[n] = r.first()
		return s.seek(e)
	}
	if n := at.leaf - 1; n >= 0 && b.kids[n].len() <= shareMax {
		p := b.kids[n]
		p.takeStart(l, (leafMax-p.len()+1)/2)
		b.seps[at.leaf] = l.first()
		return s.seek(e)
	}
	r := s.newLeaf()
	r.takeEnd(l, leafMax/2)
	s.addLeaf(at, r.first(), r)
	return s.seek(e)
}

// addLeaf puts l behind the leaf at, with sep as its separator, splitting the branch if it is full.
func (s *Set) addLeaf(at position, sep Entry, l *leaf) position {
	b := s.root.kids[at.branch]
	if len(b.kids) == branchMax {
		// As with leaves: at the end begin a new branch, else split in half.
		from := branchMax / 2
		if at.leaf == branchMax-1 {
			from = branchMax
		}
		r := &branch{}
		r.seps = append(r.seps, b.seps[from:]...)
		r.kids = append(r.kids, b.kids[from:]...)
		b.delete(from, branchMax)
		rsep := sep
		if len(r.kids) > 0 {
			rsep = r.seps[0]
		}
		s.root.insert(at.branch+1, rsep, r)
		if at.leaf >= from || from == branchMax {
			at = position{at.branch + 1, at.leaf - from}
			if from == branchMax {
				at.leaf = -1
			}
			b = r
		}
	}
	b.insert(at.leaf+1, sep, l)
	return position{at.branch, at.leaf + 1}
}

// dropLeaf gives the empty leaf at back.
func (s *Set) dropLeaf(at position) {
	b := s.root.kids[at.branch]
	if len(s.spare) < spareMax {
		s.spare = append(s.spare, b.kids[at.leaf])
	}
	b.delete(at.leaf, at.leaf+1)
	switch n := len(b.kids); {
	case n == 0:
		s.root.delete(at.branch, at.branch+1)
	case n <= branchMax/2 && at != position{}:
		s.mergeBranch(at.branch)
	}
}

// mergeLeaf joins the leaf at with a neighbour if both fit into one with space to spare.
func (s *Set) mergeLeaf(at position) {
	b := s.root.kids[at.branch]
	n := b.kids[at.leaf].len()
	if at.leaf+1 < len(b.kids) && n+b.kids[at.leaf+1].len() <= mergeMax {
		at.leaf++
	} else if at.leaf == 0 || n+b.kids[at.leaf-1].len() > mergeMax {
		return
	}
	l := b.kids[at.leaf]
	b.kids[at.leaf-1].takeStart(l, l.len())
	s.dropLeaf(at)
}

// mergeBranch joins the i-th branch with a neighbour if both fit into one with space to spare.
func (s *Set) mergeBranch(i int) {
	const fit = branchMax * 7 / 8
	n := len(s.root.kids[i].kids)
	if i+1 < len(s.root.kids) && n+len(s.root.kids[i+1].kids) <= fit {
		i++
	} else if i == 0 || n+len(s.root.kids[i-1].kids) > fit {
		return
	}
	left, right := s.root.kids[i-1], s.root.kids[i]
	right.seps[0] = s.root.seps[i] // separator 0 was not maintained; here it becomes one that counts
	left.seps = append(left.seps, right.seps...)
	left.kids = append(left.kids, right.kids...)
	s.root.delete(i, i+1)
}

func (s *Set) newLeaf() *leaf {
	if n := len(s.spare); n > 0 {
		l := s.spare[n-1]
		s.spare[n-1] = nil
		s.spare = s.spare[:n-1]
		l.lo, l.hi = 0, 0
		return l
	}
	return &leaf{}
}

// fanout is the inside of an inner node: children in order and a separator for each.
type fanout[T any] struct {
	seps []Entry
	kids []T
}

// child is the position of the child that e belongs to.
func (f *fanout[T]) child(e Entry) int {
	// The last separator that is not above e; streams of rising instants mostly ask for the last child.
	lo, hi := 0, len(f.seps)-1
	if hi >= 0 && !e.less(f.seps[hi]) {
		return hi
	}
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if e.less(f.seps[mid]) {
			hi = mid - 1
		} else {
			lo = mid
		}
	}
	return lo
}

func (f *fanout[T]) insert(i int, sep Entry, kid T) {
	f.seps = slices.Insert(f.seps, i, sep)
	f.kids = slices.Insert(f.kids, i, kid)
}

func (f *fanout[T]) delete(i, j int) {
	f.seps = slices.Delete(f.seps, i, j)
	f.kids = slices.Delete(f.kids, i, j)
}
