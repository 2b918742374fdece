package management

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// getPaths tells where a message of a queue goes, whatever happens to it.
func getPaths(r *request) (answer, error) {
	var shown *api.Paths
	err := r.survey(func(s *vhost.Survey) {
		if paths, found := s.Paths(r.names[1]); found {
			shown = showPaths(s, r.names[1], paths)
		}
	})
	switch {
	case err != nil:
		return answer{}, err
	case shown == nil:
		return answer{}, errNotFound
	}
	return ok(shown)
}

// showPaths shows paths, and what is wrong on the way.
func showPaths(s *vhost.Survey, queue string, paths []vhost.Path) *api.Paths {
	shown := &api.Paths{VHost: s.VHost, Queue: queue}
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
		onTheWay := f.Kind == toQueue && slices.Contains(queues, f.Name) || f.Kind == toExchange && slices.Contains(exchanges, f.Name)
		if onTheWay && len(shown.Findings) < findingsUsual {
			shown.Findings = append(shown.Findings, showFinding(s.VHost, &f))
		}
	}
	return shown
}

func showStep(number int, s *vhost.Step) api.PathStep {
	shown := api.PathStep{
		Number: number, After: s.After, Queue: s.Queue, Reason: s.Reason, Keys: s.Keys, OwnKeys: s.OwnKeys, Queues: s.Queues, Sure: s.Sure,
		Code: s.Code, Guarantee: string(s.Guarantee), Loop: s.Loop, DeadEnd: s.DeadEnd, Full: s.Full, Text: s.Text(), Params: showParams(s.Params),
	}
	if s.HasExchange {
		shown.Exchange = &s.Exchange
	}
	return shown
}
