package stats

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestWhatIsUnchangedIsNotReadAgain(t *testing.T) {
	// If this fails, ten thousand virtual hosts without traffic are read every five seconds; or what happens in one is
	// not in the charts.
	t.Parallel()
	e, err := engine.Open(engine.Options{
		FS: vfs.NewMem(1), Journal: journal.Options{SegmentBytes: 4 << 20, ReserveBytes: -1},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := empty()
	s.engine, s.ctx = e, context.Background()
	h := e.Accounts().VHosts()[0]
	read := func() *hostReading {
		r, err := s.reading(h)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := read()
	if read() != first {
		t.Error("it is read again")
	}
	declare := vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "q", Durable: true}}
	if _, err := e.Do(context.Background(), h.Name, authz.Broker(), declare); err != nil {
		t.Fatal(err)
	}
	if r := read(); r == first || len(r.all) != 1 {
		t.Error("a queue that was declared is not there")
	}
}
