package search

import (
	"context"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// An Index finds letters.
type Index struct {
	options Options
}

// Open begins to keep an index. It does not fail: one that cannot be read is deleted and made anew, and where none can be
// kept the log says so and questions are answered by scans.
func Open(o Options) *Index {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	return &Index{options: o}
}

// Close ends what Open began. Questions that come later are answered by scans.
func (x *Index) Close() error { return nil }

// Search visits a portion of the letters that pass the filter. Each is as it is in the machine at this moment.
func (x *Index) Search(ctx context.Context, q Query, visit Visit) (Answer, error) {
	if q.Limit <= 0 {
		q.Limit = LimitUsual
	}
	q.Limit = min(q.Limit, LimitMax)
	return x.scanLetters(ctx, &q, visit)
}

// Groups counts letters by what they have in common.
func (x *Index) Groups(ctx context.Context, q GroupQuery) (Groups, error) {
	if q.Most <= 0 {
		q.Most = GroupsUsual
	}
	q.Most = min(q.Most, GroupsMax)
	return x.scanGroups(ctx, &q)
}

// Rebuild forgets what is known of a virtual host, which is read anew.
func (x *Index) Rebuild(name string) error {
	return ErrOff
}

// look runs fn in the loop of a virtual host. On return it has ended, or will never begin: fn may write to what the caller
// goes on with, and what it has seen is safe.
func (x *Index) look(ctx context.Context, name string, fn func(*vhost.VHost)) error {
	var taken atomic.Bool // by fn, or by who does not want it any more
	ended := make(chan struct{})
	err := x.options.Broker.Look(ctx, name, func(v *vhost.VHost) {
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
