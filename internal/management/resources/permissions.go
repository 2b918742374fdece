package resources

import (
	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func permissionEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/permissions/{vhost}", Tag: authz.Management, Serve: getOwnPermissions,
			Summary: "The caller's permissions in a virtual host", Out: api.OwnPermissions{},
		},
		{
			Pattern: "GET vhosts/{vhost}/permissions", Tag: authz.Administrator, Serve: getVHostPermissions,
			Summary: "Permissions in a virtual host", Out: api.List[api.Permission]{},
		},
		{
			Pattern: "GET users/{user}/permissions", Tag: authz.Administrator, Serve: getUserPermissions,
			Summary: "Permissions of a user", Out: api.List[api.Permission]{},
		},
		{
			Pattern: "GET permissions", Tag: authz.Administrator, Serve: getPermissions,
			Summary: "All permissions", Out: api.List[api.Permission]{},
		},
		{
			Pattern: "GET permissions/{vhost}/{user}", Tag: authz.Administrator, Serve: getPermission,
			Summary: "Permissions of a user in a virtual host", Out: api.Permission{},
		},
		{
			Pattern: "PUT permissions/{vhost}/{user}", Tag: authz.Administrator, Serve: putPermission,
			Audit:   web.AuditAccounts,
			Summary: "Sets the permissions of a user: three regular expressions", In: api.PutPermission{},
		},
		{
			Pattern: "DELETE permissions/{vhost}/{user}", Tag: authz.Administrator, Serve: deletePermission,
			Audit:   web.AuditAccounts,
			Summary: "Removes the permissions of a user in a virtual host",
		},
	}
}

func topicPermissionEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET vhosts/{vhost}/topic-permissions", Tag: authz.Administrator, Serve: getVHostTopicPermissions,
			Summary: "Topic permissions in a virtual host", Out: api.List[api.TopicPermission]{},
		},
		{
			Pattern: "GET users/{user}/topic-permissions", Tag: authz.Administrator, Serve: getUserTopicPermissions,
			Summary: "Topic permissions of a user", Out: api.List[api.TopicPermission]{},
		},
		{
			Pattern: "GET topic-permissions", Tag: authz.Administrator, Serve: getTopicPermissions,
			Summary: "All topic permissions", Out: api.List[api.TopicPermission]{},
		},
		{
			Pattern: "GET topic-permissions/{vhost}/{user}", Tag: authz.Administrator, Serve: getTopicPermission,
			Summary: "Topic permissions of a user in a virtual host", Out: api.List[api.TopicPermission]{},
		},
		{
			Pattern: "PUT topic-permissions/{vhost}/{user}", Tag: authz.Administrator, Serve: putTopicPermission,
			Audit:   web.AuditAccounts,
			Summary: "Sets the topic permissions of a user for an exchange", In: api.PutTopicPermission{},
		},
		{
			Pattern: "DELETE topic-permissions/{vhost}/{user}", Tag: authz.Administrator, Serve: deleteTopicPermission,
			Audit:   web.AuditAccounts,
			Summary: "Clears all topic permissions of a user in a virtual host",
		},
		{
			Pattern: "DELETE topic-permissions/{vhost}/{user}/{exchange}", Tag: authz.Administrator,
			Serve: deleteTopicPermission, Audit: web.AuditAccounts,
			Summary: "Clears the topic permissions of a user for an exchange",
		},
	}
}

func ShowPermission(p *accounts.Permission) api.Permission {
	return api.Permission{User: p.User, VHost: p.VHost, Configure: p.Configure, Write: p.Write, Read: p.Read}
}

func ShowTopicPermission(p *accounts.TopicPermission) api.TopicPermission {
	return api.TopicPermission{User: p.User, VHost: p.VHost, Exchange: shownTopicExchange(p.Exchange), Write: p.Write, Read: p.Read}
}

func listPermissions(r *web.Request, wanted func(*accounts.Permission) bool) (web.Answer, error) {
	var all []api.Permission
	for _, p := range r.View.Permissions() {
		if wanted(p) {
			all = append(all, ShowPermission(p))
		}
	}
	return web.List(r, all, func(p *api.Permission) string { return p.User })
}

func listTopicPermissions(r *web.Request, wanted func(*accounts.TopicPermission) bool) (web.Answer, error) {
	var all []api.TopicPermission
	for _, p := range r.View.TopicPermissions() {
		if wanted(p) {
			all = append(all, ShowTopicPermission(p))
		}
	}
	return web.List(r, all, func(p *api.TopicPermission) string { return p.User })
}

func getPermissions(r *web.Request) (web.Answer, error) {
	return listPermissions(r, func(*accounts.Permission) bool { return true })
}

func getTopicPermissions(r *web.Request) (web.Answer, error) {
	return listTopicPermissions(r, func(*accounts.TopicPermission) bool { return true })
}

func getVHostPermissions(r *web.Request) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	return listPermissions(r, func(p *accounts.Permission) bool { return p.VHost == r.PathValue("vhost") })
}

func getVHostTopicPermissions(r *web.Request) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	return listTopicPermissions(r, func(p *accounts.TopicPermission) bool { return p.VHost == r.PathValue("vhost") })
}

