package topology

import "github.com/bartleby-mq/bartleby/internal/amqp"

// recentHistory matches like a fanout exchange, and leaves word that it was come by: its owner keeps the message for
// bindings to come.
// Source: RabbitMQ recent history exchange.
type recentHistory struct{ fanout }

func newRecentHistory(x *Exchange) matcher { return recentHistory{fanout{x}} }

func (r recentHistory) match(w *walk) {
	w.byKeys = false
	w.recent = append(w.recent, r.x)
	r.fanout.match(w)
}

// The length of a recent history: the argument, and what it is without.
const (
	recentLength     = "x-recent-history-length"
	recentLengthNone = 20
)

// RecentMax bounds a recent history, whatever its length is declared as: a binding is given all of it at once.
const RecentMax = 4096

// RecentLength is how many messages x, an exchange of kind RecentHistory, keeps: RecentMax at the most.
func (x *Exchange) RecentLength() int64 {
	if a, ok := x.Arguments.Get(recentLength); ok {
		n, _ := a.Integer()
		return min(n, RecentMax)
	}
	return recentLengthNone
}

func checkRecentHistory(x Exchange) error {
	a, ok := x.Arguments.Get(recentLength)
	if !ok {
		return nil
	}
	if n, ok := a.Integer(); !ok || n <= 0 {
		return amqp.PreconditionFailed("Invalid argument, '%s' must be a positive integer", recentLength)
	}
	return nil
}
