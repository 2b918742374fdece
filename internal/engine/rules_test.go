package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// change changes users and vhosts, and fails if it is refused.
func change(t *testing.T, e *Engine, commands ...accounts.Command) {
	t.Helper()
	if _, err := e.ChangeAccounts(t.Context(), commands...); err != nil {
		t.Fatal(err)
	}
}

func dlxArgs(exchange, key string) []amqp.Field {
	return []amqp.Field{
		{Name: "x-dead-letter-exchange", Value: amqp.String(exchange)}, {Name: "x-dead-letter-routing-key", Value: amqp.String(key)},
	}
}

// TestPermissions says that somebody may do what they are not permitted to, or not what they are: the exact
// permission of each operation, and the text that clients match.
func TestPermissions(t *testing.T) {
	named := func(kind vhost.CommandKind, d vhost.Definition) vhost.Command {
		return vhost.Command{Kind: kind, Definition: &d}
	}
	topicPublish := func(key string) vhost.Command {
		c := publish(key, "m")
		c.Exchange = []byte("t-out")
		return c
	}
	topicTo := func(key, cc string) vhost.Command {
		c := topicPublish(key)
		table := amqp.Table{{Name: "CC", Value: amqp.Array(amqp.String(cc))}}
		c.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: table})
		return c
	}
	for _, c := range []struct {
		name    string
		command vhost.Command
		refused string // what access, to what; "" if it may
	}{
		{"declare", declare("mine-1"), ""},
		{"declare another's", declare("other"), "configure access to queue 'other'"},
		{"declare passively", named(vhost.DeclareQueue, vhost.Definition{Name: "mine-0", Passive: true}), ""},
		{"declare passively what may be read", named(vhost.DeclareQueue, vhost.Definition{Name: "unwritten", Passive: true}), ""},
		{"declare another's passively", named(vhost.DeclareQueue, vhost.Definition{Name: "theirs", Passive: true}), "configure access to queue 'theirs'"},
		{"declare another's exchange passively", named(vhost.DeclareExchange, vhost.Definition{Name: "secret", Passive: true}), "configure access to exchange 'secret'"},
		{"declare passively an exchange that may be written", named(vhost.DeclareExchange, vhost.Definition{Name: "out", Passive: true}), ""},
		{"declare an exchange again", named(vhost.DeclareExchange, vhost.Definition{Name: "mine-a", Type: "fanout",
			Arguments: amqp.Table{{Name: "alternate-exchange", Value: amqp.String("secret")}}}), ""},
		{"an exchange that cannot be read", named(vhost.DeclareExchange, vhost.Definition{Name: "unread-x", Type: "fanout",
			Arguments: amqp.Table{{Name: "alternate-exchange", Value: amqp.String("out")}}}), "read access to exchange 'unread-x'"},
		{"link from another's", named(vhost.BindExchange, vhost.Definition{Name: "out", Source: "secret"}), "read access to exchange 'secret'"},
		{"unlink another's", named(vhost.UnbindExchange, vhost.Definition{Name: "secret", Source: "in"}), "write access to exchange 'secret'"},
		{"unbind another's queue", named(vhost.UnbindQueue, vhost.Definition{Name: "theirs", Source: "in"}), "write access to queue 'theirs'"},
		{"bind to another's topic", named(vhost.BindQueue, vhost.Definition{Name: "mine-0", Source: "in-t", RoutingKey: "b.#"}), "read access to topic 'b.#' in exchange 'in-t'"},
		{"link to a topic", named(vhost.BindExchange, vhost.Definition{Name: "out", Source: "in-t", RoutingKey: "a.#"}), ""},
		{"link to another's topic", named(vhost.BindExchange, vhost.Definition{Name: "out", Source: "in-t", RoutingKey: "b"}), "read access to topic 'b' in exchange 'in-t'"},
		{"publish to another's topic with CC", topicTo("a", "b"), "write access to topic 'b' in exchange 't-out'"},
		{"take direct replies", named(vhost.Consume, vhost.Definition{Name: "amq.rabbitmq.reply-to", ConsumerTag: "r", NoAck: true}), ""},
		{"declare with a dead-letter exchange", declare("mine-2", dlxArgs("out", "k")...), ""},
		{"declare with another's dead-letter exchange", declare("mine-2", dlxArgs("secret", "k")...), "write access to exchange 'secret'"},
		{"declare with the default exchange for dead letters", declare("mine-2", dlxArgs("", "k")...), "write access to exchange 'amq.default'"},
		{"declare what cannot be read", declare("unread-1", dlxArgs("out", "k")...), "read access to queue 'unread-1'"},
		{"declare again what has another's dead-letter exchange", declare("mine-lettered", dlxArgs("secret", "k")...), ""},
		{"delete", named(vhost.DeleteQueue, vhost.Definition{Name: "theirs"}), "configure access to queue 'theirs'"},
		{"purge", named(vhost.PurgeQueue, vhost.Definition{Name: "theirs"}), "read access to queue 'theirs'"},
		{"get", get("theirs"), "read access to queue 'theirs'"},
		{"consume", consume("theirs"), "read access to queue 'theirs'"},
		{"get one's own", get("mine-0"), ""},
		{"publish by the default exchange", publish("mine-0", "m"), "write access to exchange 'amq.default'"},
		{"publish", vhost.Command{Kind: vhost.Publish, Exchange: []byte("secret"), Properties: properties(1)}, "write access to exchange 'secret'"},
		{"publish to one's own", vhost.Command{Kind: vhost.Publish, Exchange: []byte("out"), Properties: properties(1)}, ""},
		{"publish to a topic", topicPublish("a.b"), ""},
		{"publish to another's topic", topicPublish("b.b"), "write access to topic 'b.b' in exchange 't-out'"},
		{"bind", named(vhost.BindQueue, vhost.Definition{Name: "mine-0", Source: "in"}), ""},
		{"bind to another's exchange", named(vhost.BindQueue, vhost.Definition{Name: "mine-0", Source: "secret"}), "read access to exchange 'secret'"},
		{"bind another's queue", named(vhost.BindQueue, vhost.Definition{Name: "theirs", Source: "in"}), "write access to queue 'theirs'"},
		{"link", named(vhost.BindExchange, vhost.Definition{Name: "out", Source: "in"}), ""},
		{"link another's", named(vhost.BindExchange, vhost.Definition{Name: "secret", Source: "in"}), "write access to exchange 'secret'"},
		{"declare an exchange", named(vhost.DeclareExchange, vhost.Definition{Name: "other", Type: "fanout"}), "configure access to exchange 'other'"},
		{"delete an exchange", named(vhost.DeleteExchange, vhost.Definition{Name: "secret"}), "configure access to exchange 'secret'"},
		{"an alternate exchange", named(vhost.DeclareExchange, vhost.Definition{Name: "mine-x", Type: "fanout",
			Arguments: amqp.Table{{Name: "alternate-exchange", Value: amqp.String("secret")}}}), "write access to exchange 'secret'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := start(t, newDisk())
				defer stop(t, e)
				change(t, e,
					accounts.Command{Kind: accounts.PutUser, User: "u"},
					accounts.Command{Kind: accounts.SetPermission, User: "u", VHost: "/", Configure: "^(mine|unread)",
						Write: "^(mine|out|t-out)", Read: "^(mine|in$|in-t|unwritten)"},
					accounts.Command{Kind: accounts.SetTopicPermission, User: "u", VHost: "/", Exchange: "t-out",
						Write: "^a", Read: "^a"},
					accounts.Command{Kind: accounts.SetTopicPermission, User: "u", VHost: "/", Exchange: "in-t",
						Write: "^a", Read: "^a"})
				broker := attach(t, e, "")
				broker.post(declare("theirs"), declare("mine-0"), declare("mine-lettered", dlxArgs("secret",
					"k")...), declare("unwritten"))
				for x, kind := range map[string]string{"secret": "fanout", "in": "fanout", "out": "fanout", "t-out": "topic", "in-t": "topic", "mine-a": "fanout"} {
					d := vhost.Definition{Name: x, Type: kind}
					if x == "mine-a" {
						d.Arguments = amqp.Table{{Name: "alternate-exchange", Value: amqp.String("secret")}}
					}
					broker.post(vhost.Command{Kind: vhost.DeclareExchange, NoWait: true, Definition: &d})
				}
				broker.expect()

				u := attach(t, e, "u")
				c.command.NoWait = true
				u.post(c.command)
				got := strings.Join(u.take(), "; ")
				want := "closed ACCESS_REFUSED - " + c.refused + " in vhost '/' refused for user 'u'"
				if refused := strings.Contains(got, "closed"); refused != (c.refused != "") || refused && got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// TestRefusedForWhatItIs says that a user without permissions is told of those before what nobody may do, or that the
// text is not that of RabbitMQ; or that the name of a queue which the broker is to name needs no permission.
func TestRefusedForWhatItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "u"},
			accounts.Command{Kind: accounts.SetPermission, User: "u", VHost: "/", Write: ".*", Configure: "^x"})
		attach(t, e, "").post(declare("x"))
		u := attach(t, e, "u")
		for _, c := range []struct {
			kind vhost.CommandKind
			d    vhost.Definition
			want string
		}{
			{vhost.DeclareQueue, vhost.Definition{Name: "amq.q"}, "queue name 'amq.q' contains reserved prefix 'amq.*'"},
			{vhost.DeclareQueue, vhost.Definition{Passive: true}, "no queue '' in vhost '/'"},
			{vhost.DeclareQueue, vhost.Definition{}, "configure access to queue 'amq.gen-"},
			{vhost.DeclareExchange, vhost.Definition{Type: "fanout"}, "operation not permitted on the default exchange"},
			{vhost.DeclareExchange, vhost.Definition{Name: "x", Type: "fanout",
				Arguments: amqp.Table{{Name: "alternate-exchange", Value: amqp.Int32(1)}}}, "invalid type 'signedint' for arg 'alternate-exchange' in exchange 'x' in vhost '/'"},
			{vhost.DeleteExchange, vhost.Definition{Name: "amq.direct"}, "deletion of system exchange 'amq.direct' in vhost '/' not allowed"},
			{vhost.DeleteExchange, vhost.Definition{}, "operation not permitted on the default exchange"},
			{vhost.BindExchange, vhost.Definition{Name: "x"}, "operation not permitted on the default exchange"},
			{vhost.BindExchange, vhost.Definition{Source: "x"}, "operation not permitted on the default exchange"},
			{vhost.BindQueue, vhost.Definition{Name: "x"}, "operation not permitted on the default exchange"},
			{vhost.PurgeQueue, vhost.Definition{}, "no previously declared queue"},
		} {
			u.open()
			u.post(vhost.Command{Kind: c.kind, Definition: &c.d})
			if got := strings.Join(u.take(), "; "); !strings.Contains(got, " - "+c.want) {
				t.Errorf("command %d, %q: got %q, want %q", c.kind, c.d.Name, got, c.want)
			}
		}
	})
}

