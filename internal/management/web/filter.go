package web

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/filter"
)

// ParseFilter reads the text of a filter, which the caller may ask. It also refuses words that were meant as a field.
func (r *Request) ParseFilter(text string) (*filter.Filter, error) {
	f, err := filter.Parse(text, r.Engine.Now().UnixMilli())
	if err == nil {
		err = filter.Mistake(text)
	}
	if err != nil {
		return nil, BadRequest("%v", err)
	}
	return f, r.Caller.Filter(f)
}

// Rest lets others have a virtual host for twice as long as it was looked at, and longer while messages flow.
func (r *Request) Rest(took time.Duration) error {
	r.turn.Leave()
	if r.Share.Flows() {
		return r.Task.Rest(r.Context())
	}
	pause := time.NewTimer(2 * took)
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}
