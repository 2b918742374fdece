package management

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// clock shows what the clocks of the node are at.
func (s *Server) clock() api.Clock {
	t := s.engine.Time()
	c := api.Clock{
		Now: t.Wall.Add(t.Behind()).UnixMilli(), Wall: t.Wall.UnixMilli(), BehindMS: t.Behind().Milliseconds(), Alarm: t.Alarm(), TestClock: t.Test,
	}
	for _, v := range t.VHosts {
		c.VHosts = append(c.VHosts, api.VHostClock{Name: v.VHost, Now: v.Now.UnixMilli(), BehindMS: v.Behind.Milliseconds(), Resyncing: v.Resyncing})
	}
	return c
}

func getClock(r *request) (answer, error) { return ok(r.server.clock()) }

// resyncClock has the virtual hosts that are ahead of the wall clock wait for it.
func resyncClock(r *request) (answer, error) {
	r.server.engine.Resync()
	return ok(r.server.clock())
}

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
		return answer{}, badRequest("the clock can only be moved if the broker was started with a test clock")
	}
	if err != nil {
		return answer{}, err
	}
	return ok(r.server.clock())
}

func (s *Server) clockMetrics(x *exposition) {
	t := s.engine.Time()
	one(x, "bartleby_clock_behind_seconds", gauge, "Time by which the wall clock is behind the virtual host that is furthest ahead", t.Behind().Seconds())
	one(x, "bartleby_clock_alarm", gauge, "Is 1 while the wall clock is so far behind that a resync is needed; does not block publishers", flag(t.Alarm()))
}
