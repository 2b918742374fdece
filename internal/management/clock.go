package management

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// advanceClock moves the clock of a broker that was started with a test clock.
func advanceClock(r *request) (answer, error) {
	var body struct {
		MS *api.Integer `json:"ms"`
	}
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"ms", body.MS != nil}); err != nil {
		return answer{}, err
	}
	if *body.MS < 0 || int64(*body.MS) > int64(advanceMax/time.Millisecond) {
		return answer{}, badRequest("ms must be from 0 to %d", int64(advanceMax/time.Millisecond))
	}
	err := r.server.engine.Advance(r.Context(), time.Duration(*body.MS)*time.Millisecond)
	if errors.Is(err, engine.ErrClock) {
		return answer{}, badRequest("the clock moves by itself: start the broker with a test clock to move it")
	}
	if err != nil {
		return answer{}, err
	}
	return ok(api.Clock{Now: r.server.engine.Now().UnixMilli()})
}