// TestPermissionsChange says that a permission that was taken away is still good for who publishes already.
func TestPermissionsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		all := accounts.Command{Kind: accounts.SetPermission, User: "u", VHost: "/", Configure: ".*",
			Write: ".*", Read: ".*"}
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "u"}, all)
		u := attach(t, e, "u")
		u.post(declare("work"), confirms(), publish("work", "1"), publish("work", "2"))
		u.expect("confirm 1", "confirm 2")
		all.Write = ""
		change(t, e, all)
		u.post(publish("work", "3"))
		u.expect("closed ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'u'")
		if n := ready(t, e, "work"); n != 2 {
			t.Errorf("%d messages", n)
		}
	})
}

// TestConsumersLoseWhatTheyMayNotRead says that a consumer goes on when it may no longer read, or is not told; or that
// another one ends with it.
func TestConsumersLoseWhatTheyMayNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		all := accounts.Command{Kind: accounts.SetPermission, User: "u", VHost: "/", Configure: ".*",
			Write: ".*", Read: ".*"}
		other := all
		other.User = "o"
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "u"},
			accounts.Command{Kind: accounts.PutUser, User: "o"}, all, other)
		quiet, told, mine := attach(t, e, "u"), attach(t, e, "u"), attach(t, e, "o")
		told.session.info.CancelNotify = true
		mine.post(declare("a"), declare("b"))
		quiet.post(consume("a"))
		told.post(consume("a"))
		b := consume("b")
		b.Definition.ConsumerTag = "b"
		told.post(b)
		synctest.Wait() // all of them consume

		all.Read = "^b$"
		change(t, e, all)
		mine.post(publish("a", "for nobody"), publish("b", "for b"))
		quiet.expect()
		told.expect("cancelled", "deliver for b")
		mine.post(consume("a"))
		mine.expect("deliver for nobody")

		change(t, e, accounts.Command{Kind: accounts.DeleteUser, User: "u"})
		for _, c := range []*client{quiet, told} {
			if err := c.stoppedWith(); err == nil || err.Text != "CONNECTION_FORCED - user 'u' was deleted" {
				t.Errorf("a deleted user's connection was stopped with %v", err)
			}
		}
		mine.post(get("b"))
		mine.expect("got for b")
		told.session.Close()
	})
}

