package resources

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/deadletter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) parameterEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET parameters", Tag: authz.Policymaker, Serve: getParameters, Scope: web.AllNodes,
			Summary: "The runtime parameters", Out: api.List[api.Parameter]{},
		},
		{
			Pattern: "GET parameters/{component}", Tag: authz.Policymaker, Serve: getParameters, Scope: web.AllNodes,
			Summary: "Runtime parameters of a component", Out: api.List[api.Parameter]{},
		},
		{
			Pattern: "GET parameters/{component}/{vhost}", Tag: authz.Policymaker, Serve: getParameters, Scope: web.Leader,
			Summary: "Runtime parameters of a component in a virtual host", Out: api.List[api.Parameter]{},
		},
		{
			Pattern: "GET parameters/{component}/{vhost}/{name}", Tag: authz.Policymaker, Serve: getParameter, Scope: web.Leader,
			Summary: "A runtime parameter", Out: api.Parameter{},
		},
		{
			Pattern: "PUT parameters/{component}/{vhost}/{name}", Tag: authz.Policymaker, Serve: s.putParameter, Scope: web.Leader,
			Summary: "Sets a runtime parameter", In: api.PutParameter{},
		},
		{
			Pattern: "DELETE parameters/{component}/{vhost}/{name}", Tag: authz.Policymaker, Serve: s.deleteParameter, Scope: web.Leader,
			Summary: "Deletes a runtime parameter",
		},
		{
			Pattern: "GET global-parameters", Tag: authz.Policymaker, Serve: getGlobalParameters,
			Summary: "The global parameters", Out: api.List[api.GlobalParameter]{},
		},
		{
			Pattern: "GET global-parameters/{name}", Tag: authz.Policymaker, Serve: getGlobalParameter,
			Summary: "A global parameter", Out: api.GlobalParameter{},
		},
		{
			Pattern: "PUT global-parameters/{name}", Tag: authz.Policymaker, Serve: putGlobalParameter,
			Audit:   web.AuditAccounts,
			Summary: "Sets a global parameter", In: api.PutParameter{},
		},
		{
			Pattern: "DELETE global-parameters/{name}", Tag: authz.Policymaker, Serve: deleteGlobalParameter,
			Audit:   web.AuditAccounts,
			Summary: "Deletes a global parameter",
		},
	}
}

func ShowGlobal(g *accounts.GlobalParameter) api.GlobalParameter {
	return api.GlobalParameter{Name: g.Name, Value: g.Value}
}

func getGlobalParameters(r *web.Request) (web.Answer, error) {
	var all []api.GlobalParameter
	for _, g := range r.View.GlobalParameters() {
		if seesGlobal(r, g) {
			all = append(all, ShowGlobal(g))
		}
	}
	return web.List(r, all, func(g *api.GlobalParameter) string { return g.Name })
}

// seesGlobal reports whether the caller may see a global parameter: a note on dead letters of a virtual host
// tells what is in them.
func seesGlobal(r *web.Request, g *accounts.GlobalParameter) bool {
	n, isNote := deadletter.ReadNote(g)
	return !isNote || r.Caller.SeeNotes(n.VHost) && deadletter.MaySeeNote(r, &n) == nil
}

// mayChangeGlobal refuses to change, as a global parameter, what the broker keeps there for itself: notes, which have
// an endpoint and an owner.
func mayChangeGlobal(r *web.Request, name string) error {
	return r.Caller.GlobalParameter(strings.HasPrefix(name, deadletter.OwnPrefix))
}

func getGlobalParameter(r *web.Request) (web.Answer, error) {
	g, found := r.View.GlobalParameter(r.PathValue("name"))
	if !found || !seesGlobal(r, g) {
		return web.Answer{}, web.ErrNotFound
	}
	return web.OK(ShowGlobal(g))
}

