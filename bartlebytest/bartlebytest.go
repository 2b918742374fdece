// Package bartlebytest runs a broker inside a Go test: on loopback, in memory, with a clock that the test moves.
//
//	b := bartlebytest.Start(t)         // nothing on disk; closed with the test
//	conn, err := amqp091.Dial(b.URL()) // any client
//	b.Advance(15 * time.Minute)        // on return, every expiry, delay and retry up to then has happened
//
// What is still on its way to the broker is not there yet: publish with confirms and wait for them, and after an ack or
// a nack, which have no answer, ask something that has one on the same channel, such as a passive declaration. Advance
// does not wait for what consumers do with what they get: where that sets the next deadline, advance once for each.
package bartlebytest

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby"
)

// closeWithin is how long the test's own connections have to answer when the broker is closed.
const closeWithin = 2 * time.Second

// Broker is a broker of one test. Time stands still in it until Advance.
type Broker struct {
	*bartleby.Broker
	t testing.TB
}

// Start starts a broker on free ports of the loopback interface. It is closed when the test ends.
func Start(t testing.TB) *Broker {
	t.Helper()
	b, err := bartleby.Start(bartleby.Config{
		AMQP: "127.0.0.1:0", Management: "127.0.0.1:0", TestClock: true,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatalf("bartlebytest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("bartlebytest: close: %v", err)
		}
	})
	return &Broker{Broker: b, t: t}
}

// Advance moves the broker's clock. On return every expiry, delay and retry up to then has happened, each at its own
// instant and in that order, and is on its way to its consumers.
func (b *Broker) Advance(d time.Duration) {
	b.t.Helper()
	if err := b.Broker.Advance(d); err != nil {
		b.t.Fatalf("bartlebytest: advance: %v", err)
	}
}
