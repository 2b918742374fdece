package accounts

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A Deed is one administrative change: a record of the audit log. It says what was asked for and done, not how things
// stand now. Passwords and their hashes are not in it: whoever records deeds leaves them out.
type Deed struct {
	ID     uint64 // 1, 2, …: a gap tells how many have fallen away
	At     int64  // wall clock, ms since the Unix epoch
	User   string // who did it
	From   string // where the request came from
	Action string // PUT, DELETE, …
	Object string // what was changed
	Status uint16 // of the answer; from 500 on it may have been done in part
	Detail []byte // JSON: what was said of the object; nil if nothing was
}

// size is what d counts towards the bound of the audit log, in bytes.
func (d *Deed) size() int {
	return deedCost + len(d.User) + len(d.From) + len(d.Action) + len(d.Object) + len(d.Detail)
}

// An auditLog is deeds, oldest first, of which some have fallen away. A View may hold on to it: what a slice shows
// never changes, new deeds come behind its end.
type auditLog struct {
	deeds []Deed
	bytes int
	last  uint64 // ID
}

func (l *auditLog) add(d Deed) {
	l.deeds = append(l.deeds, d)
	l.bytes += d.size()
	l.last = d.ID
	if len(l.deeds) > deedsMax || l.bytes > deedsBytesMax {
		l.evict()
	}
}

// evict takes out a sixteenth of what there may be. The oldest deed falls away of whoever has most in the log, again
// and again: nobody can push out what others did but by filling as much as each of them has.
func (l *auditLog) evict() {
	type part struct {
		weight int
		at     []int // of this user's deeds
	}
	const costs = deedsBytesMax / deedsMax // of each, since their number is bounded too
	parts := map[string]*part{}
	for i := range l.deeds {
		d := &l.deeds[i]
		p := parts[d.User]
		if p == nil {
			p = &part{}
			parts[d.User] = p
		}
		p.weight, p.at = p.weight+d.size()+costs, append(p.at, i)
	}
	var users []*part
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		users = append(users, parts[name])
	}
	gone := make(map[int]bool, deedsMax/16)
	for l.bytes > deedsBytesMax/16*15 || len(l.deeds)-len(gone) > deedsMax/16*15 {
		p := slices.MaxFunc(users, func(a, b *part) int { return cmp.Compare(a.weight, b.weight) })
		size := l.deeds[p.at[0]].size()
		gone[p.at[0]] = true
		p.weight, p.at, l.bytes = p.weight-size-costs, p.at[1:], l.bytes-size
	}
	kept := make([]Deed, 0, len(l.deeds))
	for i := range l.deeds {
		if !gone[i] {
			kept = append(kept, l.deeds[i])
		}
	}
	l.deeds = kept
}

// Deeds is the audit log, oldest first.
func (v *View) Deeds() []Deed { return v.audit.deeds }

func (v *View) recordDeed(c Command) (decision, error) {
	d := c.Deed
	if n := d.size() - deedCost; n > DeedBytesMax {
		return decision{}, amqp.PreconditionFailed("a record of %d bytes exceeds the maximum of %d", n, DeedBytesMax)
	}
	for _, text := range []string{d.User, d.From, d.Action, d.Object, string(d.Detail)} {
		if !utf8.ValidString(text) {
			return decision{}, amqp.PreconditionFailed("a record of the audit log must be UTF-8")
		}
	}
	d.ID, d.Detail = v.audit.last+1, bytes.Clone(d.Detail)
	return decision{fact: Fact{Kind: DeedRecorded, Deed: d}}, nil
}

// An Import is under way, or was when the process ended.
type Import struct {
	Source string // where it came from
	Value  []byte // as BeginImport was given it
}

// Import is the import under way, nil if there is none.
func (v *View) Import() *Import { return v.importing }

func (v *View) beginImport(c Command) (decision, error) {
	if len(c.Value) > importBytesMax {
		return decision{}, amqp.PreconditionFailed("an import of %d bytes, compressed, exceeds the maximum of %d", len(c.Value), importBytesMax)
	}
	if err := checkName("import", c.Name); err != nil {
		return decision{}, err
	}
	return decision{fact: Fact{Kind: ImportBegun, Name: c.Name, Value: bytes.Clone(c.Value)}}, nil
}

func (v *View) endImport() (decision, error) {
	if v.importing == nil {
		return nothingToDo, nil
	}
	return decision{fact: Fact{Kind: ImportEnded}}, nil
}

// Draft is a machine of its own that begins as v is: it tells what commands would lead to. It keeps no deeds.
func (v *View) Draft() *Machine {
	m := &Machine{now: *v}
	m.now.share()
	m.now.audit = auditLog{}
	return m
}
