package bartleby_test

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
)

// If this fails, suspended listeners accept clients, close existing connections, or do not resume; or health checks
// send clients to them.
func TestListenersAreSuspended(t *testing.T) {
	t.Parallel()
	b, err := bartleby.Start(bartleby.Config{AMQP: "127.0.0.1:0", Management: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) int {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+b.ManagementAddr().String()+"/api/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("guest", "guest")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	_, port, err := net.SplitHostPort(b.AMQPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	greet := func(c net.Conn) error {
		if _, err := c.Write([]byte("AMQP\x00\x00\x09\x01")); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 7))
		return err
	}
	healthy := func(want int) {
		t.Helper()
		for _, check := range []string{"is-in-service", "ready-to-serve-clients", "port-listener/" + port} {
			if got := ask("GET", "health/checks/"+check, ""); got != want {
				t.Errorf("%s: %d, want %d", check, got, want)
			}
		}
	}
	before, err := net.Dial("tcp", b.AMQPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if err := greet(before); err != nil {
		t.Fatal(err)
	}
	healthy(200)
	for range 2 { // twice is no harm
		if got := ask("PUT", "x/listeners", `{"suspended":true}`); got != 204 {
			t.Fatalf("suspended: %d", got)
		}
	}
	if c, err := net.Dial("tcp", b.AMQPAddr().String()); err == nil {
		c.Close()
		t.Error("a suspended listener accepts a connection")
	}
	healthy(503)
	if _, err := before.Write([]byte{8}); err != nil {
		t.Errorf("an existing connection was closed: %v", err)
	}
	if got := ask("PUT", "x/listeners", `{"suspended":false}`); got != 204 {
		t.Fatalf("resumed: %d", got)
	}
	after, err := net.Dial("tcp", b.AMQPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if err := greet(after); err != nil {
		t.Errorf("the resumed listener does not respond: %v", err)
	}
	healthy(200)
	if got := ask("PUT", "x/listeners", `{"suspended":true}`); got != 204 {
		t.Fatalf("suspended again: %d", got)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
