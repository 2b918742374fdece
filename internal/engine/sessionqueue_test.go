package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// hold keeps the vhost from deciding anything until the function that it returns is called: what is sent
// meanwhile comes in one round.
func hold(t *testing.T, e *Engine) (release func()) {
	t.Helper()
	wait := make(chan struct{})
	go func() {
		if err := e.Query(context.Background(), "/", func(vhost.Reader) { <-wait }); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return func() { close(wait) }
}

// bodies takes all messages of a queue.
func bodies(t *testing.T, e *Engine, queue string) (all []string) {
	t.Helper()
	c := attach(t, e, "")
	defer c.session.Close()
	for {
		gets := make([]vhost.Command, 500)
		for i := range gets {
			gets[i] = get(queue)
		}
		c.post(gets...)
		for _, s := range c.take() {
			body, ok := strings.CutPrefix(s, "got ")
			if !ok {
				return all
			}
			all = append(all, body)
		}
		c.session.Written(1 << 30)
	}
}

// flood is batches of small messages.
func flood(name string, batches, n int) [][]vhost.Command {
	all := make([][]vhost.Command, batches)
	for b := range all {
		for k := range n {
			all[b] = append(all[b], publish("work", fmt.Sprintf("%s %06d", name, b*n+k)))
		}
	}
	return all
}

// TestSessionsTakeTurns says that one message waits for all that others have sent before it, or that what a session
// sends is decided out of order.
func TestSessionsTakeTurns(t *testing.T) {
	const each = 800 // a message of a flood makes a little more work
	for _, sessions := range []int{1, 8, 40} {
		synctest.Test(t, func(t *testing.T) {
			e := start(t, newDisk())
			defer stop(t, e)
			one := attach(t, e, "")
			one.post(declare("work"))
			var floods []*client
			for range sessions {
				floods = append(floods, attach(t, e, ""))
			}
			release := hold(t, e)
			for i, c := range floods {
				for _, b := range flood(fmt.Sprint("flood ", i), 4, 2000/sessions) {
					c.post(b...)
				}
			}
			one.post(publish("work", "one"))
			release()
			all := bodies(t, e, "work")
			if want := sessions*4*(2000/sessions) + 1; len(all) != want {
				t.Fatalf("%d messages of %d", len(all), want)
			}
			if at := slices.Index(all, "one"); at > 1+min(roundWork, sessions*shareMost+turnsWork)/each {
				t.Errorf("%d sessions: %d messages went first", sessions, at)
			}
			last := map[string]string{}
			for _, body := range all {
				name := body[:max(0, len(body)-7)]
				if last[name] > body {
					t.Fatalf("%q comes behind %q", body, last[name])
				}
				last[name] = body
			}
		})
	}
}

// bindCompares declares an exchange "compares" that leads to the queue "work", after very much work for each message.
func bindCompares(b *client) {
	x := vhost.Definition{Name: "compares", Type: "headers"}
	b.post(vhost.Command{Kind: vhost.DeclareExchange, Definition: &x})
	arguments := amqp.Table{{Name: "x-match", Value: amqp.String("any")}}
	for i := range 4 {
		arguments = append(arguments, amqp.Field{Name: fmt.Sprint("h", i), Value: amqp.String("no")})
	}
	for i := range 1000 {
		own := append(slices.Clone(arguments), amqp.Field{Name: fmt.Sprint("own", i), Value: amqp.String("no")})
		to := vhost.Definition{Name: "work", Source: "compares", Arguments: own}
		b.post(vhost.Command{Kind: vhost.BindQueue, NoWait: true, Definition: &to})
	}
	arguments = amqp.Table{{Name: "x-match", Value: amqp.String("all")}}
	all := vhost.Definition{Name: "work", Source: "compares", Arguments: arguments}
	b.post(vhost.Command{Kind: vhost.BindQueue, NoWait: true, Definition: &all})
}

// sendCostly has so many sessions of user "u" send one costly message each, to the exchange of bindCompares. The vhost
// decides them, and what is sent meanwhile, in one round after release.
func sendCostly(t *testing.T, e *Engine, sessions int) (heavy []*client, release func()) {
	t.Helper()
	for range sessions {
		heavy = append(heavy, attach(t, e, "u"))
	}
	release = hold(t, e)
	for i, c := range heavy {
		m := publish("", fmt.Sprint("heavy ", i))
		m.Exchange = []byte("compares")
		c.post(m)
	}
	return heavy, release
}

// addUser adds a user who may do everything in the vhost.
func addUser(t *testing.T, e *Engine, name string) {
	t.Helper()
	change(t, e, accounts.Command{Kind: accounts.PutUser, User: name},
		accounts.Command{Kind: accounts.SetPermission, User: name, VHost: "/", Configure: ".*", Write: ".*", Read: ".*"})
}

// TestUsersTakeTurns says that a user can hold up all others with one costly message on each of many connections, or
// with the ends of many connections.
func TestUsersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		addUser(t, e, "u")
		one := attach(t, e, "")
		one.post(declare("work"))
		bindCompares(one)
		const sessions = 100
		heavy, release := sendCostly(t, e, sessions)
		one.post(publish("work", "one"))
		release()
		synctest.Wait()
		all := bodies(t, e, "work")
		if len(all) != sessions+1 {
			t.Fatalf("%d messages", len(all))
		}
		if at := slices.Index(all, "one"); at > 20 {
			t.Errorf("%d costly messages went first", at)
		}
		var ends []chan error
		for _, c := range heavy {
			ends = append(ends, c.session.leave())
		}
		for _, ended := range ends {
			<-ended
		}
	})
}

