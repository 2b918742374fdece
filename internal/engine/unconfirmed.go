package engine

import (
	"context"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Unconfirmed counts the messages on each channel of a vhost that are decided and not safe yet, so that their
// publishers still wait for confirms. Channels without any are missing. Source: RabbitMQ management API,
// messages_unconfirmed.
func (e *Engine) Unconfirmed(ctx context.Context, name string) (map[vhost.ChannelID]int, error) {
	r, err := e.runnerOf(name)
	if err != nil {
		return nil, err
	}
	found := make(chan map[vhost.ChannelID]int, 1)
	done := make(chan error, 1)
	r.put(request{done: done, glance: true, look: func(*vhost.VHost) { // now the runner is ours
		all := map[vhost.ChannelID]int{}
		for _, box := range r.held {
			for i := box.first; i < len(box.held); i++ {
				if k := box.held[i].Kind; k == vhost.Confirm || k == vhost.Refuse {
					all[box.channel]++
				}
			}
		}
		found <- all
	}})
	if err := r.await(ctx, done); err != nil {
		return nil, err
	}
	return <-found, nil
}
