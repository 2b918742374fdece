package management

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
)

func (r *request) showVHost(h *access.VHost, w spans) api.VHost {
	kind, state := cmp.Or(h.DefaultQueueType, r.server.engine.QueueType()), "running"
	if r.down(h.Name) {
		state = "stopped"
	}
	t := r.server.sumOver(r.Context(), h, w)
	received, sent, bytes := r.server.sampler.bytesOf(h.Name, w)
	return api.VHost{
		Name: h.Name, Description: h.Description, Tags: h.Tags, DefaultQueueType: kind,
		Metadata: api.VHostMetadata{Description: h.Description, Tags: h.Tags, DefaultQueueType: kind},
		Tracing:  h.Tracing, ProtectedFromDeletion: h.Protected,
		ClusterState: api.Object[string]{r.server.options.Node: state},
		Totals:       t.totals(),
		MessageStats: t.messageStats(),
		RecvOct:      received, RecvOctDetails: bytes.of(atReceived), SendOct: sent, SendOctDetails: bytes.of(atSent),
	}
}

func getVHosts(r *request) (answer, error) {
	w, err := r.spans()
	if err != nil {
		return answer{}, err
	}
	var all []api.VHost
	for _, h := range r.visible() {
		all = append(all, r.showVHost(h, w))
	}
	r.showDefinition(vhostDefinition)
	return list(r, all, func(h *api.VHost) string { return h.Name })
}

// vhostDefinition is what is shown of a virtual host whose statistics are not wanted.
const vhostDefinition = "name,description,tags,default_queue_type,metadata,tracing,protected_from_deletion,cluster_state"

func getVHost(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	w, err := r.spans()
	if err != nil {
		return answer{}, err
	}
	r.showDefinition(vhostDefinition)
	return ok(r.showVHost(h, w))
}

// noTracing is why a virtual host is not traced.
const noTracing = "not supported: nothing is published to amq.rabbitmq.trace"

// putVHost makes a virtual host, or describes it anew: a description and tags that the body does not name are none. Whatever
// else it does not name stays as it is. Who makes it may do everything in it.
// Source: RabbitMQ management API, PUT /api/vhosts.
func putVHost(r *request) (answer, error) {
	name := r.names[0]
	var body api.PutVHost
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	c := access.Command{Kind: access.PutVHost, VHost: name}
	if old, ok := r.view.VHost(name); ok {
		c = putAgain(old)
		c.Description, c.Tags = "", nil
	}
	if body.Description != nil {
		c.Description = *body.Description
	}
	if body.Tags != nil {
		c.Tags = *body.Tags
	}
	if kind := cmp.Or(body.DefaultQueueType, body.DefaultQueueTypeOld); kind != nil {
		if c.DefaultQueueType = *kind; c.DefaultQueueType == "undefined" {
			c.DefaultQueueType = ""
		}
	}
	if body.Tracing != nil {
		if *body.Tracing {
			return answer{}, badRequest("tracing: %s", noTracing)
		}
		c.Tracing = false
	}
	if body.ProtectedFromDeletion != nil {
		c.Protected = bool(*body.ProtectedFromDeletion)
	}
	created, err := r.change(c)
	if err != nil {
		return answer{}, plainly(err)
	}
	if who := r.caller.Principal(); created && !who.Local {
		_, err = r.change(access.Command{Kind: access.SetPermission, User: who.User, VHost: name, Configure: ".*", Write: ".*", Read: ".*"})
		if err != nil && codeOf(err) != amqp.CodeNotFound { // the user may be gone by now
			return answer{}, err
		}
	}
	return put(created)
}

// putAgain is the command that leaves a virtual host as it is.
func putAgain(h *access.VHost) access.Command {
	return access.Command{
		Kind: access.PutVHost, VHost: h.Name, Description: h.Description, Tags: h.Tags,
		DefaultQueueType: h.DefaultQueueType, Tracing: h.Tracing, Protected: h.Protected,
	}
}

