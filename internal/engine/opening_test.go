package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// slowness makes vhosts slow to open: each fact takes that long, until it is over.
type slowness struct {
	fact  time.Duration
	names []string
	over  atomic.Bool
}

func (s *slowness) set(o *Options) {
	o.replaying = func(vhost string) {
		if slices.Contains(s.names, vhost) && !s.over.Load() {
			time.Sleep(s.fact)
		}
	}
}

// slowVHosts leaves a disk with vhosts "slow-0" and so on, each of which has 100 queues, and with "z", which has one
// message. Each is opened as slowly as it is said by what is returned.
func slowVHosts(t *testing.T, n int) (*disk, *slowness) {
	t.Helper()
	d, s := newDisk(), &slowness{fact: time.Minute}
	e := start(t, d)
	queues := make([]vhost.Command, 0, 100)
	for i := range cap(queues) {
		queues = append(queues, declare(fmt.Sprintf("q%d", i)))
	}
	do := func(name string, commands ...vhost.Command) {
		if _, err := e.ChangeAccounts(t.Context(), accounts.Command{Kind: accounts.PutVHost, VHost: name}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Do(t.Context(), name, authz.Broker(), commands...); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		s.names = append(s.names, fmt.Sprintf("slow-%d", i))
		do(s.names[i], queues...)
	}
	do("z", declare("work"), publish("work", "m"))
	stop(t, e)
	return d, s
}

// queuesOf counts the queues of a vhost.
func queuesOf(t *testing.T, e *Engine, name string) (n int) {
	t.Helper()
	if err := e.Query(t.Context(), name, func(v vhost.Reader) { n = len(v.QueueNames()) }); err != nil {
		t.Errorf("vhost %s: %v", name, err)
	}
	return n
}

// If this fails, a few virtual hosts that take long to open keep all others closed, or the whole node; or a client of
// one of them is not told that it is being opened; or it stays closed.
func TestVHostsOpenSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 3 * openPlacesMax
		d, s := slowVHosts(t, many)
		var e *Engine
		within(t, openPatience, "a start with vhosts that take long to open", func() { e = start(t, d, s.set) })
		defer stop(t, e)
		time.Sleep(many * openTurn)
		synctest.Wait()
		if n := queuesOf(t, e, "z"); n != 1 {
			t.Errorf("the vhost that is not slow has %d queues", n)
		}
		slow := s.names[many-1]
		_, attached := e.Attach(&client{t: t}, ConnInfo{Principal: authz.Broker(), VHost: slow, Window: WindowDefault})
		_, done := e.Do(t.Context(), slow, authz.Broker(), declare("new"))
		for what, err := range map[string]error{"a connection": attached, "a command": done, "its state": e.Down(slow)} {
			var refused *amqp.Error
			later := errors.As(err, &refused) && refused.Code == amqp.CodeInternalError && refused.Later
			if !later || !strings.Contains(refused.Text, "is being opened") {
				t.Errorf("%s to a vhost that is being opened: %v", what, err)
			}
		}
		if !e.BeingOpened(slow) || e.BeingOpened("z") {
			t.Error("it is not known which vhosts are being opened")
		}
		s.over.Store(true)
		if err := e.Opened(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range s.names {
			if n := queuesOf(t, e, name); n != 100 {
				t.Errorf("vhost %s has %d queues", name, n)
			}
		}
	})
}

// If this fails, a broker does not stop before all its virtual hosts are open, or it loses what is in them.
func TestCloseWhileVHostsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := slowVHosts(t, 3)
		e := start(t, d, s.set)
		within(t, 2*s.fact, "closing while vhosts are being opened", func() { stop(t, e) })
		e = start(t, d)
		defer stop(t, e)
		for _, name := range s.names {
			if n := queuesOf(t, e, name); n != 100 {
				t.Errorf("vhost %s has %d queues", name, n)
			}
		}
	})
}

// If this fails, a virtual host that is deleted while it is being opened is there again when that ends, in place of a
// new one of its name, too; or it cannot be deleted before.
func TestVHostsThatAreDeletedWhileTheyOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := slowVHosts(t, 2)
		e := start(t, d, s.set)
		defer stop(t, e)
		within(t, 3*s.fact, "deleting vhosts that are being opened", func() {
			for _, name := range s.names {
				end := accounts.Command{Kind: accounts.DeleteVHost, VHost: name}
				if _, err := e.ChangeAccounts(t.Context(), end); err != nil {
					t.Error(err)
				}
			}
		})
		s.over.Store(true)
		if _, err := e.ChangeAccounts(t.Context(),
			accounts.Command{Kind: accounts.PutVHost, VHost: s.names[0]}); err != nil {
			t.Fatal(err)
		}
		if err := e.Opened(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := queuesOf(t, e, s.names[0]); n != 0 {
			t.Errorf("the new vhost has %d queues of the one that was deleted", n)
		}
		if err := e.Query(t.Context(), s.names[1], func(vhost.Reader) {}); err == nil || e.BeingOpened(s.names[1]) {
			t.Error("a vhost that was deleted can be used")
		}
	})
}