func getUserPermissions(r *web.Request) (web.Answer, error) {
	if _, found := r.View.User(r.PathValue("user")); !found {
		return web.Answer{}, web.ErrNotFound
	}
	return listPermissions(r, func(p *accounts.Permission) bool { return p.User == r.PathValue("user") })
}

func getUserTopicPermissions(r *web.Request) (web.Answer, error) {
	if _, found := r.View.User(r.PathValue("user")); !found {
		return web.Answer{}, web.ErrNotFound
	}
	return listTopicPermissions(r, func(p *accounts.TopicPermission) bool { return p.User == r.PathValue("user") })
}

// grantee makes sure that the virtual host and the user of a path exist.
func grantee(r *web.Request) (vhost, user string, err error) {
	vhost, user = r.PathValue("vhost"), r.PathValue("user")
	_, hasVHost := r.View.VHost(vhost)
	if _, hasUser := r.View.User(user); !hasVHost || !hasUser {
		return "", "", web.ErrNotFound
	}
	return vhost, user, nil
}

// getOwnPermissions shows what the caller may do: the console shows it before it is refused.
func getOwnPermissions(r *web.Request) (web.Answer, error) {
	name := r.PathValue("vhost")
	if _, err := r.VHost(name); err != nil {
		return web.Answer{}, err
	}
	own := api.OwnPermissions{VHost: name, DeadLetters: map[string]bool{}}
	own.Configure, own.Write, own.Read = r.Caller.Expressions(name)
	for _, right := range authz.DeadLetterRights {
		own.DeadLetters[string(right)] = r.Caller.MayWith(right)
	}
	return web.OK(own)
}

func getPermission(r *web.Request) (web.Answer, error) {
	for _, p := range r.View.Permissions() {
		if p.VHost == r.PathValue("vhost") && p.User == r.PathValue("user") {
			return web.OK(ShowPermission(p))
		}
	}
	return web.Answer{}, web.ErrNotFound
}

func putPermission(r *web.Request) (web.Answer, error) {
	var body api.PutPermission
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	err := web.NeedKeys(web.Needed("configure", body.Configure != nil), web.Needed("write", body.Write != nil), web.Needed("read", body.Read != nil))
	if err != nil {
		return web.Answer{}, err
	}
	if _, _, err := grantee(r); err != nil {
		return web.Answer{}, web.BadRequest("vhost_or_user_not_found")
	}
	created, err := r.Change(accounts.Command{
		Kind: accounts.SetPermission, VHost: r.PathValue("vhost"), User: r.PathValue("user"),
		Configure: *body.Configure, Write: *body.Write, Read: *body.Read,
	})
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

func deletePermission(r *web.Request) (web.Answer, error) {
	if _, err := getPermission(r); err != nil {
		return web.Answer{}, err
	}
	if _, err := r.Change(accounts.Command{Kind: accounts.ClearPermission, VHost: r.PathValue("vhost"),
		User: r.PathValue("user")}); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

// getTopicPermission answers with a list: one for each exchange.
func getTopicPermission(r *web.Request) (web.Answer, error) {
	vhost, user, err := grantee(r)
	if err != nil {
		return web.Answer{}, err
	}
	var all []api.TopicPermission
	for _, p := range r.View.TopicPermissions() {
		if p.VHost == vhost && p.User == user {
			all = append(all, ShowTopicPermission(p))
		}
	}
	if all == nil {
		return web.Answer{}, web.ErrNotFound
	}
	return web.ListAll(r, all)
}

func putTopicPermission(r *web.Request) (web.Answer, error) {
	var body api.PutTopicPermission
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	err := web.NeedKeys(web.Needed("exchange", body.Exchange != nil), web.Needed("write", body.Write != nil), web.Needed("read", body.Read != nil))
	if err != nil {
		return web.Answer{}, err
	}
	if _, _, err := grantee(r); err != nil {
		return web.Answer{}, web.BadRequest("vhost_or_user_not_found")
	}
	created, err := r.Change(accounts.Command{
		Kind: accounts.SetTopicPermission, VHost: r.PathValue("vhost"), User: r.PathValue("user"),
		Exchange: TopicExchange(*body.Exchange),
		Write:    *body.Write, Read: *body.Read,
	})
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

// TopicExchange is the name under which the default exchange's topic permission is kept: RabbitMQ's clients send an
// empty one for it.
func TopicExchange(name string) string {
	if name == "" {
		return accounts.DefaultExchange
	}
	return name
}

// shownTopicExchange is the name under which it is shown: the empty one again.
func shownTopicExchange(name string) string {
	if name == accounts.DefaultExchange {
		return ""
	}
	return name
}

// deleteTopicPermission clears those of one exchange, if the path names one, or of all. Whoever has some, of whatever
// exchange, is answered alike. Source: RabbitMQ management API, topic-permissions.
func deleteTopicPermission(r *web.Request) (web.Answer, error) {
	vhost, user, err := grantee(r)
	if err != nil {
		return web.Answer{}, err
	}
	c := accounts.Command{Kind: accounts.ClearTopicPermission, VHost: vhost, User: user}
	if r.Has("exchange") {
		c.Exchange = TopicExchange(r.PathValue("exchange"))
	}
	exists := false
	for _, p := range r.View.TopicPermissions() {
		exists = exists || p.VHost == vhost && p.User == user
	}
	if !exists {
		return web.Answer{}, web.ErrNotFound
	}
	if _, err := r.Change(c); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}
