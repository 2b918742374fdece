package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// An orphan is an auto-delete exchange that has lost its last binding. It is deleted, which may orphan the exchanges
// that are bound to it. A step deletes as many as it has space for, ticks delete the rest:
//
//	QueueDeleted  ExchangeDeleted …  Orphaned 1    ExchangeDeleted …    ExchangeDeleted …  Orphaned 0
//	 └─────────────── one batch ────────────┘
//
// The fact Orphaned says that some are left of what this batch has orphaned. So a restart, which finds them by applying
// the same facts, goes on. A checkpoint names them. Source: ours, decision 18; RabbitMQ auto-delete exchanges.
type orphans struct {
	list []*topology.Exchange // in the order of deletion; some may be gone, or bound again
	left bool                 // of earlier steps: something ongoing goes on with them
	made int                  // by this step
}

// unbound applies what went with bindings.
func (v *VHost) unbound(gone topology.Removed) {
	v.work += len(gone.Bindings)*workOfBinding + v.topo.Moved()/movedPerByte
	for i := range gone.Bindings {
		v.extra -= extraOf(gone.Bindings[i].Arguments)
	}
	for _, name := range gone.Orphans {
		v.orphans.made++
		v.orphans.list = append(v.orphans.list, v.topo.Exchange(name))
	}
}

// deleteOrphans deletes what a command of a connection has orphaned, and then calls then, at once or in a later step.
// The next command of the connection waits until then.
func (s *step) deleteOrphans(n *conn, then func(s *step)) {
	if s.orphans.made == 0 || !s.deleteSomeOrphans() {
		then(s)
		return
	}
	s.leaveRest(ongoing{conn: n, portion: func(s *step) bool {
		if s.deleteSomeOrphans() {
			return true
		}
		then(s)
		return false
	}})
}

// deleteOrphansLater is deleteOrphans where nobody waits for the end.
func (s *step) deleteOrphansLater() {
	goesOn := s.orphans.left
	if s.orphans.made > 0 && s.deleteSomeOrphans() && !goesOn {
		s.leaveRest(ongoing{conn: &conn{}, portion: (*step).deleteSomeOrphans})
	}
}

// isOrphan reports whether x is still there, and has not been bound again.
func (v *VHost) isOrphan(x *topology.Exchange) bool {
	return v.isThere(x) && !v.topo.HasBindingsFrom(x.Name)
}

// deleteSomeOrphans deletes a portion of the orphans, and reports whether there are more.
func (s *step) deleteSomeOrphans() (more bool) {
	o := &s.orphans
	for len(o.list) > 0 {
		if s.full() {
			if !o.left {
				s.emit(&fact.Fact{Kind: fact.Orphaned, Durable: true, N: 1, Object: &fact.Object{}})
			}
			return true
		}
		x := o.list[0]
		o.list = o.list[1:]
		if s.work += workOfEnd; s.isOrphan(x) {
			s.deleteExchange(x)
		}
	}
	if o.list = nil; o.left {
		s.emit(&fact.Fact{Kind: fact.Orphaned, Durable: true, Object: &fact.Object{}})
	}
	return false
}

// resumeOrphans goes on after a restart.
func (s *step) resumeOrphans() {
	if s.orphans.left {
		s.inPortions(ongoing{conn: &conn{}, portion: (*step).deleteSomeOrphans})
	}
}

// orphaned applies Orphaned.
func (v *VHost) orphaned(f *fact.Fact) {
	o := &v.orphans
	if x := v.topo.Exchange(f.Object.Name); x != nil && x.Name != "" {
		o.list = append(o.list, x)
	}
	if o.left = f.N == 1; !o.left {
		o.list = nil
	}
}

// forgetOrphans ends a batch that is applied: without Orphaned, what it has orphaned was deleted in it, or has bindings
// that are not in the log.
func (v *VHost) forgetOrphans() {
	if !v.orphans.left {
		v.orphans.list = nil
	}
}

// HasOrphans reports whether exchanges that earlier steps have orphaned are still there. A checkpoint names each of
// them.
func (v *VHost) HasOrphans() bool { return v.orphans.left }

// appendOrphans lists the orphans of earlier steps for a checkpoint.
func (v *VHost) appendOrphans(b []byte) []byte {
	for _, x := range v.orphans.list {
		if x.Durable && v.isOrphan(x) {
			b = fact.Append(b, &fact.Fact{Kind: fact.Orphaned, N: 1, Object: &fact.Object{Name: x.Name}}, 0)
		}
	}
	return b
}
