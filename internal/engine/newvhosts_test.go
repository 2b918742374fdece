package engine

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestNewVHosts says that a vhost that was made does not have the users, limits, policies and options that the
// configuration gives it, that one that matches no pattern has them, or that more are made than there may be.
func TestNewVHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := int64(90_000)
		dev := regexp.MustCompile("^dev")
		e := start(t, newDisk(), func(o *Options) {
			o.NewVHosts = NewVHosts{
				Max: 3, ConsumerTimeout: &timeout,
				Users: []NewVHostUser{{VHosts: dev, Name: "ops", Tags: []string{"monitoring"}, Configure: "",
					Write: "^w", Read: ".*"}},
				Limits: []NewVHostLimits{{VHosts: dev,
					Limits: []accounts.Limit{{Name: accounts.LimitQueues, Value: 1}}}},
				Policies: []NewVHostPolicies{{VHosts: dev, Policy: vhost.Policy{
					Name: "bounded", Operator: true, Pattern: ".*", ApplyTo: "queues", Definition: amqp.Table{{Name: "max-length", Value: amqp.Int64(5)}},
				}}},
			}
		})
		defer stop(t, e)
		created, err := e.ChangeAccounts(t.Context(), accounts.Command{Kind: accounts.PutVHost, VHost: "dev1"})
		if err != nil || !created {
			t.Fatalf("created %v, %v", created, err)
		}
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "prod"},
			accounts.Command{Kind: accounts.PutVHost, VHost: "dev1", Description: "again"})
		v := e.Accounts()
		u, _ := v.User("ops")
		h, _ := v.VHost("dev1")
		if most, _ := h.Limit(accounts.LimitQueues); u == nil || !v.HasAccess("ops", "dev1") ||
			v.HasAccess("ops", "prod") || most != 1 {
			t.Errorf("user %+v, %d queues at most", u, most)
		}
		for name, policies := range map[string]int{"/": 0, "dev1": 1, "prod": 0} {
			if err := e.Query(t.Context(), name, func(v vhost.Reader) {
				if o, _ := v.Options(); o.ConsumerTimeout != timeout || len(v.Policies(true)) != policies {
					t.Errorf("%s has a timeout of %d ms and %d policies", name, o.ConsumerTimeout, len(v.Policies(true)))
				}
			}); err != nil {
				t.Error(err)
			}
		}
		_, err = e.ChangeAccounts(t.Context(), accounts.Command{Kind: accounts.PutVHost, VHost: "fourth"})
		if err == nil || !strings.Contains(err.Error(), "cannot create vhost 'fourth': vhost limit of 3 is reached") {
			t.Errorf("one too many: %v", err)
		}
	})
}

// TestConfiguredConsumerTimeout says that vhosts which are there already do not follow the configured timeout, or that
// one which was given another one loses it.
func TestConfiguredConsumerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		run := func(ms int64, do func(*Engine)) {
			e := start(t, d, func(o *Options) {
				if ms > 0 {
					o.NewVHosts.ConsumerTimeout = &ms
				}
			})
			defer stop(t, e)
			do(e)
		}
		expect := func(want, own int64) func(*Engine) {
			return func(e *Engine) {
				for name, want := range map[string]int64{"/": want, "own": own} {
					if err := e.Query(t.Context(), name, func(v vhost.Reader) {
						if o, _ := v.Options(); o.ConsumerTimeout != want {
							t.Errorf("%s has a timeout of %d ms, want %d", name, o.ConsumerTimeout, want)
						}
					}); err != nil {
						t.Error(err)
					}
				}
			}
		}
		run(0, func(e *Engine) {
			change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "own"})
			if _, err := e.Do(t.Context(), "own", authz.Broker(), timeoutOption(amqp.Int64(7))); err != nil {
				t.Fatal(err)
			}
			expect(1_800_000, 7)(e)
		})
		run(60_000, expect(60_000, 7))
		run(60_000, expect(60_000, 7))
		run(70_000, expect(70_000, 7))
		run(0, expect(1_800_000, 7))
	})
}

// If this fails, a data directory that was made before clusters had an ID never gets one, gets another at every start,
// or does not start while its disk does not answer.
func TestClusterIDOfAnOldDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		id := func(e *Engine) string {
			synctest.Wait()
			if p, ok := e.Accounts().GlobalParameter(accounts.ClusterIDParameter); ok {
				return string(p.Value)
			}
			return ""
		}
		e := start(t, d, noReserve)
		change(t, e, accounts.Command{Kind: accounts.ClearGlobalParameter, Name: accounts.ClusterIDParameter})
		stop(t, e)
		release := d.holdSyncs()
		e = start(t, d, noReserve)
		if got := id(e); got != "" {
			t.Errorf("the ID %s is told before it is on the disk", got)
		}
		release()
		stop(t, e)
		var ids []string
		for range 2 {
			e = start(t, d, noReserve)
			ids = append(ids, id(e))
			stop(t, e)
		}
		if ids[0] == "" || ids[0] != ids[1] {
			t.Errorf("the IDs at two starts: %q", ids)
		}
	})
}
