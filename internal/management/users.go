package management

import (
	"encoding/base64"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
)

// tagProtected marks users that cannot be changed or deleted over HTTP. Source: RabbitMQ management API, users.
const tagProtected = "protected"

func showUser(u *access.User) api.User {
	return api.User{
		Name: u.Name, PasswordHash: base64.StdEncoding.EncodeToString(u.Hash), HashingAlgorithm: u.Algorithm.String(),
		Tags: u.Tags, Limits: showLimits(u.Limits),
	}
}

func getUsers(r *request) (answer, error) {
	return listUsers(r, func(*access.User) bool { return true })
}

// getUsersWithoutPermissions lists the users who may enter no virtual host.
func getUsersWithoutPermissions(r *request) (answer, error) {
	permitted := map[string]bool{}
	for _, p := range r.view.Permissions() {
		permitted[p.User] = true
	}
	return listUsers(r, func(u *access.User) bool { return !permitted[u.Name] })
}

func listUsers(r *request, wanted func(*access.User) bool) (answer, error) {
	var all []api.User
	for _, u := range r.view.Users() {
		if wanted(u) {
			all = append(all, showUser(u))
		}
	}
	return list(r, all, func(u *api.User) string { return u.Name })
}

func getUser(r *request) (answer, error) {
	u, found := r.view.User(r.names[0])
	if !found {
		return answer{}, errNotFound
	}
	return ok(showUser(u))
}

// putUser makes a user or replaces one's password and tags. Source: RabbitMQ management API, PUT /api/users.
func putUser(r *request) (answer, error) {
	var body api.PutUser
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if body.Tags == nil {
		return answer{}, badRequest("tags_not_present")
	}
	if old, found := r.view.User(r.names[0]); found && old.Tagged(tagProtected) {
		return answer{}, badRequest("user '%s' is protected and cannot be changed", old.Name)
	}
	c, err := r.server.options.Passwords.userCommand(r.names[0], &body)
	if err != nil {
		return answer{}, err
	}
	created, err := r.change(c)
	if err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

// userCommand reads a user's password, hash and tags.
func (p *Passwords) userCommand(name string, body *api.PutUser) (access.Command, error) {
	c := access.Command{Kind: access.PutUser, User: name, Tags: *body.Tags}
	var err error
	if c.Algorithm, err = p.algorithm(body.HashingAlgorithm, body.PasswordHash != nil); err != nil {
		return c, err
	}
	switch {
	case body.Password != nil && body.PasswordHash != nil:
		return c, badRequest("both_password_and_password_hash_are_provided")
	case body.Password != nil:
		c.Password = *body.Password
		return c, p.check(c.Password)
	case body.PasswordHash != nil:
		hash, err := base64.StdEncoding.DecodeString(*body.PasswordHash)
		if err != nil {
			return c, badRequest("password_hash is not base64: %v", err)
		}
		c.Hash = hash
	}
	return c, nil
}

func deleteUser(r *request) (answer, error) {
	u, found := r.view.User(r.names[0])
	if !found {
		return answer{}, errNotFound
	}
	if u.Tagged(tagProtected) {
		return answer{}, badRequest("user '%s' is protected and cannot be deleted", u.Name)
	}
	if _, err := r.change(access.Command{Kind: access.DeleteUser, User: u.Name}); err != nil {
		return answer{}, err
	}
	return nothing()
}

// bulkDeleteUsers deletes users: all that are named, or none if one does not exist or is protected.
func bulkDeleteUsers(r *request) (answer, error) {
	var body api.BulkDelete
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"users", body.Users != nil}); err != nil {
		return answer{}, err
	}
	for _, name := range body.Users {
		u, found := r.view.User(name)
		if !found {
			return answer{}, badRequest("no_such_user '%s'", name)
		}
		if u.Tagged(tagProtected) {
			return answer{}, badRequest("user '%s' is protected and cannot be deleted", name)
		}
	}
	for _, name := range body.Users {
		_, err := r.change(access.Command{Kind: access.DeleteUser, User: name})
		if err != nil && codeOf(err) != amqp.CodeNotFound {
			return answer{}, plainly(err)
		}
	}
	return nothing()
}
