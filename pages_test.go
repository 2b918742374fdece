package bartleby_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby"
)

func TestCloseDoesNotWaitForTheSilent(t *testing.T) {
	// If this fails, a stopping broker waits for clients that have connected and send nothing, or does not stop all.
	t.Parallel()
	b, err := bartleby.Start(bartleby.Config{AMQP: "127.0.0.1:0", Management: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	half := "POST /api/definitions HTTP/1.1\r\nHost: x\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\nContent-Length: 1000\r\n\r\n{"
	for _, said := range []string{"", "GET /api/over", half, "GET /api/health/checks/alarms HTTP/1.1\r\nHost: x\r\n\r\n"} {
		c, err := net.Dial("tcp", b.ManagementAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, said)
		if strings.HasSuffix(said, "\n") { // answered, and kept open for more
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 401") {
				t.Fatalf("%q, %v", line, err)
			}
		}
	}
	silent, err := net.Dial("tcp", b.AMQPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("closed after %v", took)
	}
}
