package engine

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// NewVHosts says what vhosts begin with, and how many there may be. Users and limits are made in one batch with the
// vhost.
// Source: RabbitMQ default_users, default_limits.vhosts, default_policies.operator, vhost_max.
type NewVHosts struct {
	Max      int // vhosts beside which no more are made; 0: no limit
	Users    []NewVHostUser
	Limits   []NewVHostLimits   // the first whose pattern matches counts
	Policies []NewVHostPolicies // all whose patterns match

	// ConsumerTimeout, ms, is that of vhosts whose options say nothing else; nil: what vhost has. It is set as the
	// option consumer-timeout, also of vhosts that are there already, and set anew when it changes.
	ConsumerTimeout *int64
}

// A NewVHostUser is made with a vhost unless it is there, and permitted in it.
type NewVHostUser struct {
	VHosts                 *regexp.Regexp // nil: all
	Name, Password         string         // no password: none can be given to log in
	Tags                   []string
	Configure, Write, Read string
}

// NewVHostLimits are limits that a vhost begins with.
type NewVHostLimits struct {
	VHosts *regexp.Regexp // nil: all
	Limits []accounts.Limit
}

// NewVHostPolicies is an operator policy that a vhost begins with.
type NewVHostPolicies struct {
	VHosts *regexp.Regexp // nil: all
	Policy vhost.Policy
}

func covers(pattern *regexp.Regexp, name string) bool {
	return pattern == nil || pattern.MatchString(name)
}

// refuse refuses one vhost more than there may be.
func (n *NewVHosts) refuse(m *accounts.Machine, c *accounts.Command) error {
	if n.Max == 0 || c.Kind != accounts.PutVHost {
		return nil
	}
	view := m.View()
	if _, there := view.VHost(c.VHost); there || view.CountVHosts() < n.Max {
		return nil
	}
	return amqp.PreconditionFailed("cannot create vhost '%s': vhost limit of %d is reached", c.VHost, n.Max)
}

// WithVHost are the commands that are decided with the making of a vhost, where users and vhosts are as in view.
func (e *Engine) WithVHost(name string, view *accounts.View) []accounts.Command {
	return e.newVHosts.commands(name, view)
}

// VHostMax is how many vhosts there may be, 0 for any number.
func (e *Engine) VHostMax() int { return e.newVHosts.Max }

// commands are what has to be decided with the making of a vhost.
func (n *NewVHosts) commands(name string, view *accounts.View) (all []accounts.Command) {
	for _, u := range n.Users {
		if !covers(u.VHosts, name) {
			continue
		}
		if _, there := view.User(u.Name); !there {
			all = append(all, accounts.Command{Kind: accounts.PutUser, User: u.Name, Password: u.Password,
				Tags: u.Tags})
		}
		all = append(all, accounts.Command{Kind: accounts.SetPermission, User: u.Name, VHost: name,
			Configure: u.Configure, Write: u.Write, Read: u.Read})
	}
	if i := slices.IndexFunc(n.Limits, func(l NewVHostLimits) bool { return covers(l.VHosts, name) }); i >= 0 {
		for _, l := range n.Limits[i].Limits {
			all = append(all, accounts.Command{Kind: accounts.SetVHostLimit, VHost: name, Name: l.Name, Limit: l.Value})
		}
	}
	return all
}

// furnish gives a vhost that was made its operator policies and options.
func (e *Engine) furnish(name string) {
	var commands []vhost.Command
	if e.newVHosts.ConsumerTimeout != nil {
		commands = append(commands, timeoutOption(amqp.Int64(*e.newVHosts.ConsumerTimeout)))
	}
	for _, p := range e.newVHosts.Policies {
		if covers(p.VHosts, name) {
			commands = append(commands, vhost.Command{Kind: vhost.SetPolicy, Policy: &p.Policy})
		}
	}
	if commands == nil {
		return
	}
	if _, err := e.Do(context.Background(), name, authz.Broker(), commands...); err != nil {
		e.slog.Error("cannot apply all configured defaults to a new virtual host", "vhost", name, "error", err)
	}
}

const timeoutName = "consumer-timeout"

func timeoutOption(value amqp.Value) vhost.Command {
	return vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{Arguments: amqp.Table{{Name: timeoutName, Value: value}}}}
}

// timeoutParameter is the global parameter that tells which consumer timeout the configuration had when it was last put
// into force, so that vhosts with another one of their own keep it.
const timeoutParameter = "configured_consumer_timeout"

// putTimeout has the vhosts that are there follow the configured consumer timeout.
func (e *Engine) putTimeout() error {
	var before, now *int64
	if g, there := e.Accounts().GlobalParameter(timeoutParameter); there {
		if err := json.Unmarshal(g.Value, &before); err != nil {
			before = nil // somebody else's
		}
	}
	if now = e.newVHosts.ConsumerTimeout; before == nil && now == nil || before != nil && now != nil && *before == *now {
		return nil
	}
	value := amqp.Value{Kind: amqp.KindVoid} // takes it away
	if now != nil {
		value = amqp.Int64(*now)
	}
	ctx, failed := context.Background(), false
	for _, h := range e.Accounts().VHosts() {
		ours := false
		err := e.Query(ctx, h.Name, func(v vhost.Reader) {
			_, options := v.Options()
			has, set := options.Get(timeoutName)
			n, _ := has.Integer()
			ours = !set || before != nil && n == *before
		})
		if err == nil && ours {
			_, err = e.Do(ctx, h.Name, authz.Broker(), timeoutOption(value))
		}
		if err != nil {
			e.slog.Error("cannot apply the configured consumer timeout", "vhost", h.Name, "error", err)
			failed = true
		}
	}
	if failed {
		return nil // the next start tries again
	}
	c := accounts.Command{Kind: accounts.ClearGlobalParameter, Name: timeoutParameter}
	if now != nil {
		text, err := json.Marshal(*now)
		if err != nil {
			return err
		}
		c = accounts.Command{Kind: accounts.SetGlobalParameter, Name: timeoutParameter, Value: text}
	}
	_, err := e.ChangeAccounts(ctx, c)
	return err
}
