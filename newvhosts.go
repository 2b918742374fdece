package bartleby

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// NewVHosts says what virtual hosts begin with, and how many there may be; the zero value is nothing, and any number.
// Source: RabbitMQ default_users, default_limits.vhosts, default_policies.operator, vhost_max, consumer_timeout.
type NewVHosts struct {
	Max      int // virtual hosts beside which no more are made; zero: no limit
	Users    []NewVHostUser
	Limits   []NewVHostLimits // the first whose pattern matches counts
	Policies []NewVHostPolicy // all whose patterns match

	// ConsumerTimeout is how long a delivery may stay unsettled in virtual hosts whose options say nothing else, also
	// in those that are there already, to the millisecond; zero: half an hour.
	ConsumerTimeout time.Duration
}

// NewVHostUser is a user who is made with a virtual host unless it is there, and permitted in it.
type NewVHostUser = engine.NewVHostUser

// NewVHostLimits are limits that a virtual host begins with; negative: none.
type NewVHostLimits struct {
	VHosts                    *regexp.Regexp // nil: all
	ConnectionsMax, QueuesMax int64
}

// NewVHostPolicy is an operator policy that a virtual host begins with.
type NewVHostPolicy struct {
	VHosts   *regexp.Regexp // nil: all
	Name     string
	Queues   string           // a pattern of their names
	Settings map[string]int64 // by the keys of policies, such as max-length
}

// newVHosts are the options of the engine.
func (c *Config) newVHosts() engine.NewVHosts {
	n := engine.NewVHosts{Max: c.NewVHosts.Max, Users: c.NewVHosts.Users}
	if t := c.NewVHosts.ConsumerTimeout; t > 0 {
		ms := t.Milliseconds()
		n.ConsumerTimeout = &ms
	}
	for _, l := range c.NewVHosts.Limits {
		limits := engine.NewVHostLimits{VHosts: l.VHosts}
		for _, one := range []accounts.Limit{{Name: accounts.LimitConnections, Value: l.ConnectionsMax},
			{Name: accounts.LimitQueues, Value: l.QueuesMax}} {
			if one.Value >= 0 {
				limits.Limits = append(limits.Limits, one)
			}
		}
		n.Limits = append(n.Limits, limits)
	}
	for _, p := range c.NewVHosts.Policies {
		policy := vhost.Policy{Name: p.Name, Operator: true, Pattern: p.Queues, ApplyTo: "queues"}
		for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
			policy.Definition = append(policy.Definition, amqp.Field{Name: key, Value: amqp.Int64(p.Settings[key])})
		}
		n.Policies = append(n.Policies, engine.NewVHostPolicies{VHosts: p.VHosts, Policy: policy})
	}
	return n
}
