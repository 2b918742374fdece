package resources

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/deadletter"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *API) vhostEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET vhosts", Tag: authz.Management, Serve: s.getVHosts, Scope: web.AllNodes,
			Summary: "Virtual hosts that the caller can access", Out: api.List[api.VHost]{},
		},
		{
			Pattern: "GET vhosts/{vhost}", Tag: authz.Management, Serve: s.getVHost, Scope: web.Leader,
			Summary: "A virtual host", Out: api.VHost{},
		},
		{
			Pattern: "PUT vhosts/{vhost}", Tag: authz.Administrator, Serve: putVHost, Audit: web.AuditAccounts,
			Summary: "Creates a virtual host, or changes the given fields", In: api.PutVHost{},
		},
		{
			Pattern: "DELETE vhosts/{vhost}", Tag: authz.Administrator, Serve: deleteVHost, Audit: web.AuditAccounts,
			Summary: "Deletes a virtual host and everything in it",
		},
		{
			Pattern: "POST vhosts/{vhost}/deletion/protection", Tag: authz.Administrator, Serve: protectVHost,
			Audit:   web.AuditAccounts,
			Summary: "Protects a virtual host from deletion",
		},
		{
			Pattern: "DELETE vhosts/{vhost}/deletion/protection", Tag: authz.Administrator, Serve: unprotectVHost,
			Audit:   web.AuditAccounts,
			Summary: "Removes the deletion protection of a virtual host",
		},
		{
			Pattern: "GET vhost-limits", Tag: authz.Management, Serve: getVHostLimits,
			Summary: "Limits of all virtual hosts", Out: api.List[api.VHostLimits]{},
		},
		{
			Pattern: "GET vhost-limits/{vhost}", Tag: authz.Management, Serve: getVHostLimits,
			Summary: "The limits of a virtual host", Out: api.List[api.VHostLimits]{},
		},
		{
			Pattern: "PUT vhost-limits/{vhost}/{limit}", Tag: authz.Administrator, Serve: putVHostLimit,
			Audit:   web.AuditAccounts,
			Summary: "Sets max-connections or max-queues of a virtual host", In: api.PutLimit{},
		},
		{
			Pattern: "DELETE vhost-limits/{vhost}/{limit}", Tag: authz.Administrator, Serve: deleteVHostLimit,
			Audit:   web.AuditAccounts,
			Summary: "Clears a limit of a virtual host",
		},
		{
			Pattern: "GET user-limits", Tag: authz.Management, Serve: getUserLimits,
			Summary: "Limits of all users", Out: api.List[api.UserLimits]{},
		},
		{
			Pattern: "GET user-limits/{user}", Tag: authz.Management, Serve: getUserLimits,
			Summary: "The limits of a user", Out: api.List[api.UserLimits]{},
		},
		{
			Pattern: "PUT user-limits/{user}/{limit}", Tag: authz.Administrator, Serve: putUserLimit,
			Audit:   web.AuditAccounts,
			Summary: "Sets max-connections or max-channels of a user", In: api.PutLimit{},
		},
		{
			Pattern: "DELETE user-limits/{user}/{limit}", Tag: authz.Administrator, Serve: deleteUserLimit,
			Audit:   web.AuditAccounts,
			Summary: "Clears a limit of a user",
		},
	}
}

func (s *API) showVHost(r *web.Request, h *accounts.VHost, w stats.Spans) api.VHost {
	kind, state := cmp.Or(h.DefaultQueueType, r.Engine.QueueType()), "running"
	if r.IsDown(h.Name) {
		state = "stopped"
	}
	t := s.reader.SumOver(r.Context(), h, w)
	received, sent, bytes := s.sampler.BytesOf(h.Name, w)
	return api.VHost{
		Name: h.Name, Description: h.Description, Tags: h.Tags, DefaultQueueType: kind,
		Metadata: api.VHostMetadata{Description: h.Description, Tags: h.Tags, DefaultQueueType: kind},
		Tracing:  h.Tracing, ProtectedFromDeletion: h.Protected,
		ClusterState: api.Object[string]{r.Node: state},
		Totals:       t.Totals(),
		MessageStats: t.MessageStats(),
		RecvOct:      received, RecvOctDetails: bytes.Of(stats.AtReceived), SendOct: sent, SendOctDetails: bytes.Of(stats.AtSent),
	}
}

func (s *API) getVHosts(r *web.Request) (web.Answer, error) {
	w, err := stats.SpansOf(r)
	if err != nil {
		return web.Answer{}, err
	}
	var all []api.VHost
	for _, h := range r.VisibleVHosts() {
		all = append(all, s.showVHost(r, h, w))
	}
	r.ShowDefinition(vhostDefinition)
	return web.List(r, all, func(h *api.VHost) string { return h.Name })
}

// vhostDefinition is what is shown of a virtual host whose statistics are not wanted.
const vhostDefinition = "name,description,tags,default_queue_type,metadata,tracing,protected_from_deletion,cluster_state"

func (s *API) getVHost(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	w, err := stats.SpansOf(r)
	if err != nil {
		return web.Answer{}, err
	}
	r.ShowDefinition(vhostDefinition)
	return web.OK(s.showVHost(r, h, w))
}

// NoTracing is why a virtual host is not traced.
const NoTracing = "not supported: nothing is published to amq.rabbitmq.trace"