// TestAttach says that a vhost lets in whom it should not.
func TestAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "u"},
			accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		for _, info := range []ConnInfo{
			{VHost: "none", Principal: authz.Broker()}, {VHost: "none", Principal: testPrincipal("u")}, {VHost: "/", Principal: testPrincipal("u")},
			{VHost: "/", Principal: testPrincipal("nobody")}, {VHost: "/"},
		} {
			_, err := e.Attach(&client{t: t}, info)
			var refused *amqp.Error
			if !errors.As(err, &refused) || refused.Code != amqp.CodeNotAllowed {
				t.Errorf("%+v: %v", info, err)
			}
		}
	})
}

// TestDeleteVHost says that a deleted vhost lives on: for its clients, in its log, or in a new one of its name.
func TestDeleteVHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		if _, err := e.Do(t.Context(), "v", authz.Broker(), declare("work"), publish("work", "m")); err != nil {
			t.Fatal(err)
		}
		c := &client{t: t, events: make(chan string, 10)}
		var err error
		if c.session, err = e.Attach(c, ConnInfo{Principal: authz.Broker(), VHost: "v", Window: WindowDefault}); err != nil {
			t.Fatal(err)
		}
		other := attach(t, e, "")
		change(t, e, accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
		if err := c.stoppedWith(); err == nil || err.Code != amqp.CodeConnectionForced {
			t.Errorf("stopped with %v", err)
		}
		if other.stoppedWith() != nil {
			t.Error("a client of another vhost was stopped")
		}
		c.session.Close() // the frontend does, whatever happened
		if _, err := e.Do(t.Context(), "v", authz.Broker(), get("work")); err == nil {
			t.Error("a deleted vhost answers")
		}
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		for range 2 {
			if _, err := e.Do(t.Context(), "v", authz.Broker(), get("work")); err == nil || !strings.Contains(err.Error(), "NOT_FOUND") {
				t.Errorf("the new vhost has the old one's queue: %v", err)
			}
			stop(t, e)
			e = start(t, d)
		}
		stop(t, e)
	})
}

