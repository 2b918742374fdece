package management

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// A slowClient looks at the server whenever it is sent something.
type slowClient struct {
	*httptest.ResponseRecorder
	each func(p []byte)
}

func (c *slowClient) Write(p []byte) (int, error) {
	c.each(p)
	return c.ResponseRecorder.Write(p)
}

// slowly asks as a client that is slow to read.
func (d *door) slowly(path string, each func(p []byte)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = d.from
	r.SetBasicAuth("guest", "guest")
	w := &slowClient{httptest.NewRecorder(), each}
	d.server.ServeHTTP(w, r)
	return w.ResponseRecorder
}

// boundCrowd declares queues with arguments of some size, each bound once more.
func (d *door) boundCrowd(n, size int) {
	for i := range n {
		body := fmt.Sprintf(`{"arguments":{"x":"%s"}}`, strings.Repeat("x", size))
		d.want(201, "PUT", fmt.Sprintf("/api/queues/%%2F/q%04d", i), body)
		d.want(201, "POST", fmt.Sprintf("/api/bindings/%%2F/e/amq.topic/q/q%04d", i), `{"routing_key":"`+strings.Repeat("k", 200)+`"}`)
	}
}

var longLists = []string{
	"/api/queues", "/api/queues?sort=name", "/api/queues?sort=arguments.x&sort_reverse=true", "/api/queues?columns=name,arguments",
	"/api/bindings", "/api/definitions", "/api/definitions/%2F",
}

func TestLongListsHoldLittle(t *testing.T) {
	// If this fails, clients that ask for long lists and read nothing of them fill the memory, or hold up
	// those who read.
	t.Parallel()
	d := open(t)
	d.boundCrowd(300, 4<<10)
	for _, path := range longLists {
		pieces, whole := 0, d.want(200, "GET", path, "").Body.String()
		got := d.slowly(path, func(p []byte) {
			pieces++
			if taken, _ := d.server.Memory.Usage(); len(p) > web.StreamPiece || taken > web.StreamBytes+web.LargeAnswer || d.holdLists() > 0 {
				t.Errorf("%s: a piece of %d bytes, %d counted, %d hold all of it", path, len(p), taken, d.holdLists())
			}
		})
		if got.Code != 200 || got.Body.String() != whole || !json.Valid(got.Body.Bytes()) || pieces < 3 {
			t.Errorf("%s: %d, %d bytes of %d in %d pieces", path, got.Code, got.Body.Len(), len(whole), pieces)
		}
		if taken, _ := d.server.Memory.Usage(); taken != 0 {
			t.Errorf("%s: %d bytes are counted afterwards", path, taken)
		}
	}
}

func TestListsThatAreNotReadAreCutOff(t *testing.T) {
	// If this fails, an answer that cannot be sent whole looks whole, or is held for ever.
	t.Parallel()
	d := open(t)
	d.boundCrowd(40, 4<<10)
	defer func() {
		if fault := recover(); fault != http.ErrAbortHandler {
			t.Errorf("%v", fault)
		}
		if taken, _ := d.server.Memory.Usage(); taken != 0 || d.holdLists() > 0 {
			t.Errorf("%d bytes are counted afterwards", taken)
		}
	}()
	r := httptest.NewRequest("GET", "/api/queues", nil)
	r.RemoteAddr = d.from
	r.SetBasicAuth("guest", "guest")
	d.server.ServeHTTP(deafClient{httptest.NewRecorder()}, r)
	t.Error("the connection is not cut off")
}

// A deafClient reads nothing: the deadline passes.
type deafClient struct{ *httptest.ResponseRecorder }

func (deafClient) Write([]byte) (int, error) { return 0, http.ErrHandlerTimeout }