// putVHost makes a virtual host, or describes it anew: a description and tags that the body does not name are none.
// Whatever else it does not name stays as it is. Who makes it may do everything in it.
// Source: RabbitMQ management API, PUT /api/vhosts.
func putVHost(r *web.Request) (web.Answer, error) {
	name := r.PathValue("vhost")
	var body api.PutVHost
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	c := accounts.Command{Kind: accounts.PutVHost, VHost: name}
	if old, ok := r.View.VHost(name); ok {
		c = PutAgain(old)
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
			return web.Answer{}, web.BadRequest("tracing: %s", NoTracing)
		}
		c.Tracing = false
	}
	if body.ProtectedFromDeletion != nil {
		c.Protected = bool(*body.ProtectedFromDeletion)
	}
	created, err := r.Change(c)
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	if who := r.Caller.Principal(); created && !who.Local {
		_, err = r.Change(accounts.Command{Kind: accounts.SetPermission, User: who.User, VHost: name, Configure: ".*",
			Write: ".*", Read: ".*"})
		if err != nil && web.CodeOf(err) != amqp.CodeNotFound { // the user may be gone by now
			return web.Answer{}, err
		}
	}
	return web.PutAnswer(created)
}

// PutAgain is the command that leaves a virtual host as it is.
func PutAgain(h *accounts.VHost) accounts.Command {
	return accounts.Command{
		Kind: accounts.PutVHost, VHost: h.Name, Description: h.Description, Tags: h.Tags,
		DefaultQueueType: h.DefaultQueueType, Tracing: h.Tracing, Protected: h.Protected,
	}
}

func deleteVHost(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	if h.Protected {
		return web.Answer{}, &api.Error{Status: http.StatusPreconditionFailed, Kind: "precondition_failed",
			Reason: "Cannot delete virtual host '" + h.Name + "': it is protected from deletion"}
	}
	scheduled, err := scheduledIn(r, h.Name, nil)
	if err != nil {
		scheduled = 0 // nobody knows: one that has stopped can be deleted all the same
	}
	commands := append([]accounts.Command{{Kind: accounts.DeleteVHost, VHost: h.Name}},
		deadletter.ForgetNotes(r.View, h.Name)...)
	if _, err := r.Change(commands...); err != nil {
		return web.Answer{}, err
	}
	return nothingBut(scheduled)
}

func protectVHost(r *web.Request) (web.Answer, error)   { return setProtection(r, true) }
func unprotectVHost(r *web.Request) (web.Answer, error) { return setProtection(r, false) }

func setProtection(r *web.Request, on bool) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	c := PutAgain(h)
	c.Protected = on
	if _, err := r.Change(c); err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.NoContent()
}

func showLimits(limits []accounts.Limit) api.Object[int64] {
	shown := api.Object[int64]{}
	for _, l := range limits {
		shown[l.Name] = l.Value
	}
	return shown
}

// getVHostLimits lists the virtual hosts that have limits.
func getVHostLimits(r *web.Request) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	var all []api.VHostLimits
	for _, h := range shown {
		if len(h.Limits) > 0 {
			all = append(all, api.VHostLimits{VHost: h.Name, Value: showLimits(h.Limits)})
		}
	}
	return web.List(r, all, func(l *api.VHostLimits) string { return l.VHost })
}

func putVHostLimit(r *web.Request) (web.Answer, error) {
	if _, found := r.View.VHost(r.PathValue("vhost")); !found {
		return web.Answer{}, web.NotFound("vhost")
	}
	return changeLimit(r, accounts.Command{Kind: accounts.SetVHostLimit, VHost: r.PathValue("vhost"),
		Name: r.PathValue("limit")})
}

func deleteVHostLimit(r *web.Request) (web.Answer, error) {
	return changeLimit(r, accounts.Command{Kind: accounts.ClearVHostLimit, VHost: r.PathValue("vhost"),
		Name: r.PathValue("limit")})
}

func putUserLimit(r *web.Request) (web.Answer, error) {
	if _, found := r.View.User(r.PathValue("user")); !found {
		return web.Answer{}, web.BadRequest("no user '%s'", r.PathValue("user"))
	}
	return changeLimit(r, accounts.Command{Kind: accounts.SetUserLimit, User: r.PathValue("user"),
		Name: r.PathValue("limit")})
}

func deleteUserLimit(r *web.Request) (web.Answer, error) {
	return changeLimit(r, accounts.Command{Kind: accounts.ClearUserLimit, User: r.PathValue("user"),
		Name: r.PathValue("limit")})
}

// changeLimit sets or clears a limit of a virtual host or a user.
func changeLimit(r *web.Request, c accounts.Command) (web.Answer, error) {
	if r.Method == http.MethodPut {
		var body api.PutLimit
		if err := r.Read(&body); err != nil {
			var wrong *api.Error
			if errors.As(err, &wrong) && strings.HasPrefix(wrong.Reason, "should be") {
				err = web.BadRequest("%s%s %s",
					map[bool]string{true: "Validation failed\n\n"}[c.Kind == accounts.SetVHostLimit],
					c.Name, wrong.Reason)
			}
			return web.Answer{}, err
		}
		if err := web.NeedKeys(web.Needed("value", body.Value != nil)); err != nil {
			return web.Answer{}, err
		}
		c.Limit = int64(*body.Value)
	}
	switch _, err := r.Change(c); {
	case web.CodeOf(err) == amqp.CodeNotFound:
		return web.Answer{}, err
	case err != nil:
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.NoContent()
}

// getUserLimits lists the users that have limits. Who is no administrator sees its own only.
func getUserLimits(r *web.Request) (web.Answer, error) {
	users := r.View.Users()
	if r.Has("user") {
		u, found := r.View.User(r.PathValue("user"))
		if !found {
			return web.Answer{}, web.ErrNotFound
		}
		users = []*accounts.User{u}
	}
	var all []api.UserLimits
	for _, u := range users {
		if len(u.Limits) > 0 && r.Caller.SeeLimits(u.Name) {
			all = append(all, api.UserLimits{User: u.Name, Value: showLimits(u.Limits)})
		}
	}
	return web.List(r, all, func(l *api.UserLimits) string { return l.User })
}
