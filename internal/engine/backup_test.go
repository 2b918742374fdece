package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// traffic publishes to a bounded queue, of which what is too much goes to another, and takes some from both.
type traffic struct {
	c         *client
	sent      int
	confirmed int // messages 1 to that
	taken     map[string]bool
}

func body(k int) string { return fmt.Sprintf("%06d %s", k, strings.Repeat("b", k*7919%700)) }

// round publishes some, waits for the confirms, and takes some.
func (r *traffic) round(queues ...string) {
	var publishes, gets []vhost.Command
	for range 20 {
		r.sent++
		publishes = append(publishes, publish("work", body(r.sent)))
	}
	r.c.post(publishes...)
	r.wait(fmt.Sprint("confirm ", r.sent))
	r.confirmed = r.sent
	for _, q := range queues {
		for range 6 {
			gets = append(gets, get(q))
		}
	}
	gets = append(gets, get("empty"))
	r.c.post(gets...)
	r.wait("none")
}

// wait takes what comes until what is awaited does.
func (r *traffic) wait(event string) {
	for s := range r.c.events {
		if name, got := strings.CutPrefix(s, "got "); got {
			r.taken[name] = true
			r.c.session.Written(1 << 20)
		}
		if s == event || strings.HasPrefix(s, "stopped") {
			return
		}
	}
}

// busyEngine has segments to roll, to give back and to rewrite in no time, and some past.
func busyEngine(t *testing.T, d *disk, change ...func(*Options)) (*Engine, *traffic) {
	e := start(t, d, append(change, small)...)
	keepCold(t, e)
	r := &traffic{c: attach(t, e, ""), taken: map[string]bool{}}
	most := amqp.Field{Name: "x-max-length", Value: amqp.Int32(300)}
	r.c.post(declare("work", append(dlxArgs("", "grave"), most)...), declare("grave"), declare("empty"), confirms())
	for range 50 {
		r.round("work", "grave")
	}
	return e, r
}