// TestLastWordsOfASession says that an honest publisher which closes its socket at once loses what it has sent, or
// that what is very much work is all done for a session that has gone.
func TestLastWordsOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		a, b := attach(t, e, ""), attach(t, e, "")
		b.post(declare("work"))
		release := hold(t, e)
		sent := flood("a", 4, 2000)
		for _, batch := range sent {
			a.post(batch...)
		}
		ended := a.session.leave()
		release()
		<-ended
		if n := len(bodies(t, e, "work")); n != 8000 {
			t.Errorf("%d messages of 8000", n)
		}
		a = attach(t, e, "")
		bindCompares(b)
		release = hold(t, e)
		var heavy []vhost.Command
		for k := range 1000 {
			c := publish("", fmt.Sprint("heavy ", k))
			c.Exchange = []byte("compares")
			heavy = append(heavy, c)
		}
		a.post(heavy...)
		b.post(publish("work", "one"))
		ended = a.session.leave()
		release()
		<-ended
		got := bodies(t, e, "work")
		if n := len(got); n < 50 || n > 500 {
			t.Errorf("%d messages are there", n)
		}
		if at := slices.Index(got, "one"); at < 0 || at > 8 { // each heavy one makes about 400 KiB
			t.Errorf("the message of another session is number %d", at)
		}
	})
}

// TestWhyABusyVHostIsLate says that a slow disk is blamed for what a connection has sent.
func TestWhyABusyVHostIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		a := attach(t, e, "")
		a.post(declare("work"))
		release := hold(t, e)
		for _, b := range flood("a", 2, 2000) {
			a.post(b...)
		}
		releaseNext := hold(t, e)
		release()
		synctest.Wait()
		var n int
		_, err := fmt.Sscanf(e.WhyLate("/"), "vhost '/' is busy: connection 'test' has %d commands waiting", &n)
		if err != nil || n < 1000 || n > 3999 {
			t.Errorf("%q", e.WhyLate("/"))
		}
		releaseNext()
		a.take()
		if why := e.WhyLate("/"); strings.Contains(why, "busy") {
			t.Errorf("%q", why)
		}
	})
}

// TestUsersDoNotWaitForPasses says that what a user sends all the time waits until each of another user's sessions had
// its turn.
func TestUsersDoNotWaitForPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		addUser(t, e, "u")
		one := attach(t, e, "")
		one.post(declare("work"))
		bindCompares(one)
		const sessions = 200
		_, release := sendCostly(t, e, sessions)
		for _, b := range flood("one", 4, 100) { // less than a round's share, more than a session's of so many
			for i := range b {
				b[i].Body = append(b[i].Body, make([]byte, 1000)...)
			}
			one.post(b...)
		}
		release()
		synctest.Wait()
		all := bodies(t, e, "work")
		if len(all) != sessions+400 {
			t.Fatalf("%d messages", len(all))
		}
		slices.Reverse(all)
		after := slices.IndexFunc(all, func(body string) bool { return strings.HasPrefix(body, "one") })
		if before := sessions - after; before > 20 {
			t.Errorf("%d costly messages of another user went first", before)
		}
	})
}

// TestEndsWaitForWhatOthersSend says that the ends of many connections, of one user each, are decided in one round, and
// that what others send waits for them.
func TestEndsWaitForWhatOthersSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		one := attach(t, e, "")
		one.post(declare("work"))
		const sessions, unsettled = 50, 400
		var leaving []*client
		for i := range sessions {
			user := fmt.Sprint("u", i)
			addUser(t, e, user)
			c := attach(t, e, user)
			c.post(declare(user))
			for range unsettled {
				c.post(publishTransient(user, "x"))
			}
			c.post(consume(user))
			leaving = append(leaving, c)
		}
		synctest.Wait()
		r, err := e.runnerOf("/")
		if err != nil || !r.ownership.take(r.stop) {
			t.Fatal(err)
		}
		var ends []chan error
		for _, c := range leaving {
			ends = append(ends, c.session.leave())
		}
		one.post(publish("work", "one"))
		most := 0 // work of a round
		for rounds := 0; rounds == 0 || r.queue.queued > 0; rounds++ {
			r.mu.Lock()
			inbox := r.mu.inbox
			r.mu.inbox = nil
			r.mu.Unlock()
			r.step(inbox)
			most = max(most, r.queue.made)
			if rounds == 0 {
				if n := r.vhost.Reader().Traffic().Received; n != sessions*unsettled+1 {
					t.Errorf("%d messages are published in the first round", n)
				}
			}
		}
		r.release()
		for _, ended := range ends {
			<-ended
		}
		if most > turnsWork+unsettled*1024 {
			t.Errorf("a round has decided %d KiB", most>>10)
		}
	})
}
