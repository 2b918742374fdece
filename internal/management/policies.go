package management

import (
	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// policiesOf lists the policies of one kind; a virtual host that is down has none to show.
func (r *request) policiesOf(h *access.VHost, operator bool) ([]api.Policy, error) {
	var all []api.Policy
	if r.down(h.Name) {
		return nil, nil
	}
	err := r.look(h.Name, func(v *vhost.VHost) {
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

func getPolicies(r *request) (answer, error)         { return listPolicies(r, false) }
func getOperatorPolicies(r *request) (answer, error) { return listPolicies(r, true) }

func listPolicies(r *request, operator bool) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	var all []api.Policy
	for _, h := range shown {
		some, err := r.policiesOf(h, operator)
		if err != nil {
			return answer{}, err
		}
		all = append(all, some...)
	}
	return list(r, all, func(p *api.Policy) string { return p.Name })
}

func getPolicy(r *request) (answer, error)         { return onePolicy(r, false) }
func getOperatorPolicy(r *request) (answer, error) { return onePolicy(r, true) }

func onePolicy(r *request, operator bool) (answer, error) {
	p, err := r.findPolicy(operator)
	if err != nil {
		return answer{}, err
	}
	return ok(p)
}

// findPolicy finds the one that the path names.
func (r *request) findPolicy(operator bool) (api.Policy, error) {
	if err := r.enter(r.names[0]); err != nil {
		return api.Policy{}, err
	}
	h, err := r.vhost(r.names[0])
	if err != nil {
		return api.Policy{}, err
	}
	all, err := r.policiesOf(h, operator)
	if err != nil {
		return api.Policy{}, err
	}
	for _, p := range all {
		if p.Name == r.names[1] {
			return p, nil
		}
	}
	return api.Policy{}, errNotFound
}

// policy reads the policy of a body, under the name in the path and for the virtual host there.
func (r *request) policy(operator bool) (p *vhost.Policy, err error) {
	if err := r.enter(r.names[0]); err != nil {
		return p, err
	}
	var body api.PutPolicy
	if err := r.read(&body); err != nil {
		return p, err
	}
	return readPolicy(r.names[1], operator, &body)
}

func putPolicy(r *request) (answer, error)         { return setPolicy(r, false) }
func putOperatorPolicy(r *request) (answer, error) { return setPolicy(r, true) }

// setPolicy sets a policy whole. The tags were checked with the route; policies know no other permission.
// Source: RabbitMQ management API, policies; reference policies-and-permissions 9.
func setPolicy(r *request, operator bool) (answer, error) {
	p, err := r.policy(operator)
	if err != nil {
		return answer{}, err
	}
	old, err := r.findPolicy(operator)
	created := err != nil
	if !created && samePolicy(&vhost.Policy{
		Pattern: old.Pattern, ApplyTo: old.ApplyTo, Priority: old.Priority, Definition: amqp.Table(old.Definition),
	}, p) {
		r.idle = true
		return put(created)
	}
	if _, err := r.doAs(authz.Broker(), r.names[0], vhost.Command{Kind: vhost.SetPolicy, Policy: p}); err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

// readPolicy makes a policy of a request's body; whether its definition is valid is for the virtual host to say.
func readPolicy(name string, operator bool, body *api.PutPolicy) (*vhost.Policy, error) {
	if err := needKeys(key{"pattern", body.Pattern != nil}, key{"definition", body.Definition != nil}); err != nil {
		return nil, err
	}
	if name == "" || !amqp.ValidName(name) {
		return nil, badRequest("the name of a policy must be UTF-8 of 1 to %d bytes", amqp.ShortStringMax)
	}
	if err := checkTexts(amqp.Table(*body.Definition)); err != nil {
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

func deletePolicy(r *request) (answer, error)         { return clearPolicy(r, false) }
func deleteOperatorPolicy(r *request) (answer, error) { return clearPolicy(r, true) }

func clearPolicy(r *request, operator bool) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	p := &vhost.Policy{Name: r.names[1], Operator: operator}
	if _, err := r.doAs(authz.Broker(), r.names[0], vhost.Command{Kind: vhost.ClearPolicy, Policy: p}); err != nil {
		return answer{}, err
	}
	return nothing()
}
