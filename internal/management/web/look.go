package web

import (
	"context"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Look runs fn on the live state of a virtual host; it must be short, and keep no more than copies. On return it has
// ended, or will never begin: who stops waiting for a virtual host that hangs may go on with what fn would have written
// to.
func Look(ctx context.Context, e *engine.Engine, name string, fn func(vhost.Reader)) error {
	var taken atomic.Bool // by fn, or by who does not want it any more
	ended := make(chan struct{})
	err := e.QueryUnsafe(ctx, name, func(v vhost.Reader) {
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