func putGlobalParameter(r *web.Request) (web.Answer, error) {
	if err := mayChangeGlobal(r, r.PathValue("name")); err != nil {
		return web.Answer{}, err
	}
	var body api.PutParameter
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("value", body.Value != nil)); err != nil {
		return web.Answer{}, err
	}
	created, err := r.Change(accounts.Command{Kind: accounts.SetGlobalParameter, Name: r.PathValue("name"),
		Value: body.Value})
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

func deleteGlobalParameter(r *web.Request) (web.Answer, error) {
	if err := mayChangeGlobal(r, r.PathValue("name")); err != nil {
		return web.Answer{}, err
	}
	if _, err := r.Change(accounts.Command{Kind: accounts.ClearGlobalParameter,
		Name: r.PathValue("name")}); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

// The components under which RabbitMQ keeps what has endpoints of its own here.
const (
	OperatorComponent = "operator_policy"
	policyComponent   = "policy" // listed only where it is asked for
	LimitsComponent   = "vhost-limits"
	OptionsComponent  = "bartleby-options" // ours

	// Of these two there is one in a virtual host, under this name.
	limitsName, optionsName = "limits", "options"
)

// Parameters lists what RabbitMQ shows as runtime parameters: operator policies and limits of virtual hosts; their
// options with them. No plug-in that would have further ones is there.
func Parameters(r *web.Request, shown []*accounts.VHost) ([]api.Parameter, error) {
	var all []api.Parameter
	for _, h := range shown {
		if len(h.Limits) > 0 {
			value, err := web.Encode(showLimits(h.Limits))
			if err != nil {
				return nil, err
			}
			all = append(all, api.Parameter{VHost: h.Name, Component: LimitsComponent, Name: limitsName, Value: value})
		}
		options, err := optionsOf(r, h, false)
		if err != nil {
			return nil, err
		}
		if len(options) > 0 {
			value, err := web.Encode(options)
			if err != nil {
				return nil, err
			}
			all = append(all, api.Parameter{VHost: h.Name, Component: OptionsComponent, Name: optionsName, Value: value})
		}
		policies, err := policiesAsParameters(r, h, OperatorComponent, true)
		if err != nil {
			return nil, err
		}
		all = append(all, policies...)
	}
	return all, nil
}

// policiesAsParameters shows the policies of one kind as what RabbitMQ keeps them as.
func policiesAsParameters(r *web.Request, h *accounts.VHost, component string,
	operator bool) (all []api.Parameter, err error) {
	policies, err := PoliciesOf(r, h, operator)
	for _, p := range policies {
		value, err := web.Encode(struct {
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
func getParameters(r *web.Request) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	parameters, err := Parameters(r, shown)
	if err != nil {
		return web.Answer{}, err
	}
	var all []api.Parameter
	for _, p := range parameters {
		if !r.Has("component") || p.Component == r.PathValue("component") {
			all = append(all, p)
		}
	}
	for _, h := range shown {
		if r.PathValue("component") == policyComponent {
			some, err := policiesAsParameters(r, h, policyComponent, false)
			if err != nil {
				return web.Answer{}, err
			}
			all = append(all, some...)
		}
	}
	return web.List(r, all, func(p *api.Parameter) string { return p.Name })
}

func getParameter(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	parameters, err := Parameters(r, []*accounts.VHost{h})
	if err != nil {
		return web.Answer{}, err
	}
	if r.PathValue("component") == policyComponent {
		if parameters, err = policiesAsParameters(r, h, policyComponent, false); err != nil {
			return web.Answer{}, err
		}
	}
	for _, p := range parameters {
		if p.Component == r.PathValue("component") && p.Name == r.PathValue("name") {
			return web.OK(p)
		}
	}
	return web.Answer{}, web.ErrNotFound
}

// A parameter is what a path of /api/parameters names: its component, virtual host and name.
type parameter struct{ component, vhost, name string }

// putParameter sets what has an endpoint of its own, under the rights that are asked for there; policies cannot be set
// like this, and plug-ins that would have further components are not there.
// Source: RabbitMQ management API, parameters; runtime parameters.
func (s *API) putParameter(r *web.Request) (web.Answer, error) {
	p, err := s.parameter(r)
	if err != nil {
		return web.Answer{}, err
	}
	var body api.PutParameter
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("value", body.Value != nil)); err != nil {
		return web.Answer{}, err
	}
	_, err = getParameter(r)
	created := err != nil
	switch {
	case p.component == OperatorComponent:
		err = setOperatorPolicy(r, p, body.Value)
	case p.component == LimitsComponent && p.name == limitsName:
		err = setLimits(r, p.vhost, body.Value)
	case p.component == OptionsComponent && p.name == optionsName:
		var c vhost.Command
		if c, err = ReplaceOptions(body.Value); err == nil {
			_, err = r.DoAs(authz.Broker(), p.vhost, c)
		}
	case p.component == policyComponent:
		err = web.BadRequest("policies may not be set using this method")
	default:
		err = web.BadRequest("Validation failed\n\ncomponent %s not found\n", p.component)
	}
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

// deleteParameter clears what putParameter sets.
func (s *API) deleteParameter(r *web.Request) (web.Answer, error) {
	p, err := s.parameter(r)
	if err != nil {
		return web.Answer{}, err
	}
	if _, err := getParameter(r); err != nil {
		return web.Answer{}, err
	}
	switch p.component {
	case policyComponent:
		err = web.BadRequest("policies may not be cleared using this method")
	case OperatorComponent:
		_, err = r.DoAs(authz.Broker(), p.vhost, vhost.Command{Kind: vhost.ClearPolicy, Policy: &vhost.Policy{Name: p.name, Operator: true}})
	case LimitsComponent:
		err = setLimits(r, p.vhost, json.RawMessage("{}"))
	case OptionsComponent:
		var c vhost.Command
		if c, err = ReplaceOptions(json.RawMessage("{}")); err == nil {
			_, err = r.DoAs(authz.Broker(), p.vhost, c)
		}
	}
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.NoContent()
}

// parameter reads the path, and makes sure that the caller may change what it names: limits and operator policies are
// for administrators, as they are at their own endpoints.
func (s *API) parameter(r *web.Request) (parameter, error) {
	p := parameter{r.PathValue("component"), r.PathValue("vhost"), r.PathValue("name")}
	if err := r.Enter(p.vhost); err != nil {
		return p, err
	}
	if err := r.Caller.Parameter(p.component == OperatorComponent || p.component == LimitsComponent); err != nil {
		return p, err
	}
	if p.component == OperatorComponent && s.noOperatorPolicies {
		return p, &web.MethodNotAllowedError{Allow: "GET, HEAD, OPTIONS"}
	}
	return p, nil
}

func setOperatorPolicy(r *web.Request, p parameter, value json.RawMessage) error {
	var body api.PutPolicy
	if err := api.Decode(value, &body); err != nil {
		return web.BadRequest("operator policy '%s': %v", p.name, err)
	}
	policy, err := ReadPolicy(p.name, true, &body)
	if err != nil {
		return err
	}
	_, err = r.DoAs(authz.Broker(), p.vhost, vhost.Command{Kind: vhost.SetPolicy, Policy: policy})
	return err
}

// setLimits gives a virtual host these limits and no others.
func setLimits(r *web.Request, name string, value json.RawMessage) error {
	var limits api.Limits
	if err := api.Decode(value, &limits); err != nil {
		return web.BadRequest("%v", err)
	}
	var commands []accounts.Command
	for _, limit := range slices.Sorted(maps.Keys(limits)) {
		commands = append(commands, accounts.Command{Kind: accounts.SetVHostLimit, VHost: name, Name: limit,
			Limit: int64(limits[limit])})
	}
	if h, found := r.View.VHost(name); found {
		for _, l := range h.Limits {
			if _, given := limits[l.Name]; !given {
				commands = append(commands, accounts.Command{Kind: accounts.ClearVHostLimit, VHost: name, Name: l.Name})
			}
		}
	}
	draft := r.View.Draft()
	for _, c := range commands {
		if err := draft.Step(c, &accounts.Outcome{}); err != nil {
			return err
		}
	}
	_, err := r.Change(commands...)
	return err
}
