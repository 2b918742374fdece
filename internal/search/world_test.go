package search

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A world is a broker with dead letters, and an index whose crawler goes when it is told.
type world struct {
	t     testing.TB
	fs    *vfs.Mem
	clock *engine.TestClock
	e     *engine.Engine
	dir   string
	x     *Index
	c     *crawler
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, fs: vfs.NewMem(1), clock: engine.NewTestClock(time.Unix(1_700_000_000, 0)), dir: t.TempDir()}
	w.start()
	w.open()
	t.Cleanup(func() {
		w.shut()
		w.stop()
	})
	return w
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (w *world) start() {
	w.t.Helper()
	var err error
	w.e, err = engine.Open(engine.Options{
		FS: w.fs, Journal: journal.Options{SegmentBytes: 4 << 20, ReserveBytes: -1}, Clock: w.clock, Log: quiet(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stop() {
	w.t.Helper()
	if err := w.e.Close(); err != nil {
		w.t.Error(err)
	}
}

// open opens the index, and starts no goroutine.
func (w *world) open() {
	w.t.Helper()
	w.x = prepare(Options{Broker: w.e, Dir: w.dir, Log: quiet()})
	if w.x.store == nil {
		w.t.Fatal("no store")
	}
	close(w.x.stopped)
	w.x.sealAt = 64
	w.c = newCrawler(w.x)
}

func (w *world) shut() {
	w.t.Helper()
	w.c.cancel()
	if err := w.x.Close(); err != nil {
		w.t.Error(err)
	}
}

// crawl has the crawler go until nothing is left to do.
func (w *world) crawl() {
	w.t.Helper()
	for range 100 {
		if err := w.c.round(); err != nil {
			w.t.Fatal(err)
		}
		w.c.busy = false
		settled := true
		for _, k := range w.x.all() {
			k.Lock()
			for i := range k.record.Places {
				k.record.Places[i].sweepAt = time.Time{}
			}
			settled = settled && k.settled
			k.Unlock()
		}
		if settled {
			return
		}
	}
	w.t.Fatal("the crawler does not settle")
}

func (w *world) do(commands ...vhost.Command) {
	w.t.Helper()
	if _, err := w.e.Do(context.Background(), "/", authz.Broker(), commands...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) declare(name string, arguments ...amqp.Field) {
	w.t.Helper()
	w.do(vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: name, Durable: true, Arguments: arguments}})
}

func field(name string, v amqp.Value) amqp.Field { return amqp.Field{Name: name, Value: v} }

// full declares a queue in which nothing has space: what is published dies, and goes to another.
func (w *world) full(name, to string) {
	w.t.Helper()
	w.declare(name, field("x-max-length", amqp.Int64(0)), field("x-dead-letter-exchange", amqp.String("")), field("x-dead-letter-routing-key", amqp.String(to)))
}

func (w *world) publish(queue string, p *amqp.Properties, body string) {
	w.t.Helper()
	p.Has |= amqp.FlagDeliveryMode
	p.DeliveryMode = amqp.Persistent
	w.do(vhost.Command{Kind: vhost.Publish, Key: []byte(queue), Properties: amqp.AppendProperties(nil, p), Body: []byte(body)})
	w.advance(time.Second)
}

func (w *world) advance(d time.Duration) {
	w.t.Helper()
	if err := w.e.Advance(context.Background(), d); err != nil {
		w.t.Fatal(err)
	}
}

// publishDeadLetters publishes dead letters as failing consumers leave them.
func (w *world) publishDeadLetters(r *rand.Rand, n int) {
	w.t.Helper()
	for i := range n {
		exception := []string{"java.net.SocketTimeoutException: Read timed out", "com.acme.OrderException: order 17 not found", "boom"}[r.IntN(3)]
		p := &amqp.Properties{
			Has: amqp.FlagHeaders | amqp.FlagMessageID | amqp.FlagType, MessageID: fmt.Sprintf("m-%d", r.IntN(50)), Type: "order." + []string{"created", "paid"}[r.IntN(2)],
			Headers: amqp.Table{
				field("x-exception-message", amqp.String(exception)), field("tenant", amqp.String(fmt.Sprintf("t%d", r.IntN(9)))),
				field("attempt", amqp.Int32(int32(r.IntN(5)))),
			},
		}
		if r.IntN(4) == 0 {
			p.Headers = append(p.Headers, field("trace", amqp.String(strings.Repeat("at com.acme.Orders ", 20))))
		}
		body := fmt.Sprintf(`{"order":{"id":%d,"note":"caf\u00e9 %s declined"},"amount":%d}`, i, []string{"card", "cash"}[r.IntN(2)], r.IntN(100))
		if r.IntN(10) == 0 {
			body = fmt.Sprintf(`{"order":{"id":%de0}}`, r.IntN(9))
		}
		if r.IntN(20) == 0 {
			body = string([]byte{0xFF, 0xFE, byte(i), 'c', 'a', 'r', 'd'})
		}
		w.publish([]string{"orders", "bills", "nowhere"}[r.IntN(3)], p, body)
	}
}

func (w *world) filter(text string) *filter.Filter {
	w.t.Helper()
	f, err := filter.Parse(text, w.e.Now().UnixMilli())
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// all are the dead letters that a question finds, portion by portion.
func (w *world) all(q Query) (refs []string, a Answer) {
	w.t.Helper()
	for range 1000 {
		var err error
		a, err = w.x.Search(context.Background(), q, func(x *vhost.Seen, m *filter.Message) {
			refs = append(refs, fmt.Sprintf("%s/%d@%d", x.Queue, x.ID, m.At))
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if a.Next == "" {
			return refs, a
		}
		q.After = a.Next
	}
	w.t.Fatal("no end")
	return nil, a
}

// scanned are the same by a scan, in no order.
func (w *world) scanned(q Query) (refs []string) {
	w.t.Helper()
	q.Limit = LimitMax
	if _, err := w.x.scanMessages(context.Background(), &q, func(x *vhost.Seen, m *filter.Message) {
		refs = append(refs, fmt.Sprintf("%s/%d@%d", x.Queue, x.ID, m.At))
	}); err != nil {
		w.t.Fatal(err)
	}
	return refs
}

// same compares the index with a scan.
func (w *world) same(filter string, order Order) {
	w.t.Helper()
	q := Query{VHost: "/", Filter: w.filter(filter), Order: order, Limit: 23}
	got, a := w.all(q)
	if a.Index == nil {
		w.t.Errorf("%q: answered by a scan", filter)
	}
	if a.Partial {
		w.t.Errorf("%q: partial", filter)
	}
	want := w.scanned(q)
	if !slices.IsSortedFunc(got, func(a, b string) int {
		c := strings.Compare(a[strings.IndexByte(a, '@'):], b[strings.IndexByte(b, '@'):])
		if order == Newest {
			return -c
		}
		return c
	}) {
		w.t.Errorf("%q: not in the order of time: %v", filter, got)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("%q: the index finds %d dead letters, a scan %d\n%v\n%v", filter, len(got), len(want), got, want)
	}
}
