package management

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func pathEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/paths/{vhost}/{queue}", Tag: authz.Management, Serve: getPaths, Slow: true, Scope: web.Leader,
			Summary: "Paths of a message of a queue for each event, with guarantees", Out: api.Paths{},
		},
	}
}

// getPaths tells where a message of a queue goes, whatever happens to it.
func getPaths(r *web.Request) (web.Answer, error) {
	var shown *api.Paths
	err := analyze(r, func(s *lint.Analysis) {
		if paths, found := s.Paths(r.PathValue("queue")); found {
			shown = showPaths(s, r.PathValue("queue"), paths)
		}
	})
	switch {
	case err != nil:
		return web.Answer{}, err
	case shown == nil:
		return web.Answer{}, web.ErrNotFound
	}
	return web.OK(shown)
}

// showPaths shows paths, and what is wrong on the way.
func showPaths(s *lint.Analysis, queue string, paths []lint.Path) *api.Paths {
	shown := &api.Paths{VHost: s.VHost, Queue: queue, Role: s.Role(queue).String()}
	var queues, exchanges []string
	for i := range paths {
		p := &paths[i]
		path := api.EventPath{Event: p.Event, Happens: p.Happens, Code: p.Code, When: p.When(), Params: showParams(p.Params)}
		for k := range p.Steps {
			step := &p.Steps[k]
			path.Steps = append(path.Steps, showStep(k+1, step))
			queues = append(queues, step.Queue)
			if step.HasExchange {
				exchanges = append(exchanges, step.Exchange)
			}
		}
		shown.Paths = append(shown.Paths, path)
	}
	for _, f := range s.Findings() {
		onTheWay := f.Kind == resources.ToQueue && slices.Contains(queues, f.Name) || f.Kind == resources.ToExchange && slices.Contains(exchanges, f.Name)
		if onTheWay && len(shown.Findings) < findingsUsual {
			shown.Findings = append(shown.Findings, showFinding(s.VHost, &f))
		}
	}
	return shown
}

func showStep(number int, s *lint.Step) api.PathStep {
	shown := api.PathStep{
		Number: number, After: s.After, Queue: s.Queue, Reason: s.Reason, Keys: s.Keys, OwnKeys: s.OwnKeys, Queues: s.Queues, Sure: s.Sure,
		Code: s.Code, Guarantee: string(s.Guarantee), Loop: s.Loop, DeadEnd: s.DeadEnd, Full: s.Full, Text: s.Text(), Params: showParams(s.Params),
	}
	if s.HasExchange {
		shown.Exchange = &s.Exchange
	}
	return shown
}
