package engine

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// spoil damages the bytes of a file in which there is such a text.
func spoil(t *testing.T, fs vfs.FS, dir, text string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := fs.Open(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(all, []byte(text)); at >= 0 {
			if _, err := f.WriteAt([]byte("?"), int64(at)); err != nil {
				t.Fatal(err)
			}
			f.Close()
			return
		}
		f.Close()
	}
	t.Fatalf("%q is nowhere", text)
}

// TestStopsAreCounted says that a vhost stops at the same message time and again and nobody hears of it, or how to end
// that.
func TestStopsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		c := attach(t, e, "")
		c.post(declare("q"), confirms(), publish("q", "the message that the disk loses"))
		c.expect("confirm 1")
		c.session.Close()
		stop(t, e)
		spoil(t, d.mem, "journal", "the message that")

		var text bytes.Buffer
		e = start(t, d, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&text, nil)) })
		if s := e.Stops("/"); s.Count != 0 || s.Last != nil {
			t.Errorf("before anything was read: %+v", s)
		}
		for n := 1; n <= 2; n++ {
			c = attach(t, e, "")
			c.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "q"}})
			if err := c.stoppedWith(); err == nil || !strings.Contains(err.Text, Remedy) {
				t.Errorf("clients are told %v", err)
			}
			if s := e.Stops("/"); s.Count != uint64(n) || s.Last == nil || !s.At.Equal(e.Now()) {
				t.Errorf("stop %d: %+v", n, s)
			}
			if err := e.Down("/"); err != nil {
				t.Errorf("it is not opened again: %v", err)
			}
		}
		if s := e.Storage(t.Context()).VHosts; len(s) != 1 || s[0].Stops.Count != 2 || s[0].Down != nil {
			t.Errorf("%+v", s)
		}
		if strings.Count(text.String(), "remedy=") != 2 || !strings.Contains(text.String(), "stops=2") {
			t.Error(text.String())
		}
		change(t, e, accounts.Command{Kind: accounts.DeleteVHost, VHost: "/"})
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "/"})
		if s := e.Stops("/"); s.Count != 0 {
			t.Errorf("a new vhost has %+v", s)
		}
		stop(t, e)
	})
}

// TestRemedyIsRead says that a client is told of damage and not what to do about it, as its reply text ends before.
func TestRemedyIsRead(t *testing.T) {
	e := &Engine{clock: SystemClock(), slog: slog.New(slog.DiscardHandler)}
	e.damage.stops = map[string]Stops{}
	err := e.stopped("production", "cannot be opened", fmt.Errorf("%s", strings.Repeat("long ", 100)))
	if len(err.Text) > amqp.ReplyTextMax || !strings.Contains(err.Text, Remedy) {
		t.Errorf("%d octets: %s", len(err.Text), err.Text)
	}
	if err := e.stopped("/", "has stopped", errBatchSize); strings.Contains(err.Text, Remedy) || e.Stops("/").Count != 0 {
		t.Errorf("what is no damage: %v", err)
	}
}
