package config

import (
	"strings"
	"testing"
	"time"
)

func TestNewVHosts(t *testing.T) {
	// If this fails, virtual hosts begin with other users, limits or policies than the configuration says, or one half
	// said is passed over.
	t.Parallel()
	n := mustLoad(t, `
consumer_timeout = 90000
vhost_max = 12
default_users.ops.vhost_pattern = ^ops-
default_users.ops.tags = monitoring, management
default_users.ops.password = s3cret
default_users.ops.write = ^$
default_limits.vhosts.2.pattern = .*
default_limits.vhosts.2.max_queues = 5
default_limits.vhosts.1.pattern = ^dev
default_limits.vhosts.1.max_connections = 3
default_policies.operator.bounded.vhost_pattern = ^dev
default_policies.operator.bounded.queue_pattern = ^q
default_policies.operator.bounded.max_length_bytes = 1MB
default_policies.operator.bounded.expires = 1d12h
default_policies.operator.bounded.classic_queues.ha_mode = all
`, nil).Broker.NewVHosts
	if n.Max != 12 || n.ConsumerTimeout != 90*time.Second || len(n.Users) != 1 || len(n.Limits) != 2 || len(n.Policies) != 1 {
		t.Fatalf("%+v", n)
	}
	if u := n.Users[0]; u.Name != "ops" || !u.VHosts.MatchString("ops-1") || u.VHosts.MatchString("dev") || strings.Join(u.Tags, " ") != "monitoring management" ||
		u.Password != "s3cret" || u.Write != "^$" || u.Read != ".*" {
		t.Errorf("user %+v", u)
	}
	if first, second := n.Limits[0], n.Limits[1]; first.ConnectionsMax != 3 || first.QueuesMax != -1 || second.QueuesMax != 5 {
		t.Errorf("limits %+v", n.Limits)
	}
	if p := n.Policies[0]; p.Name != "bounded" || p.Queues != "^q" || len(p.Settings) != 2 || p.Settings["max-length-bytes"] != 1<<20 || p.Settings["expires"] != 129_600_000 {
		t.Errorf("policy %+v", p)
	}
	for text, want := range map[string]string{
		"default_policies.operator.a.queue_pattern = x": "default_policies.operator.a has no settings",
		"default_policies.operator.a.expires = soon":    "is not a duration",
		"default_policies.operator.a.queue_pattern = (": "missing closing )",
		"default_users.a.read = (?!x)":                  "invalid",
		"default_users.a.shoesize = 3":                  "unknown key",
		"default_limits.vhosts.1.max_queues = many":     "whole number",
		"consumer_timeout = 0":                          "from 1",
		"vhost_max = -1":                                "from 0",
	} {
		if _, err := load(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
