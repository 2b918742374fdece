package resources

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func policyEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET policies", Tag: authz.Management, Serve: getPolicies, Scope: web.AllNodes,
			Summary: "The policies", Out: api.List[api.Policy]{},
		},
		{
			Pattern: "GET policies/{vhost}", Tag: authz.Management, Serve: getPolicies, Scope: web.Leader,
			Summary: "The policies of a virtual host", Out: api.List[api.Policy]{},
		},
		{
			Pattern: "GET policies/{vhost}/{policy}", Tag: authz.Policymaker, Serve: getPolicy, Scope: web.Leader,
			Summary: "A policy", Out: api.Policy{},
		},
		{
			Pattern: "PUT policies/{vhost}/{policy}", Tag: authz.Policymaker, Serve: putPolicy, Scope: web.Leader,
			Summary: "Creates or changes a policy; it applies immediately", In: api.PutPolicy{},
		},
		{
			Pattern: "DELETE policies/{vhost}/{policy}", Tag: authz.Policymaker, Serve: deletePolicy, Scope: web.Leader,
			Summary: "Deletes a policy",
		},
		{
			Pattern: "GET operator-policies", Tag: authz.Management, Serve: getOperatorPolicies, Scope: web.AllNodes,
			Summary: "The operator policies", Out: api.List[api.Policy]{},
		},
		{
			Pattern: "GET operator-policies/{vhost}", Tag: authz.Management, Serve: getOperatorPolicies, Scope: web.Leader,
			Summary: "The operator policies of a virtual host", Out: api.List[api.Policy]{},
		},
		{
			Pattern: "GET operator-policies/{vhost}/{policy}", Tag: authz.Administrator, Serve: getOperatorPolicy, Scope: web.Leader,
			Summary: "An operator policy", Out: api.Policy{},
		},
		{
			Pattern: "PUT operator-policies/{vhost}/{policy}", Tag: authz.Administrator, Serve: putOperatorPolicy, Scope: web.Leader,
			Summary: "Creates or changes an operator policy", In: api.PutPolicy{},
		},
		{
			Pattern: "DELETE operator-policies/{vhost}/{policy}", Tag: authz.Administrator, Serve: deleteOperatorPolicy, Scope: web.Leader,
			Summary: "Deletes an operator policy",
		},
	}
}

// PoliciesOf lists the policies of one kind; a virtual host that is down has none to show.
func PoliciesOf(r *web.Request, h *accounts.VHost, operator bool) ([]api.Policy, error) {
	var all []api.Policy
	if r.IsDown(h.Name) {
		return nil, nil
	}
	err := r.Look(h.Name, func(v vhost.Reader) {
		for _, p := range v.Policies(operator) {
			all = append(all, showPolicy(h.Name, &p))
		}
	})
	return all, err
}

func showPolicy(vhost string, p *vhost.Policy) api.Policy {
	return api.Policy{
		VHost: vhost, Name: p.Name, Pattern: p.Pattern, ApplyTo: p.ApplyTo,
		Definition: api.Arguments(p.Definition), Priority: p.Priority,
	}
}

func getPolicies(r *web.Request) (web.Answer, error)         { return listPolicies(r, false) }
func getOperatorPolicies(r *web.Request) (web.Answer, error) { return listPolicies(r, true) }

func listPolicies(r *web.Request, operator bool) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	var all []api.Policy
	for _, h := range shown {
		some, err := PoliciesOf(r, h, operator)
		if err != nil {
			return web.Answer{}, err
		}
		all = append(all, some...)
	}
	return web.List(r, all, func(p *api.Policy) string { return p.Name })
}

func getPolicy(r *web.Request) (web.Answer, error)         { return onePolicy(r, false) }
func getOperatorPolicy(r *web.Request) (web.Answer, error) { return onePolicy(r, true) }

func onePolicy(r *web.Request, operator bool) (web.Answer, error) {
	p, err := findPolicy(r, operator)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(p)
}

