package stats

import (
	"cmp"
	"context"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// flowOf are the figures of an exchange. How much of it went to queues is counted by the queues.
func flowOf(n *vhost.ExchangeStats) (f figures) {
	f[AtPublished], f[atConfirmed], f[atReturned], f[atDropped] = n.Published, n.Confirmed, n.Returned, n.Dropped
	return f
}

// ShowExchangeStats renders what came to an exchange and what went on from it. Source: RabbitMQ management API,
// publish_in, publish_out.
func ShowExchangeStats(in, out uint64, t *Trend) api.MessageStats {
	return api.MessageStats{
		PublishIn: api.Counter{Total: in, Rate: t.Of(AtPublished)}, PublishOut: api.Counter{Total: out, Rate: t.Of(atRouted)},
	}
}

// EachInflow visits what queues got by way of exchanges since the virtual host was opened, in portions of queues.
func EachInflow(ctx context.Context, e *engine.Engine, vhostName string, queues []string, visit func(queue, exchange string, n uint64)) error {
	for portion := range slices.Chunk(queues, ViewsMax) {
		err := web.Look(ctx, e, vhostName, func(v vhost.Reader) {
			for _, queue := range portion {
				v.Inflows(queue, func(exchange string, n uint64) { visit(queue, exchange, n) })
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// IncomingOf counts the messages of a queue by exchange.
func IncomingOf(v vhost.Reader, h *accounts.VHost, queue string) (all api.List[api.Inflow]) {
	v.Inflows(queue, func(exchange string, n uint64) {
		all = append(all, api.Inflow{Exchange: api.Name{Name: exchange, VHost: h.Name}, Stats: api.MessageStats{Publish: api.Counter{Total: n}}})
	})
	slices.SortFunc(all, func(a, b api.Inflow) int { return cmp.Compare(a.Exchange.Name, b.Exchange.Name) })
	return all
}
