package deadline

// ByOwner is a set of entries in another order: by Owner, then At, then Item. So what one owner has is found in the
// order of instants, whoever else has entries, and owners with few share their leaves. The zero value is empty and
// ready. It costs what a Set costs, and the same holds for its use. Owners and instants are from 0 to 1<<63 - 1.
type ByOwner struct{ set Set }

// Len is the number of entries of all owners.
func (s *ByOwner) Len() int { return s.set.Len() }

// Add puts e into the set and reports whether it was new.
func (s *ByOwner) Add(e Entry) bool { return s.set.Add(e.turned()) }

// Remove takes e out of the set and reports whether it was there.
func (s *ByOwner) Remove(e Entry) bool { return s.set.Remove(e.turned()) }

// Ascend calls fn with the entries of from's owner at or after from, in order, until fn returns false. fn must not
// change the set.
func (s *ByOwner) Ascend(from Entry, fn func(Entry) bool) {
	s.set.Ascend(from.turned(), func(e Entry) bool {
		e = e.turned()
		return e.Owner == from.Owner && fn(e)
	})
}

// turned is e with its owner and its instant in each other's place: a Set has it where ByOwner has e, and the other way
// round.
func (e Entry) turned() Entry { return Entry{At: Instant(e.Owner), Owner: uint64(e.At), Item: e.Item} }
