package vhost

import (
	"weak"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// A Reader is a machine for reading: what it shows are copies, and who has no more than a Reader decides nothing. The
// rules for the owner of the machine hold for its readers: one goroutine at a time. Tables and slices of arguments are
// shared: do not change them.
type Reader struct{ v *VHost }

// Reader is the machine for reading.
func (v *VHost) Reader() Reader { return Reader{v} }

// keepDraws returns a function that sets back how often the machine has drawn: after a question that routes messages,
// what is left to chance falls as if nobody had asked.
func (r Reader) keepDraws() (setBack func()) {
	v, drawn := r.v, r.v.draws
	return func() { v.draws = drawn }
}

// Topology shows the exchanges and bindings.
func (r Reader) Topology() topology.View { return r.v.topo.View() }

// An Identity tells a machine from others, of the same vhost too: one that was opened anew is another. It keeps none in
// memory.
type Identity struct{ of weak.Pointer[VHost] }

// Identity is that of the machine.
func (r Reader) Identity() Identity { return Identity{weak.Make(r.v)} }

// Due is VHost.Due.
func (r Reader) Due() (at deadline.Instant, ok bool) { return r.v.Due() }

// Name is the vhost's name.
func (r Reader) Name() string { return r.v.name }
