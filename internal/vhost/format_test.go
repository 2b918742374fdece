package vhost

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// goldenFacts is a fact of each kind, and Enqueued with every flag. A new fact is added at the end.
func goldenFacts() []fact.Fact {
	work := &fact.Object{
		Name: "work", Type: "classic", Durable: true, AutoDelete: true,
		Arguments: amqp.Table{{Name: "x-message-ttl", Value: amqp.Int32(1000)}, {Name: "x-dead-letter-exchange", Value: amqp.String("x")}},
	}
	policy := &Policy{
		Name: "p", Operator: true, Pattern: "^w", ApplyTo: "queues", Priority: -3,
		Definition: amqp.Table{{Name: "max-length", Value: amqp.Int64(5)}},
	}
	books := &fact.Books{Made: 300}
	books.Ended[fact.Acked], books.Ended[fact.LostHops] = 7, 1
	persistent := queue.Persistent
	return []fact.Fact{
		{Kind: fact.ExchangeDeclared, Object: &fact.Object{Name: "x", Type: "topic", Durable: true, Internal: true}},
		{Kind: fact.QueueDeclared, Queue: 300, Object: work},
		{Kind: fact.Bound, Object: &fact.Object{Source: "x", Name: "work", RoutingKey: "a.*", Durable: true,
			Arguments: amqp.Table{{Name: "h", Value: amqp.Bool(true)}}}},
		{Kind: fact.Unbound, Object: &fact.Object{Source: "x", Name: "y", ToExchange: true, RoutingKey: "k"}},
		{Kind: fact.PolicySet, Policy: policy},
		{Kind: fact.PolicyCleared, Policy: policy},
		{Kind: fact.Enqueued, Queue: 300, Seq: 1, Entry: queue.Entry{Index: 9, Offset: 10, Size: 20, BodyBytes: 5, Flags: persistent}},
		{Kind: fact.Enqueued, Queue: 300, Seq: 1<<56 | 2, N: 4, History: storage.Ref{Log: testLog, Index: 8, Offset: 30, Size: 40}, Entry: queue.Entry{
			Index: 7, Offset: 200, Size: 300, BodyBytes: 250, ExpireAt: epoch, Priority: 9,
			Flags: persistent | queue.HasHistory | queue.Redelivered | queue.Moved,
		}},
		{Kind: fact.Handed, Queue: 300, Seq: 1, N: 2},
		{Kind: fact.Returned, Queue: 300, Seq: 1, Failed: true},
		{Kind: fact.Ended, Queue: 300, Seq: 1, N: 128, Cause: fact.Moved},
		{Kind: fact.QueueDeleted, Queue: 300},
		{Kind: fact.ExchangeDeleted, Object: &fact.Object{Name: "x"}},
		{Kind: fact.Counted, Books: books},
		{Kind: fact.Skipped, Queue: 300, Seq: 130},
		{Kind: fact.Enqueued, Queue: 300, Seq: 11, At: 1234567890123, Entry: queue.Entry{
			Index: 9, Offset: 10, Size: 20, BodyBytes: 5, Flags: queue.Persistent,
		}},
		{Kind: fact.Returned, Queue: 300, Seq: 11, At: 1234567890123},
		{Kind: fact.Resumed, Queue: 300, Seq: 11},
		{Kind: fact.Held, Queue: 300, Seq: 11, Cause: fact.LostRefused, History: storage.Ref{Log: testLog, Index: 8, Offset: 7, Size: 6},
			Took: []fact.QueueID{1, 300}},
		{Kind: fact.Kept, Queue: 300, Seq: 11},
		{Kind: fact.Tallied, Queue: 300, Seq: 11, N: 200},
		{Kind: fact.Noted, Object: &fact.Object{Name: "x"}, Entry: queue.Entry{Index: 8, Offset: 7, Size: 6},
			History: storage.Ref{Log: testLog, Index: 5, Offset: 4, Size: 3}},
		{Kind: fact.Configured, Object: &fact.Object{Arguments: amqp.Table{{Name: "hops-max", Value: amqp.Int64(16)}}}},
		{Kind: fact.Deferred, Queue: 300, Seq: 11, At: 1234567890124},
		{Kind: fact.Keyed, Queue: 300, Seq: 11, N: 0xfedcba9876543210},
		{Kind: fact.Ended, Queue: 300, Seq: 11, N: 1, Cause: fact.Fired},
		{Kind: fact.Ended, Queue: 300, Seq: 12, N: 1, Cause: fact.Unscheduled},
		{Kind: fact.Matched, Queue: 300, Object: &fact.Object{}, Policy: &Policy{Name: "p", Operator: true}},
		{Kind: fact.Matched, Object: &fact.Object{Name: "x"}, Policy: &Policy{Name: "p"}},
		{Kind: fact.Stored, Bytes: goldenRecord()},
		{Kind: fact.Remembered, Bytes: goldenHistory()},
		{Kind: fact.Paged, Queue: 300, Seq: 256, Bytes: []byte("slot")},
		{Kind: fact.PendingFree, Bytes: []byte("slot")},
		{Kind: fact.HeldNoted, Queue: 300, Seq: 11, Cause: fact.LostRefused, History: storage.Ref{Log: testLog},
			Took: []fact.QueueID{1, 300}},
		{Kind: fact.Used, Index: 9, Use: []storage.UseRange{{First: 3, Refs: 2, Bytes: 500}, {First: 8, Refs: 1, Bytes: 40}}},
		{Kind: fact.Cancellations, Queue: 300, Seq: 256, Bytes: goldenCancellations()},
		{Kind: fact.JobBegun, N: 7, Bytes: appendProgress(appendJobSpec(nil, goldenOrder()), goldenProgress())},
		{Kind: fact.JobProgressed, N: 7, Bytes: appendProgress(nil, goldenProgress())},
		{Kind: fact.JobForgotten, N: 7},
		{Kind: fact.JobBegun, N: 8, Bytes: appendProgress(
			appendJobSpec(nil, &JobSpec{Source: Where{Queue: "q"}, Force: true}), &Progress{State: JobRunning})},
		{Kind: fact.JobProgressed, N: 8, Bytes: appendProgress(
			nil, &Progress{State: JobRunning, Refused: [skipReasons]uint64{SkipNoOrigin: 2, SkipSameQueue: 3}})},
		staged(3, txStep{record: storage.Ref{Log: testLog, Index: 8, Offset: 7, Size: 6}}),
		staged(3, txStep{kind: Nack, flag: true, runs: []run{{queue: 300, seq: 11, n: 2}}}),
		staged(4, txStep{targets: []fact.QueueID{1, 300}, record: storage.Ref{Log: testLog, Index: 8, Offset: 7, Size: 6}}),
		{Kind: fact.TxCommitted, N: 3},
		{Kind: fact.TxApplied, N: 3, Seq: 2},
		{Kind: fact.TxReached, N: 4, Seq: 1},
		{Kind: fact.TxDropped, N: 4},
		{Kind: fact.Ruled, N: 1},
		{Kind: fact.Ruled, Queue: 300},
		{Kind: fact.Orphaned, N: 1, Object: &fact.Object{Name: "x"}},
		{Kind: fact.Orphaned, Object: &fact.Object{}},
		{Kind: fact.Enqueued, Queue: 300, Seq: 12, History: storage.Ref{Log: testLog, Index: 9, Offset: 30, Size: 40}, Entry: queue.Entry{
			Index: 9, Offset: 10, Size: 20, BodyBytes: 5, Flags: persistent | queue.HasHistory | queue.AtWork,
		}},
		{Kind: fact.Arrived, Queue: 300, Seq: 12, At: 1234567890125},
	}
}