// TestDo says that a one-off command is not answered, leaves something behind, or that its refusal is lost.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		effects, err := e.Do(t.Context(), "/", testPrincipal("guest"), declare("work"), publish("work", "m"), get("work"), get("work"))
		if err != nil || len(effects) != 2 || effects[0].Kind != vhost.DeliverGot || effects[1].Kind != vhost.DeliverNone {
			t.Fatalf("%v, %v", effects, err)
		}
		_, err = e.Do(t.Context(), "/", testPrincipal("guest"), get("none"), publish("work", "after the refusal"))
		var refused *amqp.Error
		if !errors.As(err, &refused) || refused.Code != amqp.CodeNotFound {
			t.Errorf("refused with %v", err)
		}
		if n := ready(t, e, "work"); n != 0 {
			t.Errorf("%d messages: what came after a refusal was done", n)
		}
		if err := e.Query(t.Context(), "/", func(v vhost.Reader) {
			if n := len(v.Channels()); n != 0 {
				t.Errorf("%d channels are left", n)
			}
		}); err != nil {
			t.Error(err)
		}
		if err := e.Query(t.Context(), "none", func(vhost.Reader) {}); err == nil {
			t.Error("one can look into a vhost that does not exist")
		}
	})
}

// TestLookWaitsUntilSafe says that a list shows what may still be lost, or that nobody can stop waiting for it.
func TestLookWaitsUntilSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		c := attach(t, e, "")
		release := d.holdSyncs()
		c.post(declare("work"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Query(ctx, "/", func(vhost.Reader) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the look has ended: %v", err)
		}
		if _, err := e.Do(ctx, "/", authz.Broker(), get("work")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the command is answered: %v", err)
		}
		release()
		if n := ready(t, e, "work"); n != 0 {
			t.Errorf("the queue has %d messages", n)
		}
	})
}

