package definitions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
)

// An identity is a command that makes users, virtual hosts, permissions, limits or global parameters.
type identity struct {
	accounts.Command
	what  string // for refusals
	wrong error  // it cannot even be asked for
}

// identities lists them in the order in which one needs the other.
func (m *importer) identities(d *definitions) (all []identity) {
	add := func(c accounts.Command, wrong error, what string, args ...any) {
		all = append(all, identity{c, fmt.Sprintf(what, args...), wrong})
	}
	limits := func(c accounts.Command, limits api.Limits, what string) {
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			c.Name, c.Limit = name, int64(limits[name])
			add(c, nil, "%s", what)
		}
	}
	if d.VHost == "" {
		for _, u := range d.Users {
			what := "user '" + u.Name + "'"
			if u.Tags == nil {
				u.Tags = &api.Tags{}
			}
			c, err := m.passwords.UserCommand(u.Name, &u.PutUser)
			add(c, err, "%s", what)
			limits(accounts.Command{Kind: accounts.SetUserLimit, User: u.Name}, u.Limits, what)
		}
		for _, h := range d.VHosts {
			what := "vhost '" + h.Name + "'"
			add(m.vhostCommand(&h), nil, "%s", what)
			limits(accounts.Command{Kind: accounts.SetVHostLimit, VHost: h.Name}, h.Limits, what)
		}
	}
	for _, p := range d.Parameters {
		if name := d.vhostOf(p.VHost); p.Component == resources.LimitsComponent && name != "" {
			what := "limits of vhost '" + name + "'"
			var values api.Limits
			if err := json.Unmarshal(p.Value, &values); err != nil {
				add(accounts.Command{}, err, "%s", what)
			}
			limits(accounts.Command{Kind: accounts.SetVHostLimit, VHost: name}, values, what)
		}
	}
	if d.VHost != "" {
		return all
	}
	for _, p := range d.Permissions {
		add(accounts.Command{Kind: accounts.SetPermission, User: p.User, VHost: p.VHost, Configure: p.Configure,
			Write: p.Write, Read: p.Read}, nil,
			"permissions of user '%s' in vhost '%s'", p.User, p.VHost)
	}
	for _, p := range d.TopicPermissions {
		add(accounts.Command{
			Kind: accounts.SetTopicPermission, User: p.User, VHost: p.VHost,
			Exchange: resources.TopicExchange(p.Exchange), Write: p.Write, Read: p.Read,
		}, nil, "topic permissions of user '%s' in vhost '%s'", p.User, p.VHost)
	}
	for _, g := range d.GlobalParameters {
		add(accounts.Command{Kind: accounts.SetGlobalParameter, Name: g.Name, Value: g.Value}, nil,
			"global parameter '%s'", g.Name)
	}
	return all
}

// vhostCommand makes a virtual host, or changes what h says of it.
func (m *importer) vhostCommand(h *api.DefinedVHost) accounts.Command {
	c := accounts.Command{Kind: accounts.PutVHost, VHost: h.Name}
	if old, there := m.engine.Accounts().VHost(h.Name); there {
		c = resources.PutAgain(old)
	}
	if h.Metadata != nil {
		c.Description, c.Tags, c.DefaultQueueType = h.Metadata.Description, h.Metadata.Tags, h.Metadata.DefaultQueueType
	}
	if h.Description != nil {
		c.Description = *h.Description
	}
	if h.Tags != nil {
		c.Tags = *h.Tags
	}
	if h.DefaultQueueType != nil {
		c.DefaultQueueType = *h.DefaultQueueType
	}
	if c.DefaultQueueType == "undefined" {
		c.DefaultQueueType = ""
	}
	if h.Tracing != nil {
		c.Tracing = false // see finish
	}
	if h.ProtectedFromDeletion != nil {
		c.Protected = bool(*h.ProtectedFromDeletion)
	}
	return c
}

// vhostOf is the virtual host that something named "" or by its name goes into.
func (d *definitions) vhostOf(name string) string {
	if d.VHost != "" {
		return d.VHost
	}
	return name
}

// vhostNames lists the virtual hosts that d has contents for. What names none is passed over: its name is not listed.
func (d *definitions) vhostNames() []string {
	names := map[string]bool{}
	for _, x := range d.Parameters {
		names[d.vhostOf(x.VHost)] = true
	}
	for _, x := range d.Policies {
		names[d.vhostOf(x.VHost)] = true
	}
	for _, x := range d.Exchanges {
		names[d.vhostOf(x.VHost)] = true
	}
	for _, x := range d.Queues {
		names[d.vhostOf(x.VHost)] = true
	}
	for _, x := range d.Bindings {
		names[d.vhostOf(x.VHost)] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}
