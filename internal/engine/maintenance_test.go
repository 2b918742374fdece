package engine

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine/recordcache"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// attachTo is attach to another vhost.
func attachTo(t *testing.T, e *Engine, vhostName string) *client {
	t.Helper()
	c := &client{t: t, events: make(chan string, 10_000)}
	var err error
	info := ConnInfo{Principal: authz.Broker(), Name: "test", VHost: vhostName, Window: WindowDefault}
	if c.session, err = e.Attach(c, info); err != nil {
		t.Fatal(err)
	}
	c.open()
	return c
}

// holdCalls keeps calls from ending until the function that it returns is called.
func (d *disk) holdCalls(which func(vfs.Call) bool) (release func()) {
	hold := make(chan struct{})
	d.Before(func(c vfs.Call) error {
		if which(c) {
			<-hold
		}
		return nil
	})
	return func() {
		d.Before(nil)
		close(hold)
	}
}

// kill cuts the power, and ends an engine that does not know it.
func (d *disk) kill(e *Engine) {
	synctest.Wait()
	d.FailFrom(d.Calls()+1, vfs.ErrCrashed)
	d.mem.Crash()
	e.Close()
	d.Before(nil)
}

func isHousekeeping(c vfs.Call) bool {
	return strings.HasSuffix(c.Name, ".checkpoint") || strings.Contains(c.Name, "manifest") || c.Op == "preallocate" || c.Op == "remove"
}

// TestHousekeepingHoldsUpNobody says that who waits for a confirm waits for a checkpoint, for a manifest, for a file
// that is filled with zeros or for the end of a segment, too.
func TestHousekeepingHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		c := attach(t, e, "")
		c.post(declare("work"), confirms(), publish("work", "m"))
		c.expect("confirm 1")

		held := 0
		release := d.holdCalls(func(c vfs.Call) bool {
			if isHousekeeping(c) {
				d.mu.Lock()
				held++
				d.mu.Unlock()
			}
			return isHousekeeping(c)
		})
		e.checkpointSoon()
		synctest.Wait()
		if held == 0 {
			t.Fatal("there is nothing that holds up")
		}
		segments := e.writer.journal.Stats().Segments
		body := string(make([]byte, 100<<10))
		var want []string
		for i := range 15 { // more than what a segment of 1 MiB takes
			c.post(publish("work", body))
			want = append(want, fmt.Sprint("confirm ", 2+i))
			synctest.Wait() // each in a batch of its own: one of all would need more space than is ready
		}
		c.expect(want...)
		if e.writer.journal.Stats().Segments == segments {
			t.Fatal("no segment was filled")
		}
		c.post(get("work")) // reading goes on as well
		c.expect("got m")
		release()
		if n := ready(t, e, "work"); n != 15 {
			t.Errorf("%d are ready", n)
		}
		d.kill(e)
		e = start(t, d)
		defer stop(t, e)
		if n := ready(t, e, "work"); n != 15 {
			t.Errorf("%d are ready after a crash", n)
		}
	})
}

// TestTheScribeMakesRoomItself says that messages stand still for ever, or are lost, when more is written than was made
// ready while maintenance had other things to do.
func TestTheScribeMakesRoomItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"), confirms())
		c.expect()
		release := d.holdCalls(isHousekeeping)
		e.checkpointSoon()
		synctest.Wait()
		body := string(make([]byte, 200<<10))
		var want []string
		for i := range 60 {
			c.post(publish("work", body))
			want = append(want, fmt.Sprint("confirm ", 1+i))
			if i < 3 {
				synctest.Wait() // not all in one batch, which would need more space than is ready
			}
		}
		if got := c.take(); len(got) == 0 || len(got) == len(want) {
			t.Fatalf("%d confirmed during maintenance: nothing is shown by this", len(got))
		} else {
			want = want[len(got):]
		}
		release()
		c.expect(want...)
	})
}

// TestOnlyLossesAreToldOf says that a failed sync stops a vhost that has lost nothing, or spares one that has.
func TestOnlyLossesAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "other"},
			accounts.Command{Kind: accounts.PutVHost, VHost: "idle"})
		var clients []*client
		for _, name := range []string{"/", "other", "idle"} {
			c := attachTo(t, e, name)
			c.post(declare("work"), confirms(), publish("work", "safe"))
			c.expect("confirm 1")
			clients = append(clients, c)
		}
		time.Sleep(time.Second) // of the bubble: nothing is under way
		synctest.Wait()
		setOptions(t, e, "other", amqp.Field{Name: "sync", Value: amqp.String("never")})
		clients[1].post(publish("work", "lost")) // written, and not synced
		clients[1].expect("confirm 2")
		d.failNextSync(errors.New("the disk is gone"))
		clients[0].post(publish("work", "lost"))
		clients[0].expect()
		for i, lost := range []bool{true, true, false} {
			if err := clients[i].stoppedWith(); (err != nil) != lost {
				t.Errorf("client %d stopped with %v", i, err)
			}
		}
		clients[2].post(publish("work", "after"))
		clients[2].expect("confirm 2")
		d.kill(e)
		e = start(t, d)
		defer stop(t, e)
		for name, want := range map[string][]string{"/": {"got safe", "none"}, "other": {"got safe", "none"}, "idle": {"got safe", "got after"}} {
			c := attachTo(t, e, name)
			c.post(get("work"), get("work"))
			c.expect(want...)
		}
	})
}