// TestAdvance says that things that are due do not happen each at its own instant when a test moves the clock,
// or have not happened when it returns.
func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		began := e.Now()
		c := attach(t, e, "")
		for i := range 5 { // a dead letter passes a queue each second
			arguments := append(dlxArgs("", fmt.Sprint("q", i+1)), amqp.Field{Name: "x-message-ttl", Value: amqp.Int32(1000)})
			c.post(declare(fmt.Sprint("q", i), arguments...))
		}
		c.post(declare("q5"), publish("q0", "m"))
		synctest.Wait() // the message is in q0
		if err := e.Advance(t.Context(), 4999*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if n := ready(t, e, "q4"); n != 1 {
			t.Errorf("%d messages in q4 1 ms before the last instant", n)
		}
		if err := e.Advance(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if n := ready(t, e, "q5"); n != 1 {
			t.Errorf("%d messages in q5", n)
		}
		if d := e.Now().Sub(began); d != 5*time.Second {
			t.Errorf("%s have passed", d)
		}
		effects, err := e.Do(t.Context(), "/", authz.Broker(), get("q5"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := effects[0].Message.View()
		if err != nil {
			t.Fatal(err)
		}
		p, err := amqp.ParseProperties(v.Properties)
		if err != nil {
			t.Fatal(err)
		}
		deaths, _ := p.Headers.Get("x-death")
		for i, death := range deaths.Array {
			at, _ := death.Table.Get("time")
			if want := began.Unix() + int64(len(deaths.Array)-i); at.Int != want {
				t.Errorf("death %d was at %d, not %d", i, at.Int, want)
			}
		}
		if len(deaths.Array) != 5 {
			t.Errorf("%d deaths", len(deaths.Array))
		}
	})
}

// TestTimer says that with a clock that runs nothing happens in time, or something early: the deadline may be
// the first, an earlier one than is waited for, or one that is set by whoever steps the vhost in place.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk(), func(o *Options) { o.Clock = SystemClock() })
		defer stop(t, e)
		if err := e.Advance(t.Context(), time.Second); !errors.Is(err, ErrClock) {
			t.Errorf("a running clock was moved: %v", err)
		}
		c := attach(t, e, "")
		c.post(declare("work", dlxArgs("", "grave")...), declare("grave"), consume("grave"))
		for _, ttl := range []int{5000, 1000, 3000} {
			c.post(vhost.Command{Kind: vhost.Publish, Key: []byte("work"), Body: fmt.Append(nil, ttl), Properties: amqp.AppendProperties(nil,
				&amqp.Properties{Has: amqp.FlagExpiration, Expiration: fmt.Sprint(ttl)})})
		}
		began := time.Now()
		for _, ttl := range []int{1000, 3000, 5000} {
			if got := <-c.events; got != fmt.Sprint("deliver ", ttl) {
				t.Errorf("got %q", got)
			}
			late := time.Since(began) - time.Duration(ttl)*time.Millisecond
			if late < 0 || late > 2*time.Millisecond {
				t.Errorf("after %d ms, late by %s", ttl, late)
			}
		}
		c.take()
	})
}

