package accounts

import (
	"maps"
	"slices"
)

const (
	// OwnLogID is the number of the log that this machine's facts are in.
	OwnLogID uint32 = 1

	// firstLogID is what the first virtual host gets; those below are the node's own.
	firstLogID uint32 = 16
)

// A Machine holds the state. One goroutine at a time owns it.
type Machine struct {
	now View
}

// New returns the machine of an empty log: no user, no virtual host.
func New() *Machine {
	return &Machine{now: View{nextLogID: firstLogID}}
}

// Outcome collects what a batch of commands led to, in order.
type Outcome struct {
	Facts   []Fact // what is now true; commands that changed nothing left none
	Batch   []byte // the same, encoded, for the log
	Created bool   // the last command made something that was not there, rather than changing it
}

// Reset empties o, keeping its space.
func (o *Outcome) Reset() {
	clear(o.Facts)
	*o = Outcome{Facts: o.Facts[:0], Batch: o.Batch[:0]}
}

// Step decides one command, applies the fact it leads to and adds it to out. A command that asks for what is already
// so leads to none. On error, always an *amqp.Error, nothing has changed and out is as it was.
func (m *Machine) Step(c Command, out *Outcome) error {
	d, err := m.now.decide(c)
	if err != nil {
		return err
	}
	out.Created = d.created
	if d.unchanged {
		return nil
	}
	m.Apply(d.fact)
	out.Facts = append(out.Facts, d.fact)
	out.Batch = AppendFact(out.Batch, d.fact)
	return nil
}

// View is the state as of now. It never changes, costs a few pointers, and may be read by any number of goroutines;
// the first change of a table after it copies that table.
func (m *Machine) View() *View {
	m.now.share()
	v := m.now
	return &v
}

// Snapshot appends the shortest list of facts that leads an empty machine here. Equal states give equal bytes.
func (m *Machine) Snapshot(b []byte) []byte {
	v := &m.now
	through := firstLogID - 1
	for _, h := range v.VHosts() {
		through = max(through, h.LogID)
		b = AppendFact(b, h.fact())
		for _, l := range h.Limits {
			b = AppendFact(b, Fact{Kind: VHostLimitSet, VHost: h.Name, Name: l.Name, Limit: l.Value})
		}
	}
	for _, u := range v.Users() {
		b = AppendFact(b, u.fact())
		for _, l := range u.Limits {
			b = AppendFact(b, Fact{Kind: UserLimitSet, User: u.Name, Name: l.Name, Limit: l.Value})
		}
	}
	for _, p := range v.Permissions() {
		b = AppendFact(b, p.fact())
	}
	for _, t := range v.TopicPermissions() {
		b = AppendFact(b, t.fact())
	}
	for _, g := range v.GlobalParameters() {
		b = AppendFact(b, g.fact())
	}
	if v.nextLogID != through+1 {
		b = AppendFact(b, Fact{Kind: LogIDsUsed, LogID: v.nextLogID - 1})
	}
	if i := v.importing; i != nil {
		b = AppendFact(b, Fact{Kind: ImportBegun, Name: i.Source, Value: i.Value})
	}
	for _, d := range v.audit.deeds {
		b = AppendFact(b, Fact{Kind: DeedRecorded, Deed: d})
	}
	return b
}

// A table is a map that a View may hold on to: once shared, it is copied before the next change.
type table[K comparable, V any] struct {
	rows   map[K]V
	shared bool
}

func (t *table[K, V]) put(k K, v V) {
	t.own()
	t.rows[k] = v
}

func (t *table[K, V]) remove(k K) {
	if _, ok := t.rows[k]; ok {
		t.own()
		delete(t.rows, k)
	}
}

// removeAll drops the rows whose key is dead.
func (t *table[K, V]) removeAll(dead func(K) bool) {
	for k := range t.rows {
		if dead(k) {
			t.own()
			break
		}
	}
	maps.DeleteFunc(t.rows, func(k K, _ V) bool { return dead(k) })
}

func (t *table[K, V]) own() {
	switch {
	case t.rows == nil:
		t.rows = make(map[K]V)
	case t.shared:
		t.rows = maps.Clone(t.rows)
	}
	t.shared = false
}

// sorted lists the rows in the order of less, so that no map order is ever seen.
func (t *table[K, V]) sorted(compare func(a, b V) int) []V {
	return slices.SortedFunc(maps.Values(t.rows), compare)
}
