package search

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

var benchMessages = flag.Int("search.messages", 20_000, "messages of the benchmarks")

// vocabularyOf are n words as notes have them.
func vocabularyOf(r *rand.Rand, n int) (words []string) {
	for range n {
		b := make([]byte, 3+r.IntN(8))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		words = append(words, string(b))
	}
	return words
}

// springMessage is a message as a Spring application leaves it, with a body of about 1 KiB of JSON.
func springMessage(r *rand.Rand, words []string, i int) (p *amqp.Properties, body string) {
	exception := []string{"java.net.SocketTimeoutException: Read timed out", "java.lang.NullPointerException", fmt.Sprintf("com.acme.OrderException: order %d not found", r.IntN(1e6))}[r.IntN(3)]
	trace := exception
	for k := range 8 {
		trace += fmt.Sprintf("\n\tat com.acme.%s.%s(%s.java:%d)", words[r.IntN(200)], words[r.IntN(200)], words[r.IntN(200)], 10+k)
	}
	var note strings.Builder
	for note.Len() < 650 {
		note.WriteString(words[int(float64(len(words))*r.Float64()*r.Float64())] + " ")
	}
	body = fmt.Sprintf(`{"order":{"id":%d,"customer":"%08x-%04x","amount":%d},"lines":[{"sku":"sku-%d","qty":%d},{"sku":"sku-%d","qty":%d}],"note":%q}`,
		i, r.Uint32(), r.IntN(1<<16), r.IntN(100_000), r.IntN(5000), r.IntN(10), r.IntN(5000), r.IntN(10), note.String())
	return &amqp.Properties{
		Has:          amqp.FlagHeaders | amqp.FlagMessageID | amqp.FlagContentType | amqp.FlagDeliveryMode,
		DeliveryMode: amqp.Persistent, MessageID: fmt.Sprintf("%016x", r.Uint64()), ContentType: "application/json",
		Headers: amqp.Table{
			field("x-exception-message", amqp.String(exception)), field("x-exception-stacktrace", amqp.String(trace)),
			field("x-original-exchange", amqp.String("orders")), field("__TypeId__", amqp.String("com.acme.OrderCreated")),
			field("tenant", amqp.String(fmt.Sprintf("t%d", r.IntN(500)))), field("attempt", amqp.Int32(int32(r.IntN(5)))),
		},
	}, body
}

// benchWorld is a broker with messages of 20 queues in 20 others.
func benchWorld(b *testing.B, n int) *world {
	dir := b.TempDir()
	w := &world{t: b, dir: b.TempDir()}
	e, err := engine.Open(engine.Options{FS: vfs.Dir(dir), Log: quiet(), Sync: vhost.SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	w.e = e
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabularyOf(r, 4000)
	for q := range 20 {
		w.declare(fmt.Sprintf("dlq.%d", q))
		w.full(fmt.Sprintf("orders.%d", q), fmt.Sprintf("dlq.%d", q))
	}
	for i := 0; i < n; i += 500 {
		var commands []vhost.Command
		for k := i; k < min(i+500, n); k++ {
			p, body := springMessage(r, words, k)
			commands = append(commands, vhost.Command{Kind: vhost.Publish, Key: fmt.Appendf(nil, "orders.%d", r.IntN(20)),
				Properties: amqp.AppendProperties(nil, p), Body: []byte(body)})
		}
		w.do(commands...)
	}
	w.x = prepare(Options{Broker: e, Dir: w.dir, Log: quiet()})
	close(w.x.stopped)
	w.c = newCrawler(w.x)
	b.Cleanup(func() {
		w.shut()
		w.stop()
	})
	return w
}

// BenchmarkSearch reads messages into an index, and asks it. With -search.messages 1000000 it takes some
// minutes, most of them to make the messages.
func BenchmarkSearch(b *testing.B) {
	w := benchWorld(b, *benchMessages)
	began := time.Now()
	for w.x.Stats().Messages < int64(*benchMessages) || w.x.knownOf("/") == nil {
		if err := w.c.round(); err != nil {
			b.Fatal(err)
		}
		w.c.busy = false
	}
	took := time.Since(began)
	s := w.x.Stats()
	b.Logf("%d messages in %v: %.0f in a second; %d bytes, %d each", s.Messages, took.Round(time.Millisecond), float64(s.Messages)/took.Seconds(), s.Bytes, s.Bytes/s.Messages)
	pageSize := 0
	if err := w.x.store.mu.db.QueryRow("pragma page_size").Scan(&pageSize); err != nil || pageSize != storePage {
		b.Errorf("pages of %d bytes: %v", pageSize, err)
	}
	logical := int64(0)
	for _, one := range w.x.knownOf("/").segments {
		logical += one.meta.Bytes
	}
	b.Logf("%d bytes in %d segments", logical, len(w.x.knownOf("/").segments))
	for _, text := range []string{
		"", "reason:maxlen source:orders.3 age:<1h", "header.tenant:t42", "timed", "nullpointerexception", fmt.Sprint(*benchMessages / 3),
		fmt.Sprintf("body.$.order.id:%d", *benchMessages/2), "body.$.lines[*].sku:sku-77", "\"read timed out\" header.tenant:t42", "exception:*Timeout*", "absent", "*sket*imed*",
	} {
		f := w.filter(text)
		b.Run("filter="+text, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.x.Search(context.Background(), Query{VHost: "/", Filter: f}, func(*vhost.Seen, *filter.Message) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, by := range []string{"source", "exception", "header:tenant"} {
		g, err := filter.GroupBy(by)
		if err != nil {
			b.Fatal(err)
		}
		for _, text := range []string{"", "timed"} {
			f := w.filter(text)
			b.Run("groups="+by+"/filter="+text, func(b *testing.B) {
				for b.Loop() {
					if _, err := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: g, Filter: f}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkTail cuts messages into words and seals them.
func BenchmarkTail(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabularyOf(r, 4000)
	var all []document
	for i := range 2000 {
		p, body := springMessage(r, words, i)
		all = append(all, document{id: uint64(i + 1), message: filter.Message{
			ID: uint64(i + 1), Queue: "q", Reason: "rejected", FirstReason: "rejected", Source: "orders", LastQueue: "orders", Keys: []string{"orders"},
			Count: 1, At: int64(i), Size: int64(len(body)), Properties: amqp.AppendProperties(nil, p), Body: []byte(body),
		}})
	}
	b.ReportAllocs()
	t := newTail(1, tailMessages)
	for i := 0; b.Loop(); i++ {
		t.add(&all[i%len(all)])
		if t.full() {
			t.seal()
			t = newTail(1, tailMessages)
		}
	}
	_ = slices.Max(t.ends[0])
}
