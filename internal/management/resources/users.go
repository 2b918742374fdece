package resources

import (
	"encoding/base64"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *API) userEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{Pattern: "GET users", Tag: authz.Administrator, Serve: getUsers, Summary: "The users", Out: api.List[api.User]{}},
		{
			Pattern: "GET users/without-permissions", Tag: authz.Administrator, Serve: getUsersWithoutPermissions,
			Summary: "Users without access to any virtual host", Out: api.List[api.User]{},
		},
		{
			Pattern: "POST users/bulk-delete", Tag: authz.Administrator, Serve: bulkDeleteUsers, Relieves: true,
			Audit:   web.AuditAccounts,
			Summary: "Deletes users", In: api.BulkDelete{},
		},
		{Pattern: "GET users/{user}", Tag: authz.Administrator, Serve: getUser, Summary: "A user", Out: api.User{}},
		{
			Pattern: "PUT users/{user}", Tag: authz.Administrator, Serve: s.putUser, Audit: web.AuditAccounts,
			Summary: "Creates a user, or replaces its password and tags", In: api.PutUser{},
		},
		{
			Pattern: "DELETE users/{user}", Tag: authz.Administrator, Serve: deleteUser, Audit: web.AuditAccounts,
			Summary: "Deletes a user",
		},
	}
}

// tagProtected marks users that cannot be changed or deleted over HTTP. Source: RabbitMQ management API, users.
const tagProtected = "protected"

func showUser(u *accounts.User) api.User {
	return api.User{
		Name: u.Name, PasswordHash: base64.StdEncoding.EncodeToString(u.Hash), HashingAlgorithm: u.Algorithm.String(),
		Tags: u.Tags, Limits: showLimits(u.Limits),
	}
}

func getUsers(r *web.Request) (web.Answer, error) {
	return listUsers(r, func(*accounts.User) bool { return true })
}

// getUsersWithoutPermissions lists the users who may enter no virtual host.
func getUsersWithoutPermissions(r *web.Request) (web.Answer, error) {
	permitted := map[string]bool{}
	for _, p := range r.View.Permissions() {
		permitted[p.User] = true
	}
	return listUsers(r, func(u *accounts.User) bool { return !permitted[u.Name] })
}

func listUsers(r *web.Request, wanted func(*accounts.User) bool) (web.Answer, error) {
	var all []api.User
	for _, u := range r.View.Users() {
		if wanted(u) {
			all = append(all, showUser(u))
		}
	}
	return web.List(r, all, func(u *api.User) string { return u.Name })
}

func getUser(r *web.Request) (web.Answer, error) {
	u, found := r.View.User(r.PathValue("user"))
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	return web.OK(showUser(u))
}

// putUser makes a user or replaces one's password and tags. Source: RabbitMQ management API, PUT /api/users.
func (s *API) putUser(r *web.Request) (web.Answer, error) {
	var body api.PutUser
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if body.Tags == nil {
		return web.Answer{}, web.BadRequest("tags_not_present")
	}
	if old, found := r.View.User(r.PathValue("user")); found && old.Tagged(tagProtected) {
		return web.Answer{}, web.BadRequest("user '%s' is protected and cannot be changed", old.Name)
	}
	c, err := s.passwords.UserCommand(r.PathValue("user"), &body)
	if err != nil {
		return web.Answer{}, err
	}
	created, err := r.Change(c)
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

// UserCommand reads a user's password, hash and tags.
func (p *Passwords) UserCommand(name string, body *api.PutUser) (accounts.Command, error) {
	c := accounts.Command{Kind: accounts.PutUser, User: name, Tags: *body.Tags}
	var err error
	if c.Algorithm, err = p.Algorithm(body.HashingAlgorithm, body.PasswordHash != nil); err != nil {
		return c, err
	}
	switch {
	case body.Password != nil && body.PasswordHash != nil:
		return c, web.BadRequest("both_password_and_password_hash_are_provided")
	case body.Password != nil:
		c.Password = *body.Password
		return c, p.Check(c.Password)
	case body.PasswordHash != nil:
		hash, err := base64.StdEncoding.DecodeString(*body.PasswordHash)
		if err != nil {
			return c, web.BadRequest("password_hash is not base64: %v", err)
		}
		c.Hash = hash
	}
	return c, nil
}

func deleteUser(r *web.Request) (web.Answer, error) {
	u, found := r.View.User(r.PathValue("user"))
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	if u.Tagged(tagProtected) {
		return web.Answer{}, web.BadRequest("user '%s' is protected and cannot be deleted", u.Name)
	}
	if _, err := r.Change(accounts.Command{Kind: accounts.DeleteUser, User: u.Name}); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

// bulkDeleteUsers deletes users: all that are named, or none if one does not exist or is protected.
func bulkDeleteUsers(r *web.Request) (web.Answer, error) {
	var body api.BulkDelete
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("users", body.Users != nil)); err != nil {
		return web.Answer{}, err
	}
	for _, name := range body.Users {
		u, found := r.View.User(name)
		if !found {
			return web.Answer{}, web.BadRequest("no_such_user '%s'", name)
		}
		if u.Tagged(tagProtected) {
			return web.Answer{}, web.BadRequest("user '%s' is protected and cannot be deleted", name)
		}
	}
	for _, name := range body.Users {
		_, err := r.Change(accounts.Command{Kind: accounts.DeleteUser, User: name})
		if err != nil && web.CodeOf(err) != amqp.CodeNotFound {
			return web.Answer{}, web.AsBadRequest(err)
		}
	}
	return web.NoContent()
}
