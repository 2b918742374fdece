package management

import (
	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
)

func showGlobal(g *access.GlobalParameter) api.GlobalParameter {
	return api.GlobalParameter{Name: g.Name, Value: g.Value}
}

func getGlobalParameters(r *request) (answer, error) {
	var all []api.GlobalParameter
	for _, g := range r.view.GlobalParameters() {
		all = append(all, showGlobal(g))
	}
	return list(r, all, func(g *api.GlobalParameter) string { return g.Name })
}

func getGlobalParameter(r *request) (answer, error) {
	g, found := r.view.GlobalParameter(r.names[0])
	if !found {
		return answer{}, errNotFound
	}
	return ok(showGlobal(g))
}

func putGlobalParameter(r *request) (answer, error) {
	var body api.PutParameter
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"value", body.Value != nil}); err != nil {
		return answer{}, err
	}
	created, err := r.change(access.Command{Kind: access.SetGlobalParameter, Name: r.names[0], Value: body.Value})
	if err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

func deleteGlobalParameter(r *request) (answer, error) {
	if _, err := r.change(access.Command{Kind: access.ClearGlobalParameter, Name: r.names[0]}); err != nil {
		return answer{}, err
	}
	return nothing()
}

// The components under which RabbitMQ keeps what has endpoints of its own here.
const (
	operatorComponent = "operator_policy"
	limitsComponent   = "vhost-limits"
	optionsComponent  = "bartleby-options" // ours
)

// parameters lists what RabbitMQ shows as runtime parameters: operator policies and limits of virtual hosts; their
// options with them. No plug-in that would have further ones is there.
func (r *request) parameters(shown []*access.VHost) ([]api.Parameter, error) {
	var all []api.Parameter
	for _, h := range shown {
		if len(h.Limits) > 0 {
			value, err := encode(showLimits(h.Limits))
			if err != nil {
				return nil, err
			}
			all = append(all, api.Parameter{VHost: h.Name, Component: limitsComponent, Name: "limits", Value: value})
		}
		options, err := r.optionsOf(h, false)
		if err != nil {
			return nil, err
		}
		if len(options) > 0 {
			value, err := encode(options)
			if err != nil {
				return nil, err
			}
			all = append(all, api.Parameter{VHost: h.Name, Component: optionsComponent, Name: "options", Value: value})
		}
		policies, err := r.policiesOf(h, true)
		if err != nil {
			return nil, err
		}
		for _, p := range policies {
			value, err := encode(struct {
				Pattern    string        `json:"pattern"`
				ApplyTo    string        `json:"apply-to"`
				Definition api.Arguments `json:"definition"`
				Priority   int64         `json:"priority"`
			}{p.Pattern, p.ApplyTo, p.Definition, p.Priority})
			if err != nil {
				return nil, err
			}
			all = append(all, api.Parameter{VHost: h.Name, Component: operatorComponent, Name: p.Name, Value: value})
		}
	}
	return all, nil
}

// getParameters lists all, those of a component, or those of a component in one virtual host.
func getParameters(r *request) (answer, error) {
	var within []string
	if len(r.names) > 1 {
		within = r.names[1:2]
	}
	shown, err := r.shown(within...)
	if err != nil {
		return answer{}, err
	}
	parameters, err := r.parameters(shown)
	if err != nil {
		return answer{}, err
	}
	var all []api.Parameter
	for _, p := range parameters {
		if len(r.names) == 0 || p.Component == r.names[0] {
			all = append(all, p)
		}
	}
	return list(r, all, func(p *api.Parameter) string { return p.Name })
}

func getParameter(r *request) (answer, error) {
	h, err := r.vhost(r.names[1])
	if err != nil {
		return answer{}, err
	}
	parameters, err := r.parameters([]*access.VHost{h})
	if err != nil {
		return answer{}, err
	}
	for _, p := range parameters {
		if p.Component == r.names[0] && p.Name == r.names[2] {
			return ok(p)
		}
	}
	return answer{}, errNotFound
}

// putParameter refuses: what can be set has an endpoint of its own. Source: RabbitMQ runtime parameters.
func putParameter(r *request) (answer, error) {
	if _, err := r.vhost(r.names[1]); err != nil {
		return answer{}, err
	}
	switch r.names[0] {
	case operatorComponent:
		return answer{}, badRequest("operator policies are set with /api/operator-policies")
	case limitsComponent:
		return answer{}, badRequest("limits of virtual hosts are set with /api/vhost-limits")
	case optionsComponent:
		return answer{}, badRequest("options of virtual hosts are set with /api/x/options")
	}
	return answer{}, badRequest("Validation failed\n\ncomponent %s not found\n", r.names[0])
}
