package perf

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// fakeWaiting is a message that waits for ever.
type fakeWaiting struct {
	id, key string
	message fakeMessage
}

// after calls f with the lock held when so many ms have passed, or at once if the broker is hasty.
func (b *fakeBroker) after(ms int, f func()) {
	if b.hasty {
		f()
		return
	}
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		f()
	})
}

// route puts a message into the queue that the routing key names, once its delay is over.
func (b *fakeBroker) route(exchange, key string, m fakeMessage) {
	p, _ := amqp.ParseProperties(m.properties)
	delay, delayed := p.Headers.Get("x-delay")
	switch {
	case exchange == "" || !delayed:
		b.enqueue(key, m)
	case !b.mu.exchanges[exchange]:
		b.t.Errorf("there is no exchange %q", exchange)
	case time.Duration(delay.Int)*time.Millisecond >= longMax:
		b.mu.waiting = append(b.mu.waiting, fakeWaiting{strconv.Itoa(len(b.mu.waiting)), key, m})
	default:
		b.after(int(delay.Int), func() { b.enqueue(key, m) })
	}
}

// manage serves as much of a management API as lists, cancels and purges what waits for ever, and returns its URL. The
// one with the ID fired fires before it is cancelled.
func (b *fakeBroker) manage(t *testing.T, fired string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		// A pattern of ServeMux does not match a virtual host "/".
		of, found := strings.CutPrefix(r.URL.EscapedPath(), "/api/x/scheduled/%2F/")
		exchange, cancel := strings.CutSuffix(of, "/cancel")
		user, password, _ := r.BasicAuth()
		switch {
		case !found || !b.mu.exchanges[exchange] || cancel != (r.Method == http.MethodPost) || user != "guest" || password != "guest":
			http.Error(w, "nonsense", http.StatusNotFound)
		case cancel:
			b.cancel(w, r, fired)
		case r.Method == http.MethodDelete:
			json.NewEncoder(w).Encode(map[string]int{"purged": len(b.mu.waiting) - b.forgotten})
			b.mu.waiting = nil
		default:
			b.list(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// pageMax is how many messages are listed at once.
const pageMax = 300

func (b *fakeBroker) list(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.Atoi(r.FormValue("limit"))
	after, _ := strconv.Atoi(r.FormValue("after"))
	if err != nil || limit > pageMost || after > len(b.mu.waiting) {
		http.Error(w, "nonsense", http.StatusBadRequest)
		return
	}
	type item struct {
		ID string `json:"id"`
	}
	var page struct {
		Items []item  `json:"items"`
		Next  *string `json:"next"`
	}
	end := min(after+limit, after+pageMax, len(b.mu.waiting))
	for _, one := range b.mu.waiting[after:end] {
		page.Items = append(page.Items, item{one.id})
	}
	if end < len(b.mu.waiting) {
		next := strconv.Itoa(end)
		page.Next = &next
	}
	json.NewEncoder(w).Encode(page)
}

func (b *fakeBroker) cancel(w http.ResponseWriter, r *http.Request, fired string) {
	var body struct{ IDs []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	outcomes := map[string]int{}
	for _, id := range body.IDs {
		switch {
		case len(b.mu.waiting) == 0 || b.mu.waiting[0].id != id:
			outcomes["unknown"]++
			continue
		case id == fired:
			b.enqueue(b.mu.waiting[0].key, b.mu.waiting[0].message)
			outcomes[outcomeFired]++
		default:
			outcomes[outcomeCancelled]++
		}
		b.mu.waiting = b.mu.waiting[1:]
	}
	json.NewEncoder(w).Encode(map[string]any{"outcomes": outcomes})
}
