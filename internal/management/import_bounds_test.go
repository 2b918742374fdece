package management

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// importedBefore puts n messages into a queue that say of themselves that they were imported, each with so many bytes.
func (d *door) importedBefore(queue string, n, size int) {
	d.t.Helper()
	d.queueWith(queue, "")
	var commands []vhost.Command
	for i := range n {
		from := fmt.Sprint("v/queue/q/", i, "#", strings.Repeat("x", size))
		p := amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: "x-imported-from", Value: amqp.String(from)}}}
		commands = append(commands, vhost.Command{Kind: vhost.Publish, Key: []byte(queue), Properties: amqp.AppendProperties(nil, &p)})
		if len(commands) == 100 || i == n-1 {
			if _, err := d.engine.Do(d.t.Context(), "/", authz.Broker(), commands...); err != nil {
				d.t.Fatal(err)
			}
			commands = commands[:0]
		}
	}
}

// A measuredBody is empty. It measures when it is read: then an import has read what is in its queue.
type measuredBody struct {
	measure func()
	text    *strings.Reader
}

func (b *measuredBody) Read(p []byte) (int, error) {
	b.measure()
	return b.text.Read(p)
}

func TestImportOnceKeepsDigests(t *testing.T) {
	// If this fails, an import with once=true keeps headers of any length of all messages in its queue in memory, or
	// does not count what it keeps. It is not parallel: it measures what the process has in memory.
	const n, size, most = 400, 60_000, 4 << 20
	d := open(t)
	d.importedBefore("copy", n, size)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, grown, counted := heap(), int64(0), int64(0)
	body := &measuredBody{text: strings.NewReader(""), measure: func() {
		counted, _ = d.server.Memory.Usage()
		grown = heap() - before
	}}
	r := httptest.NewRequest("POST", "/api/x/letters/%2F/import?queue=copy&once=true", body)
	r.RemoteAddr = d.from
	r.SetBasicAuth("guest", "guest")
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	if w.Code != 200 || grown > most {
		t.Errorf("%d %s: the marks of %d messages take %d bytes", w.Code, w.Body, n, grown)
	}
	if counted < 8<<20+4096*40 { // what is published at once, and a portion of marks
		t.Errorf("%d bytes are counted", counted)
	}
	if taken, _ := d.server.Memory.Usage(); taken != 0 {
		t.Errorf("%d bytes are still counted", taken)
	}
}

func TestImportOnceIsBounded(t *testing.T) {
	// If this fails, an import with once=true into a queue with very many imported messages takes all memory that the
	// requests of a user may take, or fails without saying what to do.
	t.Parallel()
	const most, counted = 50, 40 // marks, and what each counts for
	d := open(t)
	d.importedBefore("full", most, 10)
	d.importedBefore("nearly", most-2, 10)
	d.server.Memory.Each, d.server.Memory.Patience = 2*most*counted, time.Nanosecond
	d.refused(400, "bad_request", fmt.Sprintf("has %d imported messages", most), "POST", "/api/x/letters/%2F/import?queue=full&once=true", "")
	line := func(id int) string {
		return fmt.Sprintf(`{"id":"new %d","vhost":"v","place":"queue","queue":"q","payload":"x"}`+"\n", id)
	}
	w := d.want(200, "POST", "/api/x/letters/%2F/import?queue=nearly&once=true", line(1)+line(1)+line(2)+line(3)+line(1))
	if n := decoded[api.Imported](d, w.Body.Bytes()); n.Imported != 2 || n.Skipped != 2 || n.Failed != 1 || !strings.Contains(n.Wrong[0].Reason, "without 'once'") {
		t.Errorf("at the limit: %+v", n)
	}
}