// TestWindow says that a client that does not read is sent more than its window, or nothing more once it reads.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		c := &client{t: t, events: make(chan string, 1000)}
		var err error
		if c.session, err = e.Attach(c, ConnInfo{Principal: authz.Broker(), VHost: "/", Window: 500}); err != nil {
			t.Fatal(err)
		}
		c.open()
		c.post(declare("work"), vhost.Command{Kind: vhost.Consume, NoWait: true, Definition: &vhost.Definition{Name: "work", NoAck: true}})
		for range 20 {
			c.post(publish("work", "m"))
		}
		n := len(c.take())
		if n == 0 || n > 10 {
			t.Fatalf("%d messages of about 90 bytes in a window of 500", n)
		}
		c.session.Written(500)
		if more := len(c.take()); more == 0 || more > n {
			t.Errorf("then %d messages, after %d", more, n)
		}
	})
}

// TestGetsWaitForTheWindow says that a few octets, asking for the same message over and over, fill the memory of the
// broker; or that what waits is never done, or done out of order, or outlives its connection.
func TestGetsWaitForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		c := &client{t: t, events: make(chan string, 1000)}
		var err error
		if c.session, err = e.Attach(c, ConnInfo{Principal: authz.Broker(), VHost: "/", Window: 500}); err != nil {
			t.Fatal(err)
		}
		c.open()
		c.post(declare("work"), publish("work", "m"))
		var gets []vhost.Command
		for i := range 20 {
			gets = append(gets, vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}},
				vhost.Command{Kind: vhost.Nack, Tag: uint64(i + 1), Requeue: true})
		}
		c.take()
		freed := 0
		batch := func(commands ...vhost.Command) {
			for i := range commands {
				commands[i].Channel = c.channel
			}
			c.session.Submit(&Batch{Commands: commands, Free: func(*Batch) { freed++ }})
		}
		batch(gets...)
		batch(publish("work", "behind the gets"))
		n := len(c.take())
		if n == 0 || n > 10 || freed != 0 {
			t.Fatalf("%d gets of about 90 bytes in a window of 500, %d batches done", n, freed)
		}
		if ready := ready(t, e, "work"); ready != 1 {
			t.Errorf("%d messages ready: a publish has overtaken the gets before it", ready)
		}
		for range 20 {
			c.session.Written(500)
			n += len(c.take())
		}
		if n != 20 || freed != 2 {
			t.Errorf("%d of 20 gets, %d of 2 batches were done once the client read", n, freed)
		}
		batch(append(gets, gets...)...)
		batch(publish("work", "never"))
		c.take()
		c.session.Close()
		if freed != 4 {
			t.Errorf("%d of 4 batches were given back", freed)
		}
		if ready := ready(t, e, "work"); ready != 2 {
			t.Errorf("%d messages ready, want 2", ready)
		}
	})
}
