package management

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func showGlobal(g *access.GlobalParameter) api.GlobalParameter {
	return api.GlobalParameter{Name: g.Name, Value: g.Value}
}

func getGlobalParameters(r *request) (answer, error) {
	var all []api.GlobalParameter
	for _, g := range r.view.GlobalParameters() {
		if r.seesGlobal(g) {
			all = append(all, showGlobal(g))
		}
	}
	return list(r, all, func(g *api.GlobalParameter) string { return g.Name })
}

// seesGlobal reports whether the caller may see a global parameter: a note on letters of a virtual host tells what is in them.
func (r *request) seesGlobal(g *access.GlobalParameter) bool {
	n, isNote := readNote(g)
	return !isNote || r.caller.SeeNotes(n.VHost) && r.maySeeNote(&n) == nil
}

// mayChangeGlobal refuses to change, as a global parameter, what the broker keeps there for itself: notes, which have an endpoint and
// an owner.
func (r *request) mayChangeGlobal(name string) error {
	return r.caller.GlobalParameter(strings.HasPrefix(name, ownPrefix))
}

func getGlobalParameter(r *request) (answer, error) {
	g, found := r.view.GlobalParameter(r.names[0])
	if !found || !r.seesGlobal(g) {
		return answer{}, errNotFound
	}
	return ok(showGlobal(g))
}

func putGlobalParameter(r *request) (answer, error) {
	if err := r.mayChangeGlobal(r.names[0]); err != nil {
		return answer{}, err
	}
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
	if err := r.mayChangeGlobal(r.names[0]); err != nil {
		return answer{}, err
	}
	if _, err := r.change(access.Command{Kind: access.ClearGlobalParameter, Name: r.names[0]}); err != nil {
		return answer{}, err
	}
	return nothing()
}

// The components under which RabbitMQ keeps what has endpoints of its own here.
const (
	operatorComponent = "operator_policy"
	policyComponent   = "policy" // listed only where it is asked for
	limitsComponent   = "vhost-limits"
	optionsComponent  = "bartleby-options" // ours

	// Of these two there is one in a virtual host, under this name.
	limitsName, optionsName = "limits", "options"
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
			all = append(all, api.Parameter{VHost: h.Name, Component: limitsComponent, Name: limitsName, Value: value})
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
			all = append(all, api.Parameter{VHost: h.Name, Component: optionsComponent, Name: optionsName, Value: value})
		}
		policies, err := r.policiesAsParameters(h, operatorComponent, true)
		if err != nil {
			return nil, err
		}
		all = append(all, policies...)
	}
	return all, nil
}

// policiesAsParameters shows the policies of one kind as what RabbitMQ keeps them as.
func (r *request) policiesAsParameters(h *access.VHost, component string, operator bool) (all []api.Parameter, err error) {
	policies, err := r.policiesOf(h, operator)
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
		all = append(all, api.Parameter{VHost: h.Name, Component: component, Name: p.Name, Value: value})
	}
	return all, err
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
	for _, h := range shown {
		if len(r.names) > 0 && r.names[0] == policyComponent {
			some, err := r.policiesAsParameters(h, policyComponent, false)
			if err != nil {
				return answer{}, err
			}
			all = append(all, some...)
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
	if r.names[0] == policyComponent {
		if parameters, err = r.policiesAsParameters(h, policyComponent, false); err != nil {
			return answer{}, err
		}
	}
	for _, p := range parameters {
		if p.Component == r.names[0] && p.Name == r.names[2] {
			return ok(p)
		}
	}
	return answer{}, errNotFound
}

// A parameter is what a path of /api/parameters names: its component, virtual host and name.
type parameter struct{ component, vhost, name string }

// putParameter sets what has an endpoint of its own, under the rights that are asked for there; policies cannot be set
// like this, and plug-ins that would have further components are not there.
// Source: RabbitMQ management API, parameters; runtime parameters.
func putParameter(r *request) (answer, error) {
	p, err := r.parameter()
	if err != nil {
		return answer{}, err
	}
	var body api.PutParameter
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"value", body.Value != nil}); err != nil {
		return answer{}, err
	}
	_, err = getParameter(r)
	created := err != nil
	switch {
	case p.component == operatorComponent:
		err = r.setOperatorPolicy(p, body.Value)
	case p.component == limitsComponent && p.name == limitsName:
		err = r.setLimits(p.vhost, body.Value)
	case p.component == optionsComponent && p.name == optionsName:
		var c vhost.Command
		if c, err = replaceOptions(body.Value); err == nil {
			_, err = r.doAs(authz.Broker(), p.vhost, c)
		}
	case p.component == policyComponent:
		err = badRequest("policies may not be set using this method")
	default:
		err = badRequest("Validation failed\n\ncomponent %s not found\n", p.component)
	}
	if err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

