package sim

import "github.com/bartleby-mq/bartleby/internal/sim/ledger"

// overgrownMax is how many ready messages a queue has before its publishers should wait for its consumers.
const overgrownMax = 4

// isOvergrown reports whether q has consumers, and more messages than these should have to wait for.
func (w *world) isOvergrown(q *ledger.Line) bool {
	if q.Kept != nil || q.Ready() <= overgrownMax {
		return false
	}
	for _, ch := range w.Channels {
		for _, x := range ch.Consumers {
			if x.Queue == q.Name {
				return true
			}
		}
	}
	return false
}

// checkPaced compares the queue that a publisher should wait for with what the machine says. What a tick publishes
// holds nobody back.
func (w *world) checkPaced(st *step) {
	got := w.vhost.Overgrown()
	if st.portions > 1 || !st.publishes() || st.partial() || st.refused != nil || w.violation != nil {
		return
	}
	if got != st.overgrown {
		w.violate(Paced, "the publisher should wait for queue %d, expected %d", got, st.overgrown)
	}
	if got != 0 {
		w.result.Paced++
	}
}
