package management

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) clockEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{Pattern: "GET x/clock", Tag: authz.Monitoring, Serve: s.getClock, Summary: "The clocks of the node", Out: api.Clock{}},
		{
			Pattern: "POST x/clock/advance", Tag: authz.Administrator, Serve: s.advanceClock,
			Summary: "Moves the clock of a broker that was started with a test clock",
			In:      api.ClockAdvance{}, Out: api.Clock{},
		},
		{
			Pattern: "POST x/clock/resync", Tag: authz.Administrator, Serve: s.resyncClock,
			Summary: "Resynchronises virtual hosts that are ahead of the machine's clock", Out: api.Clock{},
		},
	}
}

// clock shows what the clocks of the node are at.
func (s *Server) clock() api.Clock {
	t := s.Engine.Time()
	c := api.Clock{
		Now: t.Wall.Add(t.Behind()).UnixMilli(), Wall: t.Wall.UnixMilli(), BehindMS: t.Behind().Milliseconds(), Alarm: t.Alarm(), TestClock: t.Test,
	}
	for _, v := range t.VHosts {
		c.VHosts = append(c.VHosts, api.VHostClock{Name: v.VHost, Now: v.Now.UnixMilli(), BehindMS: v.Behind.Milliseconds(), Resyncing: v.Resyncing})
	}
	return c
}

func (s *Server) getClock(r *web.Request) (web.Answer, error) { return web.OK(s.clock()) }

// resyncClock has the virtual hosts that are ahead of the wall clock wait for it.
func (s *Server) resyncClock(r *web.Request) (web.Answer, error) {
	r.Engine.Resync()
	return web.OK(s.clock())
}

// advanceClock moves the clock of a broker that was started with a test clock.
func (s *Server) advanceClock(r *web.Request) (web.Answer, error) {
	var body struct {
		MS *api.Integer `json:"ms"`
	}
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("ms", body.MS != nil)); err != nil {
		return web.Answer{}, err
	}
	if *body.MS < 0 || int64(*body.MS) > int64(advanceMax/time.Millisecond) {
		return web.Answer{}, web.BadRequest("ms must be from 0 to %d", int64(advanceMax/time.Millisecond))
	}
	err := r.Engine.Advance(r.Context(), time.Duration(*body.MS)*time.Millisecond)
	if errors.Is(err, engine.ErrClock) {
		return web.Answer{}, web.BadRequest("the clock can only be moved if the broker was started with a test clock")
	}
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(s.clock())
}
