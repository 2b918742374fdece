package topology

import "github.com/bartleby-mq/bartleby/internal/amqp"

// random chooses one binding by chance, whatever the keys. A destination bound twice is chosen twice as often.
// Source: RabbitMQ random exchange, local random exchange.
type random struct{ x *Exchange }

func newRandom(x *Exchange) matcher { return random{x} }

func (random) add(*binding)           {}
func (random) remove(bindingList) int { return 0 }

func (r random) match(w *walk) {
	if n := len(r.x.out); n > 0 {
		w.reach(r.x.out[w.draw(n)])
	}
}

// checkLocalBinding refuses what a local random exchange has no use for. That it takes classic queues alone is for the
// owner to check, which knows the types of queues.
// Source: RabbitMQ local random exchange.
func checkLocalBinding(b Binding) error {
	switch {
	case b.RoutingKey != "":
		return amqp.PreconditionFailed("Non empty binding '%s' key not permitted", b.RoutingKey)
	case !b.ToQueue:
		return amqp.PreconditionFailed("Destination not found")
	}
	return nil
}
