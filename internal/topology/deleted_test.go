package topology

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// If this fails, the bindings of deleted exchanges stay in memory for as long as their owner keeps
// the exchanges: a client that binds and deletes again and again sets the memory alarm.
func TestDeletedExchangesKeepNoBindings(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		topo := New()
		topo.AddQueue("q", 1)
		k, ok := ParseKind(kind.Name)
		if !ok {
			continue
		}
		x, other := topo.Declare(Exchange{Name: "x", Kind: k}), topo.Declare(Exchange{Name: "other", Kind: Fanout})
		for i := range 100 {
			arguments := amqp.Table{{Name: "h", Value: amqp.Int64(int64(i))}}
			for _, b := range []Binding{
				{Source: "x", Destination: "q", ToQueue: true, RoutingKey: fmt.Sprint(i + 1), Arguments: arguments},
				{Source: "x", Destination: "other", RoutingKey: fmt.Sprint(i + 1), Arguments: arguments},
				{Source: "other", Destination: "x", RoutingKey: fmt.Sprint(i + 1)},
			} {
				topo.Bind(b)
			}
		}
		topo.DeleteExchange("x")
		if len(x.out)+len(x.in)+len(x.ids) > 0 || x.matcher != (nowhere{}) {
			t.Errorf("%s: a deleted exchange keeps %d, %d bindings", kind.Name, len(x.out), len(x.in))
		}
		if len(other.out)+len(other.in) > 0 {
			t.Errorf("%s: another exchange keeps %d, %d bindings with it", kind.Name, len(other.out), len(other.in))
		}
	}
}
