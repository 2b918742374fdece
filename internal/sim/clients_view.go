package sim

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// world is what clients see of their broker: clients.View.

// Topology implements it.
func (w *world) Topology() *topology.Topology { return w.vhost.Topology() }

// Busy implements it.
func (w *world) Busy(id fact.ConnID) bool { return w.vhost.Busy(id) }

// Ledger implements it.
func (w *world) Ledger() *ledger.Ledger { return w.live }

// Wall implements it.
func (w *world) Wall() deadline.Instant { return w.stamp().Wall }

// Step implements it.
func (w *world) Step() int { return w.step }