func staged(n uint64, x txStep) fact.Fact {
	return fact.Fact{Kind: fact.TxStaged, N: n, Bytes: appendStep(nil, &x)}
}

func goldenOrder() *JobSpec {
	return &JobSpec{
		Source: Where{Queue: "work.dead"}, User: "u", Filter: "reason = 'rejected'", Target: TargetQueue, Queue: "work",
		Exchange: "x", Key: "k", Newest: true, Ramp: true, StripDeaths: true, Max: 1000, Rate: 300, Canary: 10, Watch: 5000,
		StopPercent: 50, IDs: []MessageID{1, 300},
	}
}

func goldenProgress() *Progress {
	p := &Progress{
		State: JobPaused, Note: "n", Begun: epoch, Ended: epoch + 1, Cursor: 400, Total: 500, Looked: 450, Moved: 440,
		CameBack: 2, Rate: 30, Quota: 1, Until: epoch + 2, BaseSent: 3, BaseBack: 4, MidSent: 5, MidBack: 6,
		Bounds: []uint64{900},
	}
	p.Refused[1] = 8
	return p
}

// goldenCancellations is what a schedule remembers.
func goldenCancellations() []byte {
	b := []byte{2, 1, 0xac, 2}                       // two messages
	b = append(b, 1, 4)                              // a chunk of which it is forgotten
	return append(b, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0x7) // a key with its last message
}