func deleteVHost(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	if h.Protected {
		return answer{}, &api.Error{Status: http.StatusPreconditionFailed, Kind: "precondition_failed",
			Reason: "Cannot delete virtual host '" + h.Name + "': it is protected from deletion"}
	}
	scheduled, err := r.scheduledIn(h.Name, nil)
	if err != nil {
		scheduled = 0 // nobody knows: one that has stopped can be deleted all the same
	}
	commands := append([]access.Command{{Kind: access.DeleteVHost, VHost: h.Name}}, forgetNotes(r.view, h.Name)...)
	if _, err := r.change(commands...); err != nil {
		return answer{}, err
	}
	return nothingBut(scheduled)
}

func protectVHost(r *request) (answer, error)   { return setProtection(r, true) }
func unprotectVHost(r *request) (answer, error) { return setProtection(r, false) }

func setProtection(r *request, on bool) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	c := putAgain(h)
	c.Protected = on
	if _, err := r.change(c); err != nil {
		return answer{}, plainly(err)
	}
	return nothing()
}

func showLimits(limits []access.Limit) api.Object[int64] {
	shown := api.Object[int64]{}
	for _, l := range limits {
		shown[l.Name] = l.Value
	}
	return shown
}

// getVHostLimits lists the virtual hosts that have limits.
func getVHostLimits(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	var all []api.VHostLimits
	for _, h := range shown {
		if len(h.Limits) > 0 {
			all = append(all, api.VHostLimits{VHost: h.Name, Value: showLimits(h.Limits)})
		}
	}
	return list(r, all, func(l *api.VHostLimits) string { return l.VHost })
}

func putVHostLimit(r *request) (answer, error) {
	if _, found := r.view.VHost(r.names[0]); !found {
		return answer{}, notFound("vhost")
	}
	return changeLimit(r, access.Command{Kind: access.SetVHostLimit, VHost: r.names[0], Name: r.names[1]})
}

func deleteVHostLimit(r *request) (answer, error) {
	return changeLimit(r, access.Command{Kind: access.ClearVHostLimit, VHost: r.names[0], Name: r.names[1]})
}

func putUserLimit(r *request) (answer, error) {
	if _, found := r.view.User(r.names[0]); !found {
		return answer{}, badRequest("no user '%s'", r.names[0])
	}
	return changeLimit(r, access.Command{Kind: access.SetUserLimit, User: r.names[0], Name: r.names[1]})
}

func deleteUserLimit(r *request) (answer, error) {
	return changeLimit(r, access.Command{Kind: access.ClearUserLimit, User: r.names[0], Name: r.names[1]})
}

// changeLimit sets or clears a limit of a virtual host or a user.
func changeLimit(r *request, c access.Command) (answer, error) {
	if r.Method == http.MethodPut {
		var body api.PutLimit
		if err := r.read(&body); err != nil {
			var wrong *api.Error
			if errors.As(err, &wrong) && strings.HasPrefix(wrong.Reason, "should be") {
				err = badRequest("%s%s %s", map[bool]string{true: "Validation failed\n\n"}[c.Kind == access.SetVHostLimit], c.Name, wrong.Reason)
			}
			return answer{}, err
		}
		if err := needKeys(key{"value", body.Value != nil}); err != nil {
			return answer{}, err
		}
		c.Limit = int64(*body.Value)
	}
	switch _, err := r.change(c); {
	case codeOf(err) == amqp.CodeNotFound:
		return answer{}, err
	case err != nil:
		return answer{}, plainly(err)
	}
	return nothing()
}

// getUserLimits lists the users that have limits. Who is no administrator sees its own only.
func getUserLimits(r *request) (answer, error) {
	users := r.view.Users()
	if len(r.names) > 0 {
		u, found := r.view.User(r.names[0])
		if !found {
			return answer{}, errNotFound
		}
		users = []*access.User{u}
	}
	var all []api.UserLimits
	for _, u := range users {
		if len(u.Limits) > 0 && r.caller.SeeLimits(u.Name) {
			all = append(all, api.UserLimits{User: u.Name, Value: showLimits(u.Limits)})
		}
	}
	return list(r, all, func(l *api.UserLimits) string { return l.User })
}
