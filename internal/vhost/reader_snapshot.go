package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Snapshot is a copy of what says where the messages of a vhost go: exchanges, bindings, queues with what they run
// with and how full they are, policies and options. What can be said about all that is found in the copy, so that the
// vhost serves others meanwhile. Its tables are shared: do not change them.
type Snapshot struct {
	VHost     string
	Exchanges []SnapshotExchange // by name, the default exchange first
	Queues    []SnapshotQueue    // by name
	Bindings  []topology.Binding // by source
	Rules     *Rules
}

// SnapshotExchange is an exchange of a Snapshot.
type SnapshotExchange struct {
	Name                                   string
	Type                                   string
	Kind                                   topology.ExchangeKind
	Delayed, Durable, AutoDelete, Internal bool
	Alternate                              string
	Scheduled                              int // messages that wait in a delayed one
}

// SnapshotQueue is a queue of a Snapshot.
type SnapshotQueue struct {
	fact.Object
	Settings               Settings
	Policy, OperatorPolicy string
	Ready, Unacked         int
	Waiting, Held          int
	Bytes                  int64 // of bodies
	Consumers              int
	Full                   bool // it is at its limit
	Refuses                bool // it has no space for a dead letter
}

// A Snapshotter makes a Snapshot, in portions between which the vhost serves others. The zero value begins one.
type Snapshotter struct {
	made     *Snapshot
	version  [2]uint64
	again    int
	after    fact.QueueID
	queues   [][]SnapshotQueue    // portions
	bindings [][]topology.Binding // likewise
	names    []string             // of exchanges
	next     int                  // of names
	skip     int                  // bindings of that one that were copied
}

// snapshotsAgain is how often a snapshot begins anew because the vhost has changed meanwhile: after that it takes what
// it gets.
const snapshotsAgain = 3

// ConfigVersion changes with every change of exchanges, bindings, queues, policies and options: what lint finds in
// settings alone stays true as long as it stays the same.
func (r Reader) ConfigVersion() [2]uint64 { return [2]uint64{r.v.topo.Version(), r.v.ruleChanges} }

// HasMore reports whether there are more than so many queues, exchanges and bindings.
func (r Reader) HasMore(most int) bool {
	return len(r.v.ordered) > most || r.v.topo.HasMore(most-len(r.v.ordered))
}

// SnapshotSome copies up to most queues, exchanges and bindings more, and reports whether there are others.
func (r Reader) SnapshotSome(to *Snapshotter, most int) (more bool) {
	if to.made == nil || to.version != r.ConfigVersion() && to.again < snapshotsAgain {
		*to = Snapshotter{made: &Snapshot{VHost: r.v.name, Rules: r.Rules()}, version: r.ConfigVersion(), again: to.again + 1}
		for x := range r.v.topo.Exchanges() {
			to.names = append(to.names, x.Name)
		}
	}
	if more, most = r.copyQueues(to, most); more {
		return true
	}
	to.bindings = append(to.bindings, nil)
	for to.next < len(to.names) {
		if most <= 0 {
			return true
		}
		most -= r.copyExchange(to, most)
	}
	return false
}

// copyQueues copies queues, and tells how many more things may be copied.
func (r Reader) copyQueues(to *Snapshotter, most int) (more bool, left int) {
	first, _ := slices.BinarySearchFunc(r.v.ordered, to.after+1, byNumber)
	portion := make([]SnapshotQueue, 0, min(most, len(r.v.ordered)-first))
	defer func() { to.queues = append(to.queues, portion) }()
	for _, q := range r.v.ordered[first:] {
		if q.deleted || q.schedule != nil {
			continue
		}
		if most--; most < 0 {
			return true, 0
		}
		to.after = q.id
		m, set := q.messages, q.settings
		counted, bytes := q.counted(queue.Held), q.countedBytes(queue.Held)
		portion = append(portion, SnapshotQueue{
			Object: q.object, Settings: *set, Policy: q.policy, OperatorPolicy: q.operator,
			Ready: m.Ready(), Unacked: m.Unacked(), Waiting: m.Count(queue.Waiting), Held: m.Count(queue.Held),
			Bytes: bytes + m.Bytes(queue.Unacked), Consumers: q.consumers.Len(),
			Full:    set.MaxLength >= 0 && int64(counted) >= set.MaxLength || set.MaxLengthBytes >= 0 && bytes >= set.MaxLengthBytes,
			Refuses: q.refusesBytes(1, true),
		})
	}
	return false, most
}

// copyExchange copies an exchange, if it has not yet, and bindings of it, and tells how many things that were.
func (r Reader) copyExchange(to *Snapshotter, most int) (n int) {
	x := r.v.topo.Exchange(to.names[to.next])
	if x == nil {
		to.next++
		return 1
	}
	if to.skip == 0 {
		copied := SnapshotExchange{
			Name: x.Name, Type: x.Type(), Kind: x.Kind, Delayed: x.Delayed, Durable: x.Durable, AutoDelete: x.AutoDelete,
			Internal: x.Internal, Alternate: x.Alternate,
		}
		if q := r.v.schedules[x.Name]; q != nil {
			copied.Scheduled = q.waiting()
		}
		to.made.Exchanges = append(to.made.Exchanges, copied)
	}
	i, portion := 0, &to.bindings[len(to.bindings)-1]
	for b := range r.v.topo.BindingsFrom(x.Name) {
		if i++; i <= to.skip {
			continue
		}
		if n++; n > most {
			to.skip = i - 1
			return n
		}
		*portion = append(*portion, b)
	}
	to.next, to.skip = to.next+1, 0
	return n + 1
}

// Snapshot completes the snapshot. It takes time, and is not for the goroutine that runs the vhost.
func (to *Snapshotter) Snapshot() *Snapshot {
	s := to.made
	s.Queues, s.Bindings = slices.Concat(to.queues...), slices.Concat(to.bindings...)
	slices.SortFunc(s.Queues, func(a, b SnapshotQueue) int { return strings.Compare(a.Name, b.Name) })
	return s
}
