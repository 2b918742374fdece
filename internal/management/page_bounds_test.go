package management

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// withLargeMessages fills queue dead with n dead letters, each with such a payload and such properties, the
// lost letters with one, and the delayed exchange later with as many.
func withLargeMessages(t *testing.T, n int, payload string, p amqp.Properties) *door {
	t.Helper()
	d := later(t)
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.queueWith("nowhere", `"x-dead-letter-exchange":"none"`)
	d.queueWith("dead", "")
	publish := func(exchange, key string, p amqp.Properties) {
		t.Helper()
		_, err := d.engine.Do(t.Context(), "/", authz.Broker(), vhost.Command{
			Kind: vhost.Publish, Exchange: []byte(exchange), Key: []byte(key), Properties: amqp.AppendProperties(nil, &p), Body: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		publish("", "work", p)
		delayed := p
		delayed.Has |= amqp.FlagHeaders
		delayed.Headers = append(slices.Clone(p.Headers), amqp.Field{Name: "x-delay", Value: amqp.Int64(1_000_000)})
		publish("later", "k", delayed)
	}
	publish("", "nowhere", p)
	for _, queue := range []string{"work", "nowhere"} {
		for range n {
			d.take(queue, `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto","truncate":1}`)
		}
	}
	return d
}

const (
	scheduledLater = "/api/x/scheduled/%2F/later"
	searchAll      = "/api/x/letters/%2F?payload=true"
)

// ask asks for a path as a client that keeps nothing of the answer does.
func (d *door) ask(w http.ResponseWriter, path string) {
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = d.from
	r.SetBasicAuth("guest", "guest")
	d.server.ServeHTTP(w, r)
}

func TestPagesTakeAboutWhatTheyShow(t *testing.T) {
	// If this fails, a page of dead letters, or of scheduled messages, takes many times what it shows: its payloads are
	// encoded, or its properties decoded, all at once. It is not parallel: it counts what the process allocates.
	const n, size = 8, 512 << 10
	headers := amqp.Table{{Name: "nothing", Value: amqp.Value{Kind: amqp.KindArray, Array: make([]amqp.Value, 2000)}}}
	d := withLargeMessages(t, n, strings.Repeat("\x01", size), amqp.Properties{Has: amqp.FlagHeaders, Headers: headers})
	for _, path := range []string{
		deadLetters + "?payload=true", deadLetters + "?payload=true&encoding=base64",
		searchAll, scheduledLater + "?payload=true",
	} {
		d.ask(&forgetfulClient{}, path) // what is read from the disk stays in the cache
		took := allocated(func() { d.ask(&forgetfulClient{}, path) })
		if most := int64(3*n*size + n<<20 + 4<<20); took > most && !raceDetector { // a look makes a message's properties once
			t.Errorf("%s: %d messages of %d bytes take %d", path, n, size, took)
		}
	}
}

// A measuredClient measures when it gets the beginning of an answer.
type measuredClient struct {
	forgetfulClient
	measure func()
}

func (w *measuredClient) Write(p []byte) (int, error) {
	if w.measure != nil {
		w.measure()
		w.measure = nil
	}
	return len(p), nil
}

func TestMessagesAreCountedBeforeTheyAreCopied(t *testing.T) {
	// If this fails, what is shown of messages is not counted, or is copied before it is: many requests
	// at once take all memory.
	t.Parallel()
	const n, size = 4, 1 << 20
	d := withLargeMessages(t, n, strings.Repeat("x", size), amqp.Properties{})
	messageID := read[api.MessagePage](d, deadLetters).Items[0].ID
	lost := read[api.MessagePage](d, "/api/x/lost-letters/%2F/messages").Items[0].ID
	waiting := read[api.WaitingPage](d, scheduledLater).Items[0].ID
	paths := map[string]int64{
		deadLetters + "?payload=true":                           n * size,
		searchAll:                                               n * size,
		scheduledLater + "?payload=true":                        n * size,
		"/api/x/lost-letters/%2F/messages?payload=true":         size,
		deadLetters + "/" + messageID:                           size,
		"/api/x/lost-letters/%2F/messages/" + lost:              size,
		"/api/x/lost-letters/%2F/" + lost:                       size,
		"/api/x/scheduled/%2F/later/" + waiting:                 size,
		"/api/x/lost-letters/%2F/messages/" + lost + "/payload": size,
	}
	for path, least := range paths {
		counted := int64(0)
		d.ask(&measuredClient{measure: func() { counted, _ = d.server.Memory.Usage() }}, path)
		if counted < least {
			t.Errorf("%s: %d bytes are counted, of at least %d", path, counted, least)
		}
	}
	d.server.Memory.Total, d.server.Memory.Each, d.server.Memory.Patience = 4<<20, 4<<20, time.Nanosecond
	other := web.Account{Budget: &d.server.Memory, User: "guest"}
	if err := other.Take(t.Context(), 4<<20-size/2); err != nil {
		t.Fatal(err)
	}
	for path := range paths {
		d.refused(503, "service_unavailable", "all memory", "GET", path, "")
	}
	other.End()
	if taken, _ := d.server.Memory.Usage(); taken != 0 {
		t.Errorf("%d bytes are counted when nothing is asked for", taken)
	}
}

func TestPagesOfLargeMessagesGoOn(t *testing.T) {
	// If this fails, a page has messages without bound, or the next one misses some of them.
	t.Parallel()
	const n, size = 14, 3 << 19
	d := withLargeMessages(t, n, strings.Repeat("x", size), amqp.Properties{})
	for _, path := range []string{deadLetters, scheduledLater} {
		seen, pages := map[string]bool{}, 0
		for after := ""; ; pages++ {
			page := read[struct {
				Items []struct {
					ID      string `json:"id"`
					Payload string `json:"payload"`
				} `json:"items"`
				Next *string `json:"next"`
			}](d, path+"?payload=true"+after)
			bytes := 0
			for _, x := range page.Items {
				seen[x.ID] = true
				bytes += len(x.Payload)
			}
			if bytes > web.PageBytesMax+size {
				t.Errorf("%s: a page of %d bytes", path, bytes)
			}
			if page.Next == nil {
				break
			}
			after = "&after=" + url.QueryEscape(*page.Next)
		}
		if len(seen) != n || pages < 1 {
			t.Errorf("%s: %d of %d messages on %d pages and the last", path, len(seen), n, pages)
		}
	}
	all, whole := read[api.MessagePage](d, searchAll), 0
	for _, l := range all.Items {
		if l.Payload != nil {
			whole++
		} else if !l.Truncated {
			t.Errorf("%s: neither with its payload nor truncated", l.ID)
		}
	}
	if len(all.Items) <= whole || whole == 0 || whole > web.PageBytesMax/size+1 {
		t.Errorf("a search shows %d messages, %d of them with payloads", len(all.Items), whole)
	}
}

func TestListsOfHistoriesAreBounded(t *testing.T) {
	// If this fails, lists of lost letters whose histories are large are built in memory without bound, or miss some.
	t.Parallel()
	const n = 12
	keys := make([]amqp.Value, 900)
	for i := range keys {
		keys[i] = amqp.String(fmt.Sprint(i, strings.Repeat("k", 240)))
	}
	d := open(t)
	d.queueWith("nowhere", `"x-dead-letter-exchange":"none"`)
	cc := amqp.Value{Kind: amqp.KindArray, Array: keys}
	p := amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: "CC", Value: cc}}}
	for range n {
		if _, err := d.engine.Do(t.Context(), "/", authz.Broker(), vhost.Command{
			Kind: vhost.Publish, Key: []byte("nowhere"), Properties: amqp.AppendProperties(nil, &p)}); err != nil {
			t.Fatal(err)
		}
	}
	d.take("nowhere", fmt.Sprintf(`{"count":%d,"ackmode":"reject_requeue_false","encoding":"auto","truncate":1}`, n))
	seen, after := 0, ""
	for {
		page := read[api.LostLetters](d, "/api/x/lost-letters/%2F?limit=500"+after)
		if len(page.Items) == 0 || len(page.Items) > n-2 {
			t.Fatalf("%d of %d lost letters with histories of 200 KiB are on one page", len(page.Items), n)
		}
		seen += len(page.Items)
		if page.Next == nil {
			break
		}
		after = fmt.Sprint("&after=", *page.Next)
	}
	if seen != n {
		t.Errorf("%d of %d lost letters are listed", seen, n)
	}
	for _, path := range []string{
		"/api/x/lost-letters/%2F/messages", "/api/x/letters/%2F", "/api/x/letters/%2F/groups",
	} {
		counted := int64(0)
		d.ask(&measuredClient{measure: func() { counted, _ = d.server.Memory.Usage() }}, path)
		if least := int64(200 << 10); counted < least {
			t.Errorf("%s: %d bytes are counted", path, counted)
		}
	}
}

func TestLargeAnswersAreCompressedIfThereIsMemory(t *testing.T) {
	// If this fails, the compressed copy of a large answer is not counted, or nothing large is compressed.
	t.Parallel()
	const size = 1 << 20
	d := withLargeMessages(t, 1, strings.Repeat("x", size), amqp.Properties{})
	payload := deadLetters + "/" + read[api.MessagePage](d, deadLetters).Items[0].ID + "/payload"
	d.server.Memory.Total, d.server.Memory.Each = 7*size/2, 7*size/2
	other := web.Account{Budget: &d.server.Memory, User: "other"}
	for taken, want := range map[int64]string{1: "gzip", 2 * size: ""} {
		if err := other.Take(t.Context(), taken); err != nil {
			t.Fatal(err)
		}
		w := d.send("GET", payload, "", "Accept-Encoding", "gzip")
		if got := w.Header().Get("Content-Encoding"); w.Code != 200 || got != want || want == "" && w.Body.Len() != size {
			t.Errorf("%d: %d bytes in encoding %q, not %q, while others have %d", w.Code, w.Body.Len(), got, want, taken)
		}
		other.End()
	}
}