// goldenBytes is a fact as it is in a batch.
func goldenBytes(f *fact.Fact) []byte {
	if f.Kind == fact.Stored || f.Kind == fact.Remembered {
		return append(binary.BigEndian.AppendUint32([]byte{byte(f.Kind)}, uint32(len(f.Bytes))), f.Bytes...)
	}
	return fact.Append(nil, f, 9)
}

// loggedFacts is what of goldenFacts can be in a batch of the log.
func loggedFacts() []fact.Fact {
	return slices.DeleteFunc(goldenFacts(), func(f fact.Fact) bool { return f.Kind.ForCheckpoints() })
}

func goldenRecord() []byte {
	return fact.AppendRecord(nil, &fact.Head{
		Exchange: []byte("x"), Key: []byte("k"), CC: [][]byte{[]byte("c1"), []byte("c2")}, BCC: [][]byte{[]byte("b")},
		Properties: properties(amqp.Persistent, nil),
	}, []byte("body"))
}

func goldenHistory() []byte {
	return fact.AppendHistory(nil, &fact.History{
		Exchange: "dlx", Keys: []string{"k1", "k2"}, Share: 2,
		First: fact.Origin{Reason: fact.Expired, Queue: "q1", Exchange: "x"}, Last: fact.Origin{Reason: fact.Rejected, Queue: "q2", Exchange: "dlx"},
		Deaths: []fact.Death{
			{Queue: "q2", Reason: fact.Rejected, Count: 300, Time: 1234567890, Exchange: "dlx", Keys: []string{"k1"}},
			{Queue: "q1", Reason: fact.Expired, Count: 1, Time: -1, Exchange: "x", Keys: []string{"k", "c1"}, HadTTL: true, Expiration: "100"},
		},
	})
}

// goldenRedriven is the history of a message that a job has returned to work.
func goldenRedriven() []byte {
	return fact.AppendHistory(nil, &fact.History{
		Exchange: "x", Keys: []string{"k"}, Share: 2, Last: fact.Origin{Reason: fact.Rejected, Queue: "q", Exchange: "x"},
		At:      1234567890123,
		Redrive: fact.RedriveMark{Times: 2, Job: 300, Restored: true, AtWork: true},
	})
}

// goldenAlike is the history of a message that died like one before it, and whose expiration is in its record.
func goldenAlike() []byte {
	return fact.AppendHistory(nil, &fact.History{
		Exchange: "dlx", Keys: []string{"k"}, Share: 2,
		First: fact.Origin{Reason: fact.Expired, Queue: "q", Exchange: "x"},
		Last:  fact.Origin{Reason: fact.Expired, Queue: "q", Exchange: "x"},
		Deaths: []fact.Death{{
			Queue: "q", Reason: fact.Expired, Count: 1, Time: 5, Exchange: "x", Keys: []string{"k"},
			HadTTL: true, TTLInRecord: true,
		}},
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
		b := goldenBytes(&f)
		fmt.Fprintf(&got, "fact %d %s\n", b[0], hex.EncodeToString(b))
		r := fact.Decoder{Rest: b}
		back, err := fact.Parse(&r, testLog, 9)
		if err != nil || r.Err != nil || len(r.Rest) > 0 {
			t.Errorf("fact %d: %v, %v, %d octets are left", f.Kind, err, r.Err, len(r.Rest))
		}
		want := f
		want.Durable = true
		if f.Kind == fact.PolicyCleared || f.Kind == fact.PolicySet || f.Object != nil || f.Books != nil {
			continue // compared by their bytes below
		}
		if !reflect.DeepEqual(back, want) {
			t.Errorf("fact %d came back as\n%+v, was\n%+v", f.Kind, back, want)
		}
	}
	fmt.Fprintf(&got, "record %s\nhistory %s\n", hex.EncodeToString(goldenRecord()), hex.EncodeToString(goldenHistory()))
	fmt.Fprintf(&got, "redriven history %s\n", hex.EncodeToString(goldenRedriven()))
	fmt.Fprintf(&got, "history without its expiration %s\n", hex.EncodeToString(goldenAlike()))
	if got.String() != string(golden) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), golden)
	}
	for l := range strings.Lines(string(golden)) {
		words := strings.Fields(l)
		if words[0] != "fact" {
			continue
		}
		raw, _ := hex.DecodeString(words[2])
		f, err := fact.Parse(&fact.Decoder{Rest: raw}, testLog, 9)
		if err != nil {
			t.Errorf("%s: %v", l, err)
			continue
		}
		if again := goldenBytes(&f); !bytes.Equal(again, raw) {
			t.Errorf("%s read and written again is %x", l, again)
		}
	}
}