// TestAFailedManifestCostsNobody says that a failure that took nothing away stops a vhost, or keeps the broker from
// ever making a checkpoint again.
func TestAFailedManifestCostsNobody(t *testing.T) {
	for _, op := range []string{"rename", "syncdir", "sync", "write"} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			e := start(t, d)
			c := attach(t, e, "")
			c.post(declare("work"), confirms(), publish("work", "a"))
			c.expect("confirm 1")
			failed := false
			d.Before(func(c vfs.Call) error {
				d.mu.Lock()
				defer d.mu.Unlock()
				if failed || c.Op != op || strings.HasSuffix(c.Name, ".segment") || strings.HasSuffix(c.Name, ".checkpoint") {
					return nil
				}
				failed = true
				return errors.New("broken")
			})
			e.checkpointSoon()
			c.post(publish("work", "b"))
			c.expect("confirm 2")
			if err := c.stoppedWith(); err != nil || !failed {
				t.Fatalf("%s: stopped with %v, failed is %v", op, err, failed)
			}
			c.post(publish("work", "c"))
			c.expect("confirm 3")
			if err := e.checkpointAll(map[string]*runner{}); err != nil {
				t.Errorf("%s: no checkpoint is possible any more: %v", op, err)
			}
			d.kill(e)
			e = start(t, d)
			defer stop(t, e)
			if n := ready(t, e, "work"); n != 3 {
				t.Errorf("%s: %d are ready", op, n)
			}
		})
	}
}

// setOptions changes options of a vhost, and waits until that is safe.
func setOptions(t *testing.T, e *Engine, vhostName string, options ...amqp.Field) {
	t.Helper()
	c := vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{Arguments: options}}
	if _, err := e.Do(t.Context(), vhostName, authz.Broker(), c); err != nil {
		t.Fatal(err)
	}
}

// TestSync says that with a way of syncing more is lost than it promises, or that somebody waits for a sync that he did
// not ask for.
func TestSync(t *testing.T) {
	for _, c := range []struct {
		broker, vhost vhost.Sync
		wait          time.Duration // before the power goes
		confirmed     bool          // without a sync
		kept          bool
	}{
		{vhost.SyncDefault, vhost.SyncDefault, 0, false, true},
		{vhost.SyncInterval, vhost.SyncAlways, 0, false, true},
		{vhost.SyncInterval, vhost.SyncDefault, 0, true, false},
		{vhost.SyncInterval, vhost.SyncDefault, syncInterval, true, true},
		{vhost.SyncAlways, vhost.SyncInterval, syncInterval, true, true},
		{vhost.SyncNever, vhost.SyncDefault, time.Second, true, false}, // before maintenance runs
		{vhost.SyncAlways, vhost.SyncNever, time.Second, true, false},
		{vhost.SyncNever, vhost.SyncInterval, syncInterval, true, true},
	} {
		t.Run(fmt.Sprintf("%v/%v/%v", c.broker, c.vhost, c.wait), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				e := start(t, d, func(o *Options) { o.Sync = c.broker })
				x := attach(t, e, "")
				x.post(declare("work"))
				setOptions(t, e, "/", amqp.Field{Name: "sync", Value: amqp.String(c.vhost.String())})
				e.writer.settle()
				time.Sleep(time.Minute) // of the bubble: maintenance runs
				synctest.Wait()

				release := d.holdSyncs()
				x.post(confirms(), publish("work", "m"))
				if got := x.take(); len(got) == 1 != c.confirmed {
					t.Errorf("without a sync: %q", got)
				}
				release()
				if !c.confirmed {
					x.expect("confirm 1")
				}
				time.Sleep(c.wait)
				synctest.Wait()
				before := e.writer.journal.Safe(x.session.runner.log.ID())
				if safe := before == x.session.runner.appended; safe != c.kept {
					t.Errorf("%d batches are on the disk of %d", before, x.session.runner.appended)
				}
				d.kill(e)
				e = start(t, d)
				defer stop(t, e)
				if n := ready(t, e, "work"); c.kept && n != 1 {
					t.Errorf("%d are ready", n)
				}
			})
		})
	}
}