// findPolicy finds the one that the path names.
func findPolicy(r *web.Request, operator bool) (api.Policy, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return api.Policy{}, err
	}
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return api.Policy{}, err
	}
	all, err := PoliciesOf(r, h, operator)
	if err != nil {
		return api.Policy{}, err
	}
	for _, p := range all {
		if p.Name == policyName(r) {
			return p, nil
		}
	}
	return api.Policy{}, web.ErrNotFound
}

// policyName is what the path calls the policy.
func policyName(r *web.Request) string { return cmp.Or(r.PathValue("policy"), r.PathValue("name")) }

// policy reads the policy of a body, under the name in the path and for the virtual host there.
func policy(r *web.Request, operator bool) (p *vhost.Policy, err error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return p, err
	}
	var body api.PutPolicy
	if err := r.Read(&body); err != nil {
		return p, err
	}
	return ReadPolicy(policyName(r), operator, &body)
}

func putPolicy(r *web.Request) (web.Answer, error)         { return setPolicy(r, false) }
func putOperatorPolicy(r *web.Request) (web.Answer, error) { return setPolicy(r, true) }

// setPolicy sets a policy whole. The tags were checked with the route; policies know no other permission.
// Source: RabbitMQ management API, policies; docs/compat/policies-and-permissions.md#9.
func setPolicy(r *web.Request, operator bool) (web.Answer, error) {
	p, err := policy(r, operator)
	if err != nil {
		return web.Answer{}, err
	}
	old, err := findPolicy(r, operator)
	created := err != nil
	if !created && SamePolicy(&vhost.Policy{
		Pattern: old.Pattern, ApplyTo: old.ApplyTo, Priority: old.Priority, Definition: amqp.Table(old.Definition),
	}, p) {
		r.Unchanged = true
		return web.PutAnswer(created)
	}
	if _, err := r.DoAs(authz.Broker(), r.PathValue("vhost"), vhost.Command{Kind: vhost.SetPolicy, Policy: p}); err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

// ReadPolicy makes a policy of a request's body; whether its definition is valid is for the virtual host to say.
func ReadPolicy(name string, operator bool, body *api.PutPolicy) (*vhost.Policy, error) {
	if err := web.NeedKeys(web.Needed("pattern", body.Pattern != nil), web.Needed("definition", body.Definition != nil)); err != nil {
		return nil, err
	}
	if name == "" || !amqp.ValidName(name) {
		return nil, web.BadRequest("the name of a policy must be UTF-8 of 1 to %d bytes", amqp.ShortStringMax)
	}
	if err := message.CheckTexts(amqp.Table(*body.Definition)); err != nil {
		return nil, err
	}
	p := &vhost.Policy{
		Name: name, Operator: operator, Pattern: string(*body.Pattern), ApplyTo: "all", Definition: amqp.Table(*body.Definition),
	}
	if body.ApplyTo != nil {
		p.ApplyTo = *body.ApplyTo
	}
	if body.Priority != nil {
		p.Priority = int64(*body.Priority)
	}
	return p, nil
}

func deletePolicy(r *web.Request) (web.Answer, error)         { return clearPolicy(r, false) }
func deleteOperatorPolicy(r *web.Request) (web.Answer, error) { return clearPolicy(r, true) }

func clearPolicy(r *web.Request, operator bool) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	p := &vhost.Policy{Name: policyName(r), Operator: operator}
	if _, err := r.DoAs(authz.Broker(), r.PathValue("vhost"), vhost.Command{Kind: vhost.ClearPolicy, Policy: p}); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

// SamePolicy reports whether two policies say the same.
func SamePolicy(a, b *vhost.Policy) bool {
	return a.Pattern == b.Pattern && a.ApplyTo == b.ApplyTo && a.Priority == b.Priority && SameTable(a.Definition, b.Definition)
}

func SameTable(a, b amqp.Table) bool {
	byName := func(x, y amqp.Field) int { return strings.Compare(x.Name, y.Name) }
	return amqp.Table(slices.SortedFunc(slices.Values(a), byName)).Equal(slices.SortedFunc(slices.Values(b), byName))
}
