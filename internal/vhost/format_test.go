package vhost

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// goldenFacts is one fact of each kind, and Enqueued with every flag. A new fact is added at the end.
func goldenFacts() []Fact {
	work := &Object{
		Name: "work", Type: "classic", Durable: true, AutoDelete: true,
		Arguments: amqp.Table{{Name: "x-message-ttl", Value: amqp.Int32(1000)}, {Name: "x-dead-letter-exchange", Value: amqp.String("x")}},
	}
	policy := &Policy{
		Name: "p", Operator: true, Pattern: "^w", ApplyTo: "queues", Priority: -3,
		Definition: amqp.Table{{Name: "max-length", Value: amqp.Int64(5)}},
	}
	books := &Books{Made: 300}
	books.Ended[Acked], books.Ended[LostHops] = 7, 1
	persistent := queue.Persistent
	return []Fact{
		{Kind: ExchangeDeclared, Object: &Object{Name: "x", Type: "topic", Durable: true, Internal: true}},
		{Kind: QueueDeclared, Queue: 300, Object: work},
		{Kind: Bound, Object: &Object{Source: "x", Name: "work", RoutingKey: "a.*", Durable: true, Arguments: amqp.Table{{Name: "h", Value: amqp.Bool(true)}}}},
		{Kind: Unbound, Object: &Object{Source: "x", Name: "y", ToExchange: true, RoutingKey: "k"}},
		{Kind: PolicySet, Policy: policy},
		{Kind: PolicyCleared, Policy: policy},
		{Kind: Enqueued, Queue: 300, Seq: 1, Entry: queue.Entry{Index: 9, Offset: 10, Size: 20, BodyBytes: 5, Flags: persistent}},
		{Kind: Enqueued, Queue: 300, Seq: 1<<56 | 2, N: 4, History: place.Ref{Log: testLog, Index: 8, Offset: 30, Size: 40}, Entry: queue.Entry{
			Index: 7, Offset: 200, Size: 300, BodyBytes: 250, ExpireAt: epoch, Priority: 9,
			Flags: persistent | queue.Letter | queue.Redelivered | queue.Moved,
		}},
		{Kind: Handed, Queue: 300, Seq: 1, N: 2},
		{Kind: Returned, Queue: 300, Seq: 1, Failed: true},
		{Kind: Ended, Queue: 300, Seq: 1, N: 128, Cause: Moved},
		{Kind: QueueDeleted, Queue: 300},
		{Kind: ExchangeDeleted, Object: &Object{Name: "x"}},
		{Kind: Counted, Books: books},
		{Kind: Skipped, Queue: 300, Seq: 130},
		{Kind: Enqueued, Queue: 300, Seq: 11, At: 1234567890123, Entry: queue.Entry{
			Index: 9, Offset: 10, Size: 20, BodyBytes: 5, Flags: queue.Persistent,
		}},
		{Kind: Returned, Queue: 300, Seq: 11, At: 1234567890123},
		{Kind: Resumed, Queue: 300, Seq: 11},
		{Kind: Held, Queue: 300, Seq: 11, Cause: LostRefused, History: place.Ref{Log: testLog, Index: 8, Offset: 7, Size: 6}, Took: []QueueID{1, 300}},
		{Kind: Kept, Queue: 300, Seq: 11},
		{Kind: Tallied, Queue: 300, Seq: 11, N: 200},
		{Kind: Noted, Object: &Object{Name: "x"}, Entry: queue.Entry{Index: 8, Offset: 7, Size: 6}, History: place.Ref{Log: testLog, Index: 5, Offset: 4, Size: 3}},
		{Kind: Configured, Object: &Object{Arguments: amqp.Table{{Name: "hops-max", Value: amqp.Int64(16)}}}},
		{Kind: Deferred, Queue: 300, Seq: 11, At: 1234567890124},
		{Kind: Keyed, Queue: 300, Seq: 11, N: 0xfedcba9876543210},
		{Kind: Ended, Queue: 300, Seq: 11, N: 1, Cause: Fired},
		{Kind: Ended, Queue: 300, Seq: 12, N: 1, Cause: Unscheduled},
	}
}

func goldenRecord() []byte {
	return appendRecord(nil, &content{
		exchange: []byte("x"), key: []byte("k"), cc: [][]byte{[]byte("c1"), []byte("c2")}, bcc: [][]byte{[]byte("b")},
		properties: properties(amqp.Persistent, nil), body: []byte("body"),
	})
}

