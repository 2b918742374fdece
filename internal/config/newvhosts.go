package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/duration"
)

// newVHosts is what virtual hosts begin with, while it is read: by the names that the keys give.
type newVHosts struct {
	users    map[string]*bartleby.NewVHostUser
	limits   map[string]*bartleby.NewVHostLimits
	policies map[string]*bartleby.NewVHostPolicy
}

// newVHostKeys are RabbitMQ's for what virtual hosts begin with.
var newVHostKeys = func() []key {
	all := []key{
		{name: "consumer_timeout", set: to(span(time.Millisecond, 1, 1<<32-1), func(s *Settings) *time.Duration { return &s.Broker.NewVHosts.ConsumerTimeout }),
			normal: "1800000"},
		{name: "vhost_max", set: to(limit, func(s *Settings) *int { return &s.Broker.NewVHosts.Max }), normal: "infinity"},

		{name: "default_users.$name.vhost_pattern", set: inside(regexp.Compile, userOf, func(u *bartleby.NewVHostUser) **regexp.Regexp { return &u.VHosts })},
		{name: "default_users.$name.password", set: inside(text, userOf, func(u *bartleby.NewVHostUser) *string { return &u.Password }), secret: true},
		{name: "default_users.$name.tags", set: inside(words, userOf, func(u *bartleby.NewVHostUser) *[]string { return &u.Tags })},
		{name: "default_users.$name.configure", set: inside(pattern, userOf, func(u *bartleby.NewVHostUser) *string { return &u.Configure })},
		{name: "default_users.$name.read", set: inside(pattern, userOf, func(u *bartleby.NewVHostUser) *string { return &u.Read })},
		{name: "default_users.$name.write", set: inside(pattern, userOf, func(u *bartleby.NewVHostUser) *string { return &u.Write })},

		{name: "default_limits.vhosts.$id.pattern", set: inside(regexp.Compile, limitsOf, func(l *bartleby.NewVHostLimits) **regexp.Regexp { return &l.VHosts })},
		{name: "default_limits.vhosts.$id.max_connections", set: inside(orNone, limitsOf, func(l *bartleby.NewVHostLimits) *int64 { return &l.ConnectionsMax })},
		{name: "default_limits.vhosts.$id.max_queues", set: inside(orNone, limitsOf, func(l *bartleby.NewVHostLimits) *int64 { return &l.QueuesMax })},

		{name: "default_policies.operator.$id.vhost_pattern", set: inside(regexp.Compile, policyOf, func(p *bartleby.NewVHostPolicy) **regexp.Regexp { return &p.VHosts })},
		{name: "default_policies.operator.$id.queue_pattern", set: inside(pattern, policyOf, func(p *bartleby.NewVHostPolicy) *string { return &p.Queues })},
	}
	for name, read := range map[string]func(string) (int64, error){
		"expires": milliseconds, "message_ttl": milliseconds, "max_length": whole[int64](1, 1<<53), "max_length_bytes": bytesize,
		"delivery_limit": whole[int64](1, 1<<53),
	} {
		all = append(all, key{name: "default_policies.operator.$id." + name, set: func(s *Settings, names []string, value string) error {
			n, err := read(value)
			if err == nil {
				policyOf(s, names[0]).Settings[strings.ReplaceAll(name, "_", "-")] = n
			}
			return err
		}})
	}
	return all
}()

// inside makes a set of a reader of values and a place in what has the name that the key has.
func inside[O, T any](read func(string) (T, error), object func(*Settings, string) *O, place func(*O) *T) set {
	return func(s *Settings, names []string, value string) error {
		v, err := read(value)
		if err == nil {
			*place(object(s, names[0])) = v
		}
		return err
	}
}

// made returns what has a name, after it was made if it was not there.
func made[O any](m *map[string]*O, name string, begin O) *O {
	if *m == nil {
		*m = map[string]*O{}
	}
	if (*m)[name] == nil {
		(*m)[name] = &begin
	}
	return (*m)[name]
}

func userOf(s *Settings, name string) *bartleby.NewVHostUser {
	return made(&s.newVHosts.users, name, bartleby.NewVHostUser{Name: name, Configure: ".*", Write: ".*", Read: ".*"})
}

func limitsOf(s *Settings, id string) *bartleby.NewVHostLimits {
	return made(&s.newVHosts.limits, id, bartleby.NewVHostLimits{ConnectionsMax: -1, QueuesMax: -1})
}

func policyOf(s *Settings, id string) *bartleby.NewVHostPolicy {
	return made(&s.newVHosts.policies, id, bartleby.NewVHostPolicy{Name: id, Queues: ".*", Settings: map[string]int64{}})
}

// into puts what was read into the configuration of the broker.
func (n *newVHosts) into(b *bartleby.NewVHosts) error {
	var mistakes []error
	for _, name := range slices.Sorted(maps.Keys(n.users)) {
		b.Users = append(b.Users, *n.users[name])
	}
	byNumber := func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	}
	for _, id := range slices.SortedFunc(maps.Keys(n.limits), byNumber) {
		b.Limits = append(b.Limits, *n.limits[id])
	}
	for _, id := range slices.Sorted(maps.Keys(n.policies)) {
		if len(n.policies[id].Settings) == 0 {
			mistakes = append(mistakes, fmt.Errorf("default_policies.operator.%s has no settings", id))
		}
		b.Policies = append(b.Policies, *n.policies[id])
	}
	return errors.Join(mistakes...)
}

// words reads a list with commas.
func words(value string) (list []string, _ error) {
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list, nil
}

// pattern reads a regular expression that is kept as text.
func pattern(value string) (string, error) {
	_, err := regexp.Compile(value)
	return value, err
}

// orNone reads a number, negative or infinity for none.
func orNone(value string) (int64, error) {
	if value == "infinity" {
		return -1, nil
	}
	return whole[int64](-1, 1<<53)(value)
}

// milliseconds reads a duration, or a number of milliseconds, as RabbitMQ does.
func milliseconds(value string) (int64, error) {
	if n, err := whole[int64](1, 1<<53)(value); err == nil {
		return n, nil
	}
	n, err := duration.Milliseconds(value)
	if err == nil && n < 1 {
		err = fmt.Errorf("'%s' is not longer than 0", value)
	}
	return n, err
}
