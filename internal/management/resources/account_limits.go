package resources

import (
	"errors"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// limitEndpoints are those of the limits of virtual hosts and users.
func limitEndpoints() []web.Endpoint {
	return []web.Endpoint{
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