func TestListsInPortions(t *testing.T) {
	// If this fails, a list that is made while queues come and go misses one that was there all the while, or
	// shows it twice.
	t.Parallel()
	d := open(t)
	d.boundCrowd(4*resources.ListPortion, 1<<10)
	changed := false
	got := d.slowly("/api/queues", func([]byte) {
		if changed {
			return
		}
		changed = true
		for i := range 4 * resources.ListPortion {
			if i%4 == 1 {
				d.want(204, "DELETE", fmt.Sprintf("/api/queues/%%2F/q%04d", i), "")
				d.want(201, "PUT", fmt.Sprintf("/api/queues/%%2F/q%04d-new", i), "{}")
			}
		}
		d.want(200, "GET", "/api/queues?page=1", "") // the names are read anew
	})
	var shown []api.Queue
	if err := json.Unmarshal(got.Body.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, q := range shown {
		seen[q.Name]++
	}
	for i := range 4 * resources.ListPortion {
		if name := fmt.Sprintf("q%04d", i); i%4 != 1 && seen[name] != 1 || seen[name] > 1 {
			t.Errorf("%s is shown %d times", name, seen[name])
		}
	}
}

func TestDefinitionsThatChangeMeanwhile(t *testing.T) {
	// If this fails, what is exported of a busy broker cannot be imported: a binding leads from or to what is
	// not in it.
	t.Parallel()
	d := open(t)
	d.boundCrowd(100, 4<<10)
	d.want(201, "PUT", "/api/exchanges/%2F/gone", `{"type":"fanout"}`)
	d.want(201, "POST", "/api/bindings/%2F/e/gone/q/q0001", "{}")
	pieces := 0
	got := d.slowly("/api/definitions", func([]byte) {
		if pieces++; pieces > 1 {
			return
		}
		d.want(204, "DELETE", "/api/queues/%2F/q0099", "")
		d.want(201, "PUT", "/api/queues/%2F/q0099", "{}") // another one of the name
		for _, name := range []string{"a", "q0099", "z"} {
			d.send("PUT", "/api/queues/%2F/"+name, "{}")
			d.want(201, "POST", "/api/bindings/%2F/e/amq.topic/q/"+name, "{}")
		}
		d.want(201, "PUT", "/api/exchanges/%2F/new", `{"type":"fanout"}`)
		d.want(201, "POST", "/api/bindings/%2F/e/new/q/q0001", "{}")
		d.want(201, "POST", "/api/bindings/%2F/e/amq.topic/e/new", "{}")
		d.want(204, "DELETE", "/api/exchanges/%2F/gone", "")
	})
	var all api.Definitions
	if err := json.Unmarshal(got.Body.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"exchange amq.topic": true}
	for _, q := range all.Queues {
		known["queue "+q.Name] = true
	}
	for _, x := range all.Exchanges {
		known["exchange "+x.Name] = true
	}
	for _, b := range all.Bindings {
		if !known["exchange "+b.Source] || !known[b.DestinationType+" "+b.Destination] {
			t.Errorf("a binding leads from %s to the %s %s, which is not told", b.Source, b.DestinationType, b.Destination)
		}
	}
	if len(all.Bindings) < 98 {
		t.Errorf("%d bindings are told", len(all.Bindings))
	}
}

// holdLists is how many requests hold a whole list.
func (d *door) holdLists() int {
	working, _, _ := d.server.Lists.Usage()
	return working
}

func TestFewListsAreHeldWhole(t *testing.T) {
	// If this fails, clients that ask for sorted lists or pages at the same time take the memory of all these
	// lists.
	t.Parallel()
	d := open(t)
	d.boundCrowd(3, 10)
	d.server.Memory.Patience = time.Nanosecond
	paths := []string{
		"/api/bindings?sort=source", "/api/bindings?page=1", "/api/queues?sort=name", "/api/exchanges", "/api/channels?page=1",
		"/api/connections?page=1", "/api/consumers?sort=queue.name", "/api/queues/%2F/q0001/bindings", "/api/users/guest/queues",
	}
	var held []*fairshare.Turn
	for range web.GathersMax {
		held = append(held, d.server.Lists.Of("another"))
		if err := held[len(held)-1].Work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range paths {
		d.refused(503, "service_unavailable", "all memory", "GET", path, "")
	}
	for _, list := range held {
		list.Leave()
	}
	for _, path := range paths {
		if d.want(200, "GET", path, ""); d.holdLists() > 0 {
			t.Fatalf("%s still holds a list", path)
		}
	}
}
