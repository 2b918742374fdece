package engine

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestConnectionLimits says that more connections are let in than a vhost or a user may have, two that come at once
// among them; that fewer are; or that those that were refused, or have ended, are counted for ever.
func TestConnectionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		for _, u := range []string{"u", "w"} {
			change(t, e, accounts.Command{Kind: accounts.PutUser, User: u},
				accounts.Command{Kind: accounts.SetPermission, User: u, VHost: "/", Configure: ".*"},
				accounts.Command{Kind: accounts.SetPermission, User: u, VHost: "v", Configure: ".*"})
		}
		limit := func(kind accounts.CommandKind, n int64) {
			change(t, e, accounts.Command{Kind: kind, VHost: "v", User: "u", Name: accounts.LimitConnections, Limit: n})
		}
		try := func(user, vhost string) (*Session, string) {
			s, err := e.Attach(&client{t: t, events: make(chan string, 10)}, ConnInfo{Principal: testPrincipal(user), VHost: vhost})
			if err != nil {
				return nil, err.Error()
			}
			return s, ""
		}
		limit(accounts.SetVHostLimit, 2)
		limit(accounts.SetUserLimit, 3)
		for round := range 3 {
			var wait sync.WaitGroup
			var sessions [8]*Session
			for i := range sessions {
				wait.Go(func() { sessions[i], _ = try("u", "v") })
			}
			wait.Wait()
			n := 0
			for _, s := range sessions {
				if s != nil {
					n++
				}
			}
			if n != 2 {
				t.Fatalf("round %d: %d connections of 2", round, n)
			}
			const full = "access to vhost 'v' refused for user 'w': connection limit (2) is reached"
			if _, err := try("w", "v"); err != "530 NOT_ALLOWED - "+full {
				t.Errorf("one too many for the vhost: %s", err)
			}
			third, err := try("u", "/")
			if err != "" {
				t.Errorf("the user's third connection: %s", err)
			}
			if _, err := try("u", "/"); err != "530 NOT_ALLOWED - connection refused for user 'u': user connection limit (3) is reached" {
				t.Errorf("one too many for the user: %s", err)
			}
			if _, err := e.Do(t.Context(), "/", testPrincipal("u")); err != nil {
				t.Errorf("a command over HTTP counts as a connection: %v", err)
			}
			for _, s := range append(sessions[:], third) {
				if s != nil {
					s.Close()
					s.Close()
				}
			}
		}
		limit(accounts.SetVHostLimit, 0)
		if _, err := try("w", "v"); err == "" {
			t.Error("let in where nobody may be")
		}
		limit(accounts.SetVHostLimit, -1)
		limit(accounts.ClearUserLimit, 0)
		for range 5 {
			if _, err := try("u", "v"); err != "" {
				t.Errorf("refused without a limit: %s", err)
			}
		}
		if _, err := try("u", "none"); err != "530 NOT_ALLOWED - vhost none not found" {
			t.Error(err)
		}
		change(t, e, accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
		if n := e.connectionLimits.mu.byUser["u"]; n != 0 {
			t.Errorf("%d connections of a vhost that is gone are counted", n)
		}
	})
}

// TestChannelLimit says that a user may open more channels than allowed, over all its connections; that it is refused
// with another text than RabbitMQ's; or that closed channels count.
func TestChannelLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "u"},
			accounts.Command{Kind: accounts.SetPermission, User: "u", VHost: "/", Configure: ".*",
				Write: ".*", Read: ".*"},
			accounts.Command{Kind: accounts.SetUserLimit, User: "u", Name: accounts.LimitChannels, Limit: 3})
		a, b := attach(t, e, "u"), attach(t, e, "u")
		a.open()
		a.expect()
		b.open()
		b.expect("closed NOT_ALLOWED - number of channels opened for user 'u' has reached the maximum allowed user limit of (3)")
		a.post(vhost.Command{Kind: vhost.CloseChannel, NoWait: true})
		b.open()
		b.expect("closed NOT_ALLOWED - number of channels opened for user 'u' has reached the maximum allowed user limit of (3)")
		b.session.Close()
		for range 2 {
			a.open()
			a.expect()
			a.post(get("none")) // refused, and so closed
			a.take()
		}
		a.session.Close()
		if n := len(e.connectionLimits.mu.channels) + len(e.connectionLimits.mu.byUser) + len(e.connectionLimits.mu.byVHost); n != 0 {
			t.Errorf("something is counted when all is over: %+v", &e.connectionLimits.mu)
		}
	})
}

// TestQueueTypeOfNode says that the type of queues that the configuration names is not that of new queues, or that a
// virtual host cannot have another.
func TestQueueTypeOfNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk(), func(o *Options) { o.QueueType = "quorum" })
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "old", DefaultQueueType: "classic"},
			accounts.Command{Kind: accounts.SetPermission, User: "guest", VHost: "old", Configure: ".*",
				Write: ".*", Read: ".*"})
		for name, want := range map[string]string{"/": "quorum", "old": "classic"} {
			if _, err := e.Do(t.Context(), name, testPrincipal("guest"), declare("a")); err != nil {
				t.Fatal(err)
			}
			if err := e.Query(t.Context(), name, func(v vhost.Reader) {
				if q, _ := v.Queue("a"); q.Type != want {
					t.Errorf("a queue in %s is of type %s, want %s", name, q.Type, want)
				}
			}); err != nil {
				t.Error(err)
			}
		}
		if got := e.QueueType(); got != "quorum" {
			t.Errorf("queues are of type %s", got)
		}
	})
}

// TestQueueLimit says that a vhost gets more queues than allowed, that those which are there cannot be declared, or
// that the default queue type is not that of new queues.
func TestQueueLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.SetVHostLimit, VHost: "/", Name: accounts.LimitQueues, Limit: 2},
			accounts.Command{Kind: accounts.PutVHost, VHost: "/", DefaultQueueType: "quorum"})
		c := attach(t, e, "")
		c.post(declare("a"), declare("b"), declare("a"), vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "b", Passive: true}})
		c.expect("done")
		c.post(declare("c"))
		c.expect("closed PRECONDITION_FAILED - cannot declare queue 'c': queue limit in vhost '/' (2) is reached")
		if err := e.Query(t.Context(), "/", func(v vhost.Reader) {
			q, _ := v.Queue("a")
			if a, _ := q.Arguments.Get("x-queue-type"); q.Type != "quorum" || !a.Equal(amqp.String("quorum")) {
				t.Errorf("a queue of type %s, argument %v", q.Type, a)
			}
		}); err != nil {
			t.Error(err)
		}
		c.open()
		c.post(vhost.Command{Kind: vhost.DeleteQueue, NoWait: true, Definition: &vhost.Definition{Name: "a"}}, declare("c"))
		c.expect()
	})
}
