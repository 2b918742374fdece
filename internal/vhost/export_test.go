package vhost

import "github.com/bartleby-mq/bartleby/internal/vhost/fact"

// What tests of other packages need of the machine's own: package lint says what a machine would do, and its tests,
// which stand here as vhost_test, have a machine do it.

// A Play is a machine to which lines are played, as scenarios have them.
type Play struct{ sc *scenario }

// NewPlay is a play with a new machine.
func NewPlay() *Play {
	return &Play{&scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}}
}

// Given plays lines of which none may be refused, as one batch.
func (p *Play) Given(lines ...string) error { return p.sc.block(append([]string{"given"}, lines...)) }

// Lines plays lines of which some may be refused.
func (p *Play) Lines(lines ...string) error { return p.sc.block(lines) }

// Unaudited plays one line without a look at the whole machine after it: for very many.
func (p *Play) Unaudited(line string) error { return p.sc.line(line) }

// End ends a batch of Unaudited lines and tells what they led to.
func (p *Play) End() string {
	p.sc.end("")
	return p.sc.out.String()
}

// Reader shows the machine.
func (p *Play) Reader() Reader { return p.sc.world.v.Reader() }