// TestSyncsAreShared says that a vhost that does without syncs makes one that needs them wait, or the other way round.
func TestSyncsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "quick"})
		setOptions(t, e, "quick", amqp.Field{Name: "sync", Value: amqp.String("never")})
		sure, quick := attachTo(t, e, "/"), attachTo(t, e, "quick")
		for _, c := range []*client{sure, quick} {
			c.post(declare("work"), confirms())
			c.expect()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		release := d.holdSyncs()
		quick.post(publish("work", "1"))
		quick.expect("confirm 1")
		sure.post(publish("work", "1"))
		sure.expect()
		release()
		sure.expect("confirm 1")
		quick.post(publish("work", "2"))
		quick.expect("confirm 2")
		setOptions(t, e, "quick", amqp.Field{Name: "sync", Value: amqp.String("always")})
		release = d.holdSyncs()
		quick.post(publish("work", "3"))
		quick.expect()
		release()
		quick.expect("confirm 3")
	})
}

// TestACheckpointNeedsASync says that a checkpoint covers what the disk does not have, where nobody asks for syncs.
func TestACheckpointNeedsASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, func(o *Options) { o.Sync = vhost.SyncNever })
		c := attach(t, e, "")
		c.post(declare("work"), confirms())
		for i := range 50 {
			c.post(publish("work", fmt.Sprint(i)))
		}
		c.take()
		var before []byte
		look := func(v *vhost.VHost) { before = bytes.Clone(v.Projection()) }
		if err := e.look(t.Context(), "/", false, look); err != nil {
			t.Fatal(err)
		}
		e.checkpointSoon()
		d.kill(e)
		e = start(t, d)
		defer stop(t, e)
		var now []byte
		if err := e.look(t.Context(), "/", false, func(v *vhost.VHost) { now = v.Projection() }); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, before) {
			t.Error("the state is another one")
		}
	})
}

// TestALogThatIsGoneIsMissed says that a broker whose newest file was emptied starts as if there had never been
// anything.
func TestALogThatIsGoneIsMissed(t *testing.T) {
	for _, checkpoint := range []bool{false, true} { // the first has one big segment, with all that there ever was
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			e := start(t, d)
			if checkpoint {
				stop(t, e) // users and vhosts are in a checkpoint
				e = start(t, d)
			}
			name := ""
			d.Before(func(c vfs.Call) error {
				d.mu.Lock()
				defer d.mu.Unlock()
				if c.Op == "write" && strings.HasSuffix(c.Name, ".segment") && c.Off >= 4096 {
					name = c.Name
				}
				return nil
			})
			change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "new"})
			c := attachTo(t, e, "new")
			c.post(declare("work"), confirms(), publish("work", "m"))
			c.expect("confirm 1")
			d.kill(e)
			f, err := d.mem.Open(name)
			if err == nil {
				err = errors.Join(f.Truncate(0), f.Sync(), f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			e, err = Open(Options{FS: d, Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				e.Close()
				t.Fatal("it has started")
			}
			if !strings.Contains(err.Error(), "users and vhosts") || !strings.Contains(err.Error(), ".segment") || !strings.Contains(err.Error(), "truncated") {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// TestNoCheckpointBeforeAllIsOpen says that a broker that starts on a full disk ends at once, or takes what it has not
// opened yet for empty: a full disk asks for a checkpoint at once.
func TestNoCheckpointBeforeAllIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		small := func(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 256 << 10} }
		e := start(t, d, small)
		c := attach(t, e, "")
		c.post(declare("work"), confirms(), publish("work", "m"))
		c.expect("confirm 1")
		d.budget(0)
		body := string(make([]byte, 8<<10))
		for range 1000 {
			if e.Alarms() != 0 {
				break
			}
			c.post(publish("work", body))
			synctest.Wait()
		}
		d.kill(e)
		slow := 0
		d.Before(func(c vfs.Call) error {
			if strings.HasPrefix(c.Name, recordcache.SpillDir) {
				slow++
				time.Sleep(10 * noSpaceRetry)
			}
			return nil
		})
		e = start(t, d, small)
		defer stop(t, e)
		if slow == 0 || e.Alarms() == 0 {
			t.Fatalf("%d slow calls while it opened; alarms %v", slow, e.Alarms())
		}
		d.Before(nil)
		d.Budget(-1)
		if ready(t, e, "work") == 0 {
			t.Error("nothing is ready")
		}
	})
}

// TestCheckpointsSeeWholeChangesOfAccess says that a checkpoint made while users change holds half a change, or that
// the two touch the machine at once.
func TestCheckpointsSeeWholeChangesOfAccess(t *testing.T) {
	d := newDisk()
	e := start(t, d)
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := range 200 {
			if _, err := e.ChangeAccounts(t.Context(),
				accounts.Command{Kind: accounts.PutUser, User: fmt.Sprint("user-", i)}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 50 {
		if err := e.checkpointAll(nil); err != nil {
			t.Error(err)
		}
	}
	changing.Wait()
	stop(t, e)
	e = start(t, d)
	defer stop(t, e)
	if n := len(e.Accounts().Users()); n != 201 {
		t.Errorf("%d users, not 200 and guest", n)
	}
}
