package resources

import (
	"cmp"
	"net/http"

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