func goldenHistory() []byte {
	return appendHistory(nil, &History{
		Exchange: "dlx", Keys: []string{"k1", "k2"}, Share: 2,
		First: Origin{Expired, "q1", "x"}, Last: Origin{Rejected, "q2", "dlx"},
		Deaths: []Death{
			{Queue: "q2", Reason: Rejected, Count: 300, Time: 1234567890, Exchange: "dlx", Keys: []string{"k1"}},
			{Queue: "q1", Reason: Expired, Count: 1, Time: -1, Exchange: "x", Keys: []string{"k", "c1"}, HadTTL: true, Expiration: "100"},
		},
	})
}

// TestGoldenBytes says that data written by a released version may not be readable any more: the bytes of some
// fact have changed. The file is never rewritten, only added to.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/format-1.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range goldenFacts() {
		b := appendFact(nil, &f, 9)
		fmt.Fprintf(&got, "fact %d %s\n", f.Kind, hex.EncodeToString(b))
		r := reader{rest: b}
		back, err := parseFact(&r, testLog, 9)
		if err != nil || r.err != nil || len(r.rest) > 0 {
			t.Errorf("fact %d: %v, %v, %d octets are left", f.Kind, err, r.err, len(r.rest))
		}
		want := f
		want.Durable = true
		if f.Kind == PolicyCleared || f.Kind == PolicySet || f.Object != nil || f.Books != nil {
			continue // compared by their bytes below
		}
		if !reflect.DeepEqual(back, want) {
			t.Errorf("fact %d came back as\n%+v, was\n%+v", f.Kind, back, want)
		}
	}
	fmt.Fprintf(&got, "record %s\nhistory %s\n", hex.EncodeToString(goldenRecord()), hex.EncodeToString(goldenHistory()))
	if got.String() != string(golden) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), golden)
	}
	for l := range strings.Lines(string(golden)) {
		words := strings.Fields(l)
		if words[0] != "fact" {
			continue
		}
		raw, _ := hex.DecodeString(words[2])
		f, err := parseFact(&reader{rest: raw}, testLog, 9)
		if err != nil {
			t.Errorf("%s: %v", l, err)
			continue
		}
		if again := appendFact(nil, &f, 9); !bytes.Equal(again, raw) {
			t.Errorf("%s read and written again is %x", l, again)
		}
	}
}

// TestRecordsInABatch says that a Ref no longer names the bytes of its record in the batch.
func TestRecordsInABatch(t *testing.T) {
	t.Parallel()
	w := newWorld()
	if err := w.batch(open("a")...); err != nil {
		t.Fatal(err)
	}
	must(t, w, Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "q", Durable: true}})
	must(t, w, publishTo("q", amqp.Persistent, "body"))
	facts, err := Facts(testLog, 2, w.log.batches[1])
	if err != nil || len(facts) != 2 || facts[0].Kind != Stored || facts[1].Kind != Enqueued {
		t.Fatalf("batch 2 is %+v, %v", facts, err)
	}
	if got := w.log.Record(facts[1].Entry.Ref(testLog)); !bytes.Equal(got, facts[0].Bytes) {
		t.Fatalf("the ref names %q, the record is %q", got, facts[0].Bytes)
	}
}