// restored starts an engine on a copy, and checks that all is there that should be: messages up to confirmed that were
// not taken until the copy was made.
func restored(t *testing.T, fs vfs.FS, confirmed int, r *traffic) {
	t.Helper()
	o := Options{FS: fs, Clock: NewTestClock(time.Unix(1_000_000_000, 0)), Log: slog.New(slog.DiscardHandler)}
	small(&o)
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, e)
	for _, h := range e.Accounts().VHosts() {
		if err := e.look(t.Context(), h.Name, false, func(v *vhost.VHost) {
			if err := v.Check(); err != nil {
				t.Errorf("vhost %s: %v", h.Name, err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := e.Accounts().User("ahab"); !ok {
		t.Error("a user is missing")
	}
	c := attach(t, e, "")
	there := map[string]bool{}
	for _, q := range []string{"work", "grave"} {
		for _, b := range drain(c, q) {
			if there[b] {
				t.Errorf("message %.6s is there twice", b)
			}
			there[b] = true
		}
	}
	missing := 0
	for k := 1; k <= confirmed; k++ {
		if b := body(k); !there[b] && !r.taken[b] {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d confirmed messages are missing; %d are there", missing, confirmed, len(there))
	}
}

// TestBackups says that a backup of a busy broker is not the broker of the moment when it was asked for: messages are
// missing or twice, the books do not balance, a user is unknown; or that traffic, checkpoints or rewriting do not go
// on.
func TestBackups(t *testing.T) {
	for _, mode := range []vhost.Sync{vhost.SyncAlways, vhost.SyncNever} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			e, r := busyEngine(t, d, func(o *Options) { o.Sync = mode })
			change(t, e, accounts.Command{Kind: accounts.PutUser, User: "ahab"})
			var turns chan struct{} // between two pieces of the copy there is a round of traffic
			ways := map[string]func() vfs.FS{
				"directory": func() vfs.FS {
					to := vfs.NewFaulty(vfs.NewMem(1))
					to.Before(func(c vfs.Call) error {
						if c.Op == "write" {
							<-turns
						}
						return nil
					})
					_, err := e.backup(t.Context(), "directory", func(l *journal.Lease, p *pacer) ([]error, error) { return copyInto(to, l, p) })
					if err != nil {
						t.Error(err)
					}
					to.Before(nil)
					return to
				},
				"tar": func() vfs.FS {
					var w bytes.Buffer
					if _, err := e.BackupTar(t.Context(), writerFunc(func(p []byte) (int, error) {
						if len(p) > 1000 {
							<-turns
						}
						return w.Write(p)
					})); err != nil {
						t.Error(err)
					}
					return unpack(t, &w)
				},
			}
			for name, way := range ways {
				for range 3 {
					confirmed, before := r.confirmed, e.Backups()
					turns = make(chan struct{})
					stopped, quit := make(chan struct{}), make(chan struct{})
					go func() {
						defer close(stopped)
						for n := 0; ; n++ {
							r.round("work", "grave")
							if n%10 == 0 {
								checkpoint(t, e)
							}
							select {
							case turns <- struct{}{}:
							case <-quit:
								return
							}
						}
					}()
					fs := way()
					close(quit)
					<-stopped
					if b := e.Backups(); b.Running || b.Made != before.Made+1 || b.Failed != 0 || b.Last == nil || b.Last.Bytes == 0 {
						t.Errorf("%s: %+v", name, b)
					}
					restored(t, fs, confirmed, r)
				}
			}
			r.c.session.Close()
			stop(t, e)
		})
	}
}

// unpack makes files of a tar.
func unpack(t *testing.T, r io.Reader) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem(1)
	if err := fs.Mkdir("journal"); err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if err != nil {
			if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			return fs
		}
		f, err := fs.Create(h.Name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(files)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(p, 0); err != nil && len(p) > 0 {
			t.Fatal(err)
		}
	}
}

// TestABackupThatFails says that half of a backup can be taken for a broker's data, that a backup which fails harms the
// broker, or that one does who waits for it for ever.
func TestABackupThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r := busyEngine(t, newDisk())
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "ahab"})
		refused := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		bored := errors.New("bored")
		var w *limited
		w = &limited{after: 200 << 10, then: func() error {
			_, err := e.BackupTo(t.Context(), t.TempDir())
			refused("a second one", err, ErrBackupUnderWay)
			if b := e.Backups(); !b.Running || b.Copied == 0 || b.Bytes < b.Copied {
				t.Errorf("in the middle of a backup: %+v", b)
			}
			cancel(bored)
			return nil
		}}
		_, err := e.BackupTar(ctx, w)
		refused("cancelled", err, bored)
		_, _, err = journal.Open(unpack(t, &w.Buffer), journal.Options{Entropy: 1})
		if err == nil || !strings.Contains(err.Error(), "the copy is incomplete (make another one)") {
			t.Errorf("start from half a tar: %v", err)
		}
		full := vfs.NewFaulty(vfs.NewMem(1))
		full.Budget(100 << 10)
		_, err = e.backup(t.Context(), "a full disk", func(l *journal.Lease, p *pacer) ([]error, error) { return copyInto(full, l, p) })
		refused("no room", err, ErrBackupSpace)
		_, err = e.BackupTo(t.Context(), "somewhere")
		refused("relative path", err, ErrBackupPlace)
		place := t.TempDir()
		if _, err := vfs.Dir(place).Create("mine"); err != nil {
			t.Fatal(err)
		}
		_, err = e.BackupTo(t.Context(), place)
		refused("occupied", err, ErrBackupPlace)
		if b := e.Backups(); b.Made != 0 || b.Failed != 2 || !errors.Is(b.LastFailure, ErrBackupSpace) || b.Running {
			t.Errorf("%+v", b)
		}

		place = t.TempDir()
		if _, err = e.BackupTo(t.Context(), place); err != nil {
			t.Error(err)
		}
		if b := e.Backups(); b.Made != 1 || b.LastFailure != nil {
			t.Errorf("%+v", b)
		}
		restored(t, vfs.Dir(place), r.confirmed, r)
		place = filepath.Join(place, "new", "place")
		if b, err := e.BackupTo(t.Context(), place); err != nil || b.Bytes < 100<<10 || len(b.Damage) > 0 || b.To != place {
			t.Errorf("%+v, %v", b, err)
		}
		w = &limited{after: 100 << 10, then: func() error {
			go e.Close()
			synctest.Wait()
			return nil
		}}
		r.c.session.Close()
		_, err = e.BackupTar(t.Context(), w)
		refused("the broker is stopping", err, errStopping)
		_, err = e.BackupTar(t.Context(), w)
		refused("it has stopped", err, errStopping)
		stop(t, e)
	})
}

// limited calls then, once, when so much has been written.
type limited struct {
	bytes.Buffer
	after int
	then  func() error
}

func (w *limited) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if then := w.then; w.Len() >= w.after && then != nil {
		w.then = nil
		err = then()
	}
	return n, err
}

type writerFunc func(p []byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
