package management

import (
	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
)

func showPermission(p *access.Permission) api.Permission {
	return api.Permission{User: p.User, VHost: p.VHost, Configure: p.Configure, Write: p.Write, Read: p.Read}
}

func showTopicPermission(p *access.TopicPermission) api.TopicPermission {
	return api.TopicPermission{User: p.User, VHost: p.VHost, Exchange: shownTopicExchange(p.Exchange), Write: p.Write, Read: p.Read}
}

func (r *request) listPermissions(wanted func(*access.Permission) bool) (answer, error) {
	var all []api.Permission
	for _, p := range r.view.Permissions() {
		if wanted(p) {
			all = append(all, showPermission(p))
		}
	}
	return list(r, all, func(p *api.Permission) string { return p.User })
}

func (r *request) listTopicPermissions(wanted func(*access.TopicPermission) bool) (answer, error) {
	var all []api.TopicPermission
	for _, p := range r.view.TopicPermissions() {
		if wanted(p) {
			all = append(all, showTopicPermission(p))
		}
	}
	return list(r, all, func(p *api.TopicPermission) string { return p.User })
}

func getPermissions(r *request) (answer, error) {
	return r.listPermissions(func(*access.Permission) bool { return true })
}

func getTopicPermissions(r *request) (answer, error) {
	return r.listTopicPermissions(func(*access.TopicPermission) bool { return true })
}

func getVHostPermissions(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	return r.listPermissions(func(p *access.Permission) bool { return p.VHost == r.names[0] })
}

func getVHostTopicPermissions(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	return r.listTopicPermissions(func(p *access.TopicPermission) bool { return p.VHost == r.names[0] })
}

func getUserPermissions(r *request) (answer, error) {
	if _, found := r.view.User(r.names[0]); !found {
		return answer{}, errNotFound
	}
	return r.listPermissions(func(p *access.Permission) bool { return p.User == r.names[0] })
}

func getUserTopicPermissions(r *request) (answer, error) {
	if _, found := r.view.User(r.names[0]); !found {
		return answer{}, errNotFound
	}
	return r.listTopicPermissions(func(p *access.TopicPermission) bool { return p.User == r.names[0] })
}

// grantee makes sure that the virtual host and the user of a path exist.
func (r *request) grantee() (vhost, user string, err error) {
	vhost, user = r.names[0], r.names[1]
	_, hasVHost := r.view.VHost(vhost)
	if _, hasUser := r.view.User(user); !hasVHost || !hasUser {
		return "", "", errNotFound
	}
	return vhost, user, nil
}

func getPermission(r *request) (answer, error) {
	for _, p := range r.view.Permissions() {
		if p.VHost == r.names[0] && p.User == r.names[1] {
			return ok(showPermission(p))
		}
	}
	return answer{}, errNotFound
}

func putPermission(r *request) (answer, error) {
	var body api.PutPermission
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	err := needKeys(key{"configure", body.Configure != nil}, key{"write", body.Write != nil}, key{"read", body.Read != nil})
	if err != nil {
		return answer{}, err
	}
	if _, _, err := r.grantee(); err != nil {
		return answer{}, badRequest("vhost_or_user_not_found")
	}
	created, err := r.change(access.Command{
		Kind: access.SetPermission, VHost: r.names[0], User: r.names[1],
		Configure: *body.Configure, Write: *body.Write, Read: *body.Read,
	})
	if err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

func deletePermission(r *request) (answer, error) {
	if _, err := getPermission(r); err != nil {
		return answer{}, err
	}
	if _, err := r.change(access.Command{Kind: access.ClearPermission, VHost: r.names[0], User: r.names[1]}); err != nil {
		return answer{}, err
	}
	return nothing()
}

// getTopicPermission answers with a list: one for each exchange.
func getTopicPermission(r *request) (answer, error) {
	vhost, user, err := r.grantee()
	if err != nil {
		return answer{}, err
	}
	var all []api.TopicPermission
	for _, p := range r.view.TopicPermissions() {
		if p.VHost == vhost && p.User == user {
			all = append(all, showTopicPermission(p))
		}
	}
	if all == nil {
		return answer{}, errNotFound
	}
	return plain(r, all)
}

func putTopicPermission(r *request) (answer, error) {
	var body api.PutTopicPermission
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	err := needKeys(key{"exchange", body.Exchange != nil}, key{"write", body.Write != nil}, key{"read", body.Read != nil})
	if err != nil {
		return answer{}, err
	}
	if _, _, err := r.grantee(); err != nil {
		return answer{}, badRequest("vhost_or_user_not_found")
	}
	created, err := r.change(access.Command{
		Kind: access.SetTopicPermission, VHost: r.names[0], User: r.names[1], Exchange: topicExchange(*body.Exchange),
		Write: *body.Write, Read: *body.Read,
	})
	if err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

// topicExchange is the name under which the default exchange's topic permission is kept: RabbitMQ's clients send an
// empty one for it.
func topicExchange(name string) string {
	if name == "" {
		return access.DefaultExchange
	}
	return name
}

// shownTopicExchange is the name under which it is shown: the empty one again.
func shownTopicExchange(name string) string {
	if name == access.DefaultExchange {
		return ""
	}
	return name
}

// deleteTopicPermission clears those of one exchange, if the path names one, or of all. Whoever has some, of whatever
// exchange, is answered alike. Source: RabbitMQ management API, topic-permissions.
func deleteTopicPermission(r *request) (answer, error) {
	vhost, user, err := r.grantee()
	if err != nil {
		return answer{}, err
	}
	c := access.Command{Kind: access.ClearTopicPermission, VHost: vhost, User: user}
	if len(r.names) > 2 {
		c.Exchange = topicExchange(r.names[2])
	}
	exists := false
	for _, p := range r.view.TopicPermissions() {
		exists = exists || p.VHost == vhost && p.User == user
	}
	if !exists {
		return answer{}, errNotFound
	}
	if _, err := r.change(c); err != nil {
		return answer{}, err
	}
	return nothing()
}