// If this fails, a fact was added to the format of the log without a sample of its bytes: a later version may change
// them unnoticed, and lose what this one has written.
func TestEachFactHasItsSample(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/format-1.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for k := 1; k < int(fact.PutOff); k++ {
		_, err := fact.Parse(&fact.Decoder{Rest: []byte{byte(k)}}, testLog, 9)
		if err != nil && strings.HasPrefix(err.Error(), "unknown fact ") {
			continue
		}
		known++
		if !strings.Contains("\n"+string(golden), fmt.Sprintf("\nfact %d ", k)) {
			t.Errorf("fact %d has no sample", k)
		}
	}
	if known < int(fact.Matched) {
		t.Errorf("%d kinds of facts are known", known)
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
	facts, err := fact.All(testLog, 2, w.log.batches[1])
	if err != nil || len(facts) != 2 || facts[0].Kind != fact.Stored || facts[1].Kind != fact.Enqueued {
		t.Fatalf("batch 2 is %+v, %v", facts, err)
	}
	if got := w.log.Record(facts[1].Entry.Ref(testLog)); !bytes.Equal(got, facts[0].Bytes) {
		t.Fatalf("the ref names %q, the record is %q", got, facts[0].Bytes)
	}
}

// TestDamagedBatches says that data which is not what was written is applied without a word: every prefix of a
// batch that is no sequence of facts, and what nobody ever wrote, must be an error.
func TestDamagedBatches(t *testing.T) {
	t.Parallel()
	batch := []byte{fact.FormatVersion, 1}
	ends := map[int]bool{2: true}
	facts := loggedFacts()
	facts[7].Seq &= 1<<56 - 1 // the queue has one lane
	for _, f := range facts {
		batch = append(batch, goldenBytes(&f)...)
		ends[len(batch)] = true
	}
	apply := func(b []byte) error { return New("/", testLog, testRecords{}, newPages()).ApplyBatch(9, b) }
	if err := apply(batch); err != nil {
		t.Fatalf("the whole batch: %v", err)
	}
	for n := range len(batch) {
		if err := apply(batch[:n]); (err == nil) != ends[n] {
			t.Errorf("%d of %d octets: %v", n, len(batch), err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing":        {},
		"another format": {fact.FormatVersion + 1, 1},
		"unknown fact":   {fact.FormatVersion, 1, 99},
		"unknown cause":  {fact.FormatVersion, 1, byte(fact.Ended), fact.Causes, 1, 1, 1},
		"a huge count":   {fact.FormatVersion, 1, byte(fact.Stored), 0xff, 0xff, 0xff, 0xff},
		"a lane too many": fact.Append(fact.Append([]byte{fact.FormatVersion, 1}, &facts[1], 9),
			&fact.Fact{Kind: fact.Enqueued, Queue: 300, Seq: 1 << 56, Entry: queue.Entry{Flags: queue.Persistent}}, 9),
		"a queue twice": fact.Append(fact.Append([]byte{fact.FormatVersion, 1}, &facts[1], 9), &facts[1], 9),
		"a number twice": fact.Append(fact.Append(fact.Append([]byte{fact.FormatVersion, 1}, &facts[1], 9),
			&facts[6], 9), &facts[6], 9),
	} {
		if err := apply(b); err == nil {
			t.Errorf("%s was applied", name)
		}
	}
	if _, err := fact.ParseHistory(goldenHistory()[:20]); !errors.Is(err, fact.ErrTruncated) {
		t.Errorf("half a history: %v", err)
	}
	for n := range 12 {
		if _, err := fact.ParseRecord(goldenRecord()[:n]); err == nil {
			t.Errorf("%d octets passed for a record", n)
		}
	}
}

// If this fails, the head of a record is taken from too little of it, or takes more of it than there is.
func TestHeadOfARecordIsInItsBeginning(t *testing.T) {
	record := goldenRecord()
	whole, size := fact.ParseHead(record)
	if string(record[size:]) != "body" {
		t.Fatalf("the head of the record has %d octets of %d", size, len(record))
	}
	for n := range record {
		h, more := fact.ParseHead(record[:n])
		switch {
		case n >= size && (more != size || !reflect.DeepEqual(h, whole)):
			t.Errorf("in %d octets there is the head %+v, of %d", n, h, more)
		case n < size && (more <= n || more > size || !reflect.DeepEqual(h, fact.Head{})):
			t.Errorf("%d octets of the head are %+v, and %d are needed", n, h, more)
		}
	}
}

// If this fails, a dead letter whose publisher told of four thousand million redrives is taken by the same
// job again and again.
func TestDeadLettersSentBackVeryOften(t *testing.T) {
	h := fact.History{Redrive: fact.RedriveMark{Times: math.MaxUint32}.Again(7)}
	read, err := fact.ParseHistory(fact.AppendHistory(nil, &h))
	if err != nil || read.Redrive != (fact.RedriveMark{Times: math.MaxUint32, Job: 7}) {
		t.Errorf("it was read back as %+v, %v", read.Redrive, err)
	}
}

// FuzzFold finds batches that make the machine panic or hang.
func FuzzFold(f *testing.F) {
	batch := []byte{fact.FormatVersion, 1}
	for _, one := range goldenFacts() {
		f.Add(append([]byte{fact.FormatVersion, 1}, goldenBytes(&one)...))
	}
	for _, one := range loggedFacts() {
		batch = append(batch, goldenBytes(&one)...)
	}
	f.Add(batch)
	f.Add(bytes.Replace(batch, []byte("x-message-ttl"), []byte("x-max-priorit"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := fact.Decoder{Rest: b}
		r.Byte()
		r.Uint()
		for len(r.Rest) > 0 && r.Err == nil {
			x, err := fact.Parse(&r, testLog, 9)
			if uint64(x.Seq)&(1<<56-1) > 1<<20 {
				return // a hole in the numbers costs memory by its size
			}
			if err != nil {
				break
			}
		}
		_, err := fact.All(testLog, 9, b)
		pages := newPages() // a snapshot names what it wrote there
		v := New("/", testLog, testRecords{}, pages)
		if applied := v.ApplyBatch(9, b); err != nil && applied == nil {
			t.Fatalf("Facts says %v, ApplyBatch nothing", err)
		} else if applied != nil {
			return
		}
		if err := v.Check(); err != nil && !bytes.Contains(b, []byte{byte(fact.Counted)}) {
			t.Fatal(err)
		}
		if err := New("/", testLog, testRecords{}, pages).ApplyBatch(0, v.snapshot()); err != nil {
			t.Fatalf("its snapshot: %v", err)
		}
	})
}

// FuzzRecord finds records and histories whose rendering panics, or that do not come back as they were.
func FuzzRecord(f *testing.F) {
	f.Add(goldenRecord(), goldenHistory(), uint32(1))
	f.Add(goldenRecord(), goldenAlike(), uint32(1))
	small := fact.Head{Properties: properties(1, amqp.Table{{Name: "h", Value: amqp.Int32(1)}})}
	f.Add(fact.AppendRecord(nil, &small, nil), []byte{}, uint32(0))
	f.Fuzz(func(t *testing.T, record, history []byte, returns uint32) {
		c, err := fact.ParseRecord(record)
		if err == nil && record[0] < 2 {
			again, err := fact.ParseRecord(fact.AppendRecord(nil, &c.Head, c.Body))
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("%+v came back as %+v, %v", c, again, err)
			}
		}
		h, failed := fact.ParseHistory(history)
		if failed == nil {
			again, err := fact.ParseHistory(fact.AppendHistory(nil, &h))
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
