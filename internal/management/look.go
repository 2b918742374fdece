package management

import (
	"context"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// look runs fn on the live state of a virtual host; it must be short, and keep no more than copies. On return it has ended, or
// will never begin: who stops waiting for a virtual host that hangs may go on with what fn would have written to.
func look(ctx context.Context, e *engine.Engine, name string, fn func(*vhost.VHost)) error {
	var taken atomic.Bool // by fn, or by who does not want it any more
	ended := make(chan struct{})
	err := e.Glance(ctx, name, func(v *vhost.VHost) {
		if taken.CompareAndSwap(false, true) {
			defer close(ended)
			fn(v)
		}
	})
	if err != nil && !taken.CompareAndSwap(false, true) {
		<-ended
	}
	return err
}