// deleteParameter clears what putParameter sets.
func deleteParameter(r *request) (answer, error) {
	p, err := r.parameter()
	if err != nil {
		return answer{}, err
	}
	if _, err := getParameter(r); err != nil {
		return answer{}, err
	}
	switch p.component {
	case policyComponent:
		err = badRequest("policies may not be cleared using this method")
	case operatorComponent:
		_, err = r.doAs(authz.Broker(), p.vhost, vhost.Command{Kind: vhost.ClearPolicy, Policy: &vhost.Policy{Name: p.name, Operator: true}})
	case limitsComponent:
		err = r.setLimits(p.vhost, json.RawMessage("{}"))
	case optionsComponent:
		var c vhost.Command
		if c, err = replaceOptions(json.RawMessage("{}")); err == nil {
			_, err = r.doAs(authz.Broker(), p.vhost, c)
		}
	}
	if err != nil {
		return answer{}, plainly(err)
	}
	return nothing()
}

// parameter reads the path, and makes sure that the caller may change what it names: limits and operator policies are
// for administrators, as they are at their own endpoints.
func (r *request) parameter() (parameter, error) {
	p := parameter{r.names[0], r.names[1], r.names[2]}
	if err := r.enter(p.vhost); err != nil {
		return p, err
	}
	if err := r.caller.Parameter(p.component == operatorComponent || p.component == limitsComponent); err != nil {
		return p, err
	}
	if p.component == operatorComponent && r.server.options.NoOperatorPolicyChanges {
		return p, &methodNotAllowed{allow: "GET, HEAD, OPTIONS"}
	}
	return p, nil
}

func (r *request) setOperatorPolicy(p parameter, value json.RawMessage) error {
	var body api.PutPolicy
	if err := api.Decode(value, &body); err != nil {
		return badRequest("operator policy '%s': %v", p.name, err)
	}
	policy, err := readPolicy(p.name, true, &body)
	if err != nil {
		return err
	}
	_, err = r.doAs(authz.Broker(), p.vhost, vhost.Command{Kind: vhost.SetPolicy, Policy: policy})
	return err
}

// setLimits gives a virtual host these limits and no others.
func (r *request) setLimits(name string, value json.RawMessage) error {
	var limits api.Limits
	if err := api.Decode(value, &limits); err != nil {
		return badRequest("%v", err)
	}
	var commands []access.Command
	for _, limit := range slices.Sorted(maps.Keys(limits)) {
		commands = append(commands, access.Command{Kind: access.SetVHostLimit, VHost: name, Name: limit, Limit: int64(limits[limit])})
	}
	if h, found := r.view.VHost(name); found {
		for _, l := range h.Limits {
			if _, given := limits[l.Name]; !given {
				commands = append(commands, access.Command{Kind: access.ClearVHostLimit, VHost: name, Name: l.Name})
			}
		}
	}
	draft := r.view.Draft()
	for _, c := range commands {
		if err := draft.Step(c, &access.Outcome{}); err != nil {
			return err
		}
	}
	_, err := r.change(commands...)
	return err
}
