package bartleby_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/bartleby-mq/bartleby"
)

// If TestCloseWithoutTime fails, a broker that has no time to close panics.
func TestCloseWithoutTime(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		b, err := bartleby.Start(bartleby.Config{AMQP: "127.0.0.1:0", Management: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_ = b.Close(ended) // what it may say is that something was not closed in time
	}
}