// TestDamagedBatches says that data which is not what was written is folded without a word: every prefix of a
// batch that is no sequence of facts, and what nobody ever wrote, must be an error.
func TestDamagedBatches(t *testing.T) {
	t.Parallel()
	batch := []byte{formatVersion, 1}
	ends := map[int]bool{2: true}
	facts := goldenFacts()
	facts[7].Seq &= 1<<56 - 1 // the queue has one lane
	for _, f := range facts {
		batch = appendFact(batch, &f, 9)
		ends[len(batch)] = true
	}
	fold := func(b []byte) error { return New("/", testLog, testRecords{}, newPages()).Fold(9, b) }
	if err := fold(batch); err != nil {
		t.Fatalf("the whole batch: %v", err)
	}
	for n := range len(batch) {
		if err := fold(batch[:n]); (err == nil) != ends[n] {
			t.Errorf("%d of %d octets: %v", n, len(batch), err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing":        {},
		"another format": {formatVersion + 1, 1},
		"unknown fact":   {formatVersion, 1, 99},
		"unknown cause":  {formatVersion, 1, byte(Ended), causes, 1, 1, 1},
		"a huge count":   {formatVersion, 1, byte(Stored), 0xff, 0xff, 0xff, 0xff},
		"a lane too many": appendFact(appendFact([]byte{formatVersion, 1}, &facts[1], 9),
			&Fact{Kind: Enqueued, Queue: 300, Seq: 1 << 56, Entry: queue.Entry{Flags: queue.Persistent}}, 9),
		"a queue twice": appendFact(appendFact([]byte{formatVersion, 1}, &facts[1], 9), &facts[1], 9),
		"a number twice": appendFact(appendFact(appendFact([]byte{formatVersion, 1}, &facts[1], 9),
			&facts[6], 9), &facts[6], 9),
	} {
		if err := fold(b); err == nil {
			t.Errorf("%s was folded", name)
		}
	}
	if _, err := parseHistory(goldenHistory()[:20]); !errors.Is(err, errTruncated) {
		t.Errorf("half a history: %v", err)
	}
	for n := range 12 {
		if _, err := parseRecord(goldenRecord()[:n]); err == nil {
			t.Errorf("%d octets passed for a record", n)
		}
	}
}

// If this fails, a letter whose publisher told of four thousand million redrives is taken by the same job again and again.
func TestLettersSentBackVeryOften(t *testing.T) {
	h := History{Resent: Resent{Times: math.MaxUint32}.again(7)}
	read, err := parseHistory(appendHistory(nil, &h))
	if err != nil || read.Resent != (Resent{Times: math.MaxUint32, Job: 7}) {
		t.Errorf("it was read back as %+v, %v", read.Resent, err)
	}
}

// FuzzFold finds batches that make the machine panic or hang.
func FuzzFold(f *testing.F) {
	batch := []byte{formatVersion, 1}
	for _, fact := range goldenFacts() {
		batch = appendFact(batch, &fact, 9)
		f.Add(append([]byte{formatVersion, 1}, appendFact(nil, &fact, 9)...))
	}
	f.Add(batch)
	f.Add(bytes.Replace(batch, []byte("x-message-ttl"), []byte("x-max-priorit"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := reader{rest: b}
		r.byte()
		r.uint()
		for len(r.rest) > 0 && r.err == nil {
			x, err := parseFact(&r, testLog, 9)
			if uint64(x.Seq)&(1<<56-1) > 1<<20 {
				return // a hole in the numbers costs memory by its size
			}
			if err != nil {
				break
			}
		}
		_, err := Facts(testLog, 9, b)
		pages := newPages() // a snapshot names what it wrote there
		v := New("/", testLog, testRecords{}, pages)
		if folded := v.Fold(9, b); err != nil && folded == nil {
			t.Fatalf("Facts says %v, Fold nothing", err)
		} else if folded != nil {
			return
		}
		if err := v.Check(); err != nil && !bytes.Contains(b, []byte{byte(Counted)}) {
			t.Fatal(err)
		}
		if err := New("/", testLog, testRecords{}, pages).Fold(0, v.snapshot()); err != nil {
			t.Fatalf("its snapshot: %v", err)
		}
	})
}

// FuzzRecord finds records and histories whose rendering panics, or that do not come back as they were.
func FuzzRecord(f *testing.F) {
	f.Add(goldenRecord(), goldenHistory(), uint32(1))
	f.Add(appendRecord(nil, &content{properties: properties(1, amqp.Table{{Name: "h", Value: amqp.Int32(1)}})}), []byte{}, uint32(0))
	f.Fuzz(func(t *testing.T, record, history []byte, returns uint32) {
		c, err := parseRecord(record)
		if err == nil && record[0] < 2 {
			again, err := parseRecord(appendRecord(nil, &c))
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("%+v came back as %+v, %v", c, again, err)
			}
		}
		h, failed := parseHistory(history)
		if failed == nil {
			again, err := parseHistory(appendHistory(nil, &h))
			if err != nil || !reflect.DeepEqual(again, h) {
				t.Fatalf("%+v came back as %+v, %v", h, again, err)
			}
		}
		d := Delivered{Record: record, History: history, Acquired: returns, Count: returns}
		if len(history) == 0 {
			d.History = nil
		}
		v, err := d.View()
		if err != nil {
			return
		}
		if _, err := amqp.ParseProperties(v.Properties); err != nil && (d.History != nil || returns > 0) {
			t.Fatalf("what was rendered does not decode: %v", err)
		}
	})
}

// open connects and opens channel 1.
func open(name string) []Command {
	return []Command{
		{Kind: Connect, Conn: 1, Window: 1 << 40, Definition: &Definition{Name: name}},
		{Kind: OpenChannel, Conn: 1, Channel: 1, Number: 1},
	}
}

func publishTo(key string, mode uint8, body string) Command {
	return Command{Kind: Publish, Channel: 1, Key: []byte(key), Properties: properties(mode, nil), Body: []byte(body)}
}

// must runs commands as one batch, none of which may be refused.
func must(t testing.TB, w *world, commands ...Command) {
	t.Helper()
	for _, c := range commands {
		if refused, err := w.step(c); refused != nil || err != nil {
			t.Fatalf("command %d: %v, %v", c.Kind, refused, err)
		}
	}
	w.seal()
	w.begin()
}
