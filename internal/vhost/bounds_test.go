package vhost

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// declareWith declares a durable queue.
func declareWith(name string, arguments ...amqp.Field) Command {
	return Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: name, Durable: true, Arguments: arguments}}
}

func argumentOf(name string, n int64) amqp.Field { return amqp.Field{Name: name, Value: amqp.Int64(n)} }

func textOf(name, text string) amqp.Field { return amqp.Field{Name: name, Value: amqp.String(text)} }

// TestHopsAreBounded says that a dead letter can run on through full queues for ever.
func TestHopsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	for i := range hopsMax + 10 {
		must(t, w, declareWith(fmt.Sprint("q", i), argumentOf("x-max-length", 0),
			textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", fmt.Sprint("q", i+1))))
	}
	must(t, w, publishTo("q0", amqp.Persistent, "m"))
	if b := w.v.Reader().Books(); b.Made != hopsMax+2 || b.Ended[fact.Moved] != hopsMax+1 ||
		w.v.Reader().LostStore().ByCause[fact.LostHops] != 1 {
		t.Errorf("books %+v", b)
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestTicksAreBounded says that one tick may take as long as there are messages that expire at one instant:
// nobody is served meanwhile.
func TestTicksAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	const queues, each = 5, tickMax/2 + 1
	for i := range queues {
		must(t, w, declareWith(fmt.Sprint("q", i), argumentOf("x-message-ttl", 1000)))
		for range each {
			must(t, w, publishTo(fmt.Sprint("q", i), amqp.Persistent, "m"))
		}
	}
	w.now += 1000
	ended := uint64(0)
	for ticks := 0; ; ticks++ {
		if at, ok := w.v.Due(); !ok || at > w.now {
			if want := queues*each/tickMax + 1; ticks < want || ticks > 2*want {
				t.Errorf("%d ticks, not about %d", ticks, want)
			}
			break
		}
		must(t, w, Command{Kind: Tick})
		now := w.v.Reader().Books().Ended[fact.GoneExpired]
		if now-ended > tickMax {
			t.Errorf("tick %d ended %d messages", ticks, now-ended)
		}
		ended = now
	}
	if ended != queues*each {
		t.Errorf("%d of %d messages have expired", ended, queues*each)
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestExcessLeavesInPortions says that a new limit on a long queue holds up everybody else.
func TestExcessLeavesInPortions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	must(t, w, declareWith("q"))
	const n = 2*excessMax + 10
	for range n {
		must(t, w, publishTo("q", amqp.Persistent, "m"))
	}
	must(t, w, Command{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: "q", Definition: amqp.Table{argumentOf("max-length", 3)}}})
	for _, want := range []int{n - excessMax, n - 2*excessMax, 3} {
		if q, _ := w.v.Reader().Queue("q"); q.Ready != want {
			t.Errorf("%d messages are left, not %d", q.Ready, want)
		}
		must(t, w, Command{Kind: Tick})
	}
	seq, _, _ := w.v.queueNamed("q").messages.Head()
	if seq != queue.Seq(n-3) {
		t.Errorf("the head is %d: not the oldest have left", seq)
	}
}

// TestBodiesMoveInPortions says that large messages which move from memory into the log at one instant make a batch
// of any size, more than the log can take.
func TestBodiesMoveInPortions(t *testing.T) {
	t.Parallel()
	const bodyBytes = 1 << 20
	body := string(make([]byte, bodyBytes))
	for _, cause := range []string{"expired", "too many"} {
		w := newWorld()
		must(t, w, open("a")...)
		must(t, w, declareWith("grave"))
		q := declareWith("q", argumentOf("x-message-ttl", 1000), textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "grave"))
		q.Definition.Durable = false
		must(t, w, q)
		const n = 20
		for range n {
			must(t, w, publishTo("q", amqp.Persistent, body))
		}
		if cause == "expired" {
			w.now += 1000
		} else {
			must(t, w, Command{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: "q", Definition: amqp.Table{argumentOf("max-length", 0)}}})
		}
		for at, ok := w.v.Due(); ok && at <= w.now; at, ok = w.v.Due() {
			must(t, w, Command{Kind: Tick})
		}
		if grave, _ := w.v.Reader().Queue("grave"); grave.Ready != n {
			t.Errorf("%s: %d of %d have moved", cause, grave.Ready, n)
		}
		for i, batch := range w.log.batches {
			if len(batch) > stepBytesMax+2*bodyBytes {
				t.Errorf("%s: batch %d has %d bytes", cause, i+1, len(batch))
			}
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
}

// TestHeldSettlementsLookOnce says that settlements of many in a transaction look at every delivery each time: a few
// kilobytes of them keep the machine from everybody else for minutes.
func TestHeldSettlementsLookOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("q"), Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q"}})
	const n = 60_000
	for range n {
		must(t, w, publishTo("q", 1, "m"))
	}
	must(t, w, Command{Kind: SelectTx, Channel: 1})
	began := time.Now()
	for range n {
		must(t, w, Command{Kind: Ack, Channel: 1, Multiple: true})
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("%d settlements of all %d deliveries took %v", n, n, d)
	}
	must(t, w, publishTo("q", 1, "later"), Command{Kind: CommitTx, Channel: 1},
		Command{Kind: Ack, Channel: 1, Multiple: true}, Command{Kind: CommitTx, Channel: 1})
	if b := w.v.Reader().Books(); b.Ended[fact.Acked] != n+1 {
		t.Errorf("%d of %d messages are acked", b.Ended[fact.Acked], n+1)
	}
}

// TestDeadLettersThatMultiplyHaveAnEnd says that one message keeps the machine for hours: each queue sends it
// on to all the others at once, in every order that there is.
func TestDeadLettersThatMultiplyHaveAnEnd(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]amqp.Field{
		"no room": {argumentOf("x-max-length", 0), textOf("x-overflow", "reject-publish-dlx")},
		"no time": {argumentOf("x-message-ttl", 0)},
	} {
		w := newWorld()
		w.out.Trace = false
		must(t, w, open("a")...)
		const n = 12
		for i := range n {
			must(t, w, declareWith(fmt.Sprint("q", i), append(arguments, textOf("x-dead-letter-exchange", "amq.fanout"))...),
				Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
		}
		must(t, w, publishTo("q0", 1, "m"))
		lost := uint64(0)
		for i := range n {
			q, _ := w.v.Reader().Queue(fmt.Sprint("q", i))
			lost += q.Stats.Lost[fact.LostHops]
		}
		if b := w.v.Reader().Books(); lost == 0 || b.Made > n*(movesMax+1) {
			t.Errorf("%s: %d dead letters lost, books %+v", name, lost, b)
		}
		if err := w.audit(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyDieAtOnce says that a settlement of more deliveries than dead letters may move on loses the rest,
// or is one batch.
func TestManyDieAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("grave"), declareWith("q", textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "grave")),
		Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q"}})
	const n = 4*movesMax + 1000
	for range n {
		must(t, w, publishTo("q", 1, "m"))
	}
	must(t, w, Command{Kind: Nack, Channel: 1, Multiple: true})
	portions := 1
	for at, due := w.v.Due(); due && at <= w.now; at, due = w.v.Due() {
		must(t, w, Command{Kind: Tick})
		portions++
	}
	for i, b := range w.log.batches {
		if len(b) > 3*stepBytesMax { // a batch may have the portions of several commands
			t.Errorf("batch %d has %d bytes", i+1, len(b))
		}
	}
	if portions < 2 {
		t.Errorf("all of it was done in %d portions", portions)
	}
	if q, _ := w.v.Reader().Queue("grave"); q.Ready != n {
		t.Errorf("%d of %d dead letters arrived; books %+v", q.Ready, n, w.v.Reader().Books())
	}
}

// TestDeadLettersThatMultiplyOverTicksHaveAnEnd says that one message fills the memory: what a command leaves for later
// goes on multiplying tick by tick.
func TestDeadLettersThatMultiplyOverTicksHaveAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	const n = 11
	for i := range n {
		must(t, w, declareWith(fmt.Sprint("q", i), argumentOf("x-max-length", 0), textOf("x-dead-letter-exchange", "amq.fanout")),
			Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
	}
	must(t, w, publishTo("q0", 1, "m"))
	for {
		if at, due := w.v.Due(); !due || at > w.now {
			break
		}
		if b := w.v.Reader().Books(); b.Made > 2*n*fact.DeadLettersMax { // half of them in the lost store
			t.Fatalf("no end: books %+v", b)
		}
		must(t, w, Command{Kind: Tick})
	}
	lost := uint64(0)
	for i := range n {
		q, _ := w.v.Reader().Queue(fmt.Sprint("q", i))
		lost += q.Stats.Lost[fact.LostHops]
	}
	if lost == 0 {
		t.Errorf("nothing was lost: books %+v", w.v.Reader().Books())
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestCommitIsBounded says that a transaction whose messages go to many queues holds everybody up, or that one that is
// refused leaves something behind.
func TestCommitIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	const n = 600
	for i := range n {
		must(t, w, declareWith(fmt.Sprint("q", i)),
			Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
	}
	must(t, w, Command{Kind: SelectTx, Channel: 1})
	for range txCopiesMax/n + 1 {
		c := publishTo("", 1, "m")
		c.Exchange = []byte("amq.fanout")
		must(t, w, c)
	}
	must(t, w, Command{Kind: CommitTx, Channel: 1})
	closed := false
	for len(w.v.ongoing) > 0 {
		if _, err := w.step(Command{Kind: Tick}); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.out.Effects {
			closed = closed || e.Kind == Closed && e.Err.Code == amqp.CodePreconditionFailed
		}
		w.seal()
		w.begin()
	}
	if b := w.v.Reader().Books(); b.Made != 0 || !closed {
		t.Errorf("refused: %t, books %+v", closed, b)
	}
	if err := w.audit(); err != nil || len(w.v.txs) > 0 {
		t.Error(err, w.v.txs)
	}
}

// TestManyComeBackAtOnce says that a channel that ends, or a restart, returns all that was unacked in one batch,
// however large the histories are: a batch larger than a log takes would be made again at every start.
func TestManyComeBackAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("q", argumentOf("x-delivery-limit", 0), textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "none")),
		Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q"}})
	var keys []amqp.Value
	for range 400 {
		keys = append(keys, amqp.String(strings.Repeat("k", 250)))
	}
	const n = 400
	for range n {
		c := publishTo("q", amqp.Persistent, "m")
		c.Properties = properties(amqp.Persistent, amqp.Table{{Name: "CC", Value: amqp.Array(keys...)}})
		must(t, w, c)
	}
	before := len(w.log.batches)
	catchUp := func() {
		for at, due := w.v.Due(); due && at <= w.now; at, due = w.v.Due() {
			must(t, w, Command{Kind: Tick})
		}
		for i, b := range w.log.batches[before:] {
			if len(b) > 3*stepBytesMax { // a batch may have the portions of several commands
				t.Errorf("batch %d has %d bytes", before+i+1, len(b))
			}
		}
	}
	if err := w.restart(nil); err != nil {
		t.Fatal(err)
	}
	if err := w.laws(); err != nil {
		t.Error(err)
	}
	catchUp()
	if got := w.v.Reader().LostStore(); got.Messages+int(got.Evicted) != n {
		t.Errorf("%d of %d dead letters are lost: %+v", got.Messages, n, w.v.Reader().Books())
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestDeletedQueuesAreDugInPortions says that a tick goes through all that a deleted or purged queue held, or that
// other deadlines wait until that is done.
func TestDeletedQueuesAreDugInPortions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	const chunks = 5*freedPerTick + 1
	must(t, w, declareWith("deleted"), declareWith("purged"), declareWith("short", argumentOf("x-message-ttl", 1)))
	for range chunks * queue.ChunkLen {
		must(t, w, publishTo("deleted", amqp.Persistent, "m"), publishTo("purged", 1, "m"))
	}
	must(t, w, publishTo("short", 1, "m"))
	name := func(n string) *Definition { return &Definition{Name: n} }
	must(t, w, Command{Kind: DeleteQueue, Channel: 1, Definition: name("deleted")}, Command{Kind: PurgeQueue, Channel: 1, Definition: name("purged")})
	if b := w.v.Reader().Books(); b.Ended[fact.GoneDeleted] != chunks*queue.ChunkLen ||
		b.Ended[fact.GonePurged] != chunks*queue.ChunkLen {
		t.Fatalf("books %+v", b)
	}
	left := func() (n int) {
		for _, m := range w.v.deletedMessages {
			n += m.Chunks()
		}
		return n + len(w.v.pendingFree)
	}
	w.now += 1
	for ticks := 0; left() > 0; ticks++ {
		before := left()
		must(t, w, Command{Kind: Tick})
		if n := before - left(); n < 1 || n > freedPerTick+1 {
			t.Fatalf("tick %d went through %d chunks", ticks, n)
		}
		if q, _ := w.v.Reader().Queue("short"); q.Ready > 0 {
			t.Fatalf("after tick %d what is due is still there", ticks)
		}
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestTablesAreBounded says that arguments may take any amount of memory for as long as what has them is there.
func TestTablesAreBounded(t *testing.T) {
	t.Parallel()
	nested := func(values int) amqp.Value {
		return amqp.TableValue(amqp.Table{{Name: "list", Value: amqp.Array(make([]amqp.Value, values-2)...)}})
	}
	const frame = 4 + 1 + 1 + 1 + 4 // octets of a table with one text under a name of one character, besides the text
	for name, c := range map[string]struct {
		value   amqp.Value
		refused bool
	}{
		"as many bytes as allowed":  {amqp.String(strings.Repeat("x", tableBytesMax-frame)), false},
		"a byte more":               {amqp.String(strings.Repeat("x", tableBytesMax-frame+1)), true},
		"as many values as allowed": {nested(tableValuesMax), false},
		"a value more":              {nested(tableValuesMax + 1), true},
	} {
		table := amqp.Table{{Name: "a", Value: c.value}}
		for what, command := range map[string]Command{
			"queue":    {Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "new", Arguments: table}},
			"exchange": {Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "x", Type: "fanout", Arguments: table}},
			"binding":  {Kind: BindQueue, Channel: 1, Definition: &Definition{Name: "q", Source: "amq.fanout", Arguments: table}},
			"consumer": {Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", Arguments: table}},
		} {
			w := newWorld()
			must(t, w, open("a")...)
			must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "fan", Type: "fanout", Durable: true}}, declareWith("q"))
			if command.Kind == BindQueue {
				command.Definition.Source = "fan"
			}
			refused, err := w.step(command)
			if err != nil || (refused != nil) != c.refused || refused != nil && refused.Code != amqp.CodePreconditionFailed {
				t.Errorf("arguments of a %s with %s: %v, %v", what, name, refused, err)
			}
		}
	}
	large := amqp.Table{textOf("queue-master-locator", strings.Repeat("x", tableBytesMax))}
	w := newWorld()
	must(t, w, open("a")...)
	for _, c := range []Command{
		{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: "q", Definition: large}},
		{Kind: SetOptions, Definition: &Definition{Arguments: large}},
	} {
		if refused, err := w.step(c); err != nil || refused == nil || !strings.Contains(refused.Text, "the maximum is 131072") {
			t.Errorf("command %d: %v, %v", c.Kind, refused, err)
		}
	}
}

// TestLargeCommandsGoOnInPortions says that a command which concerns very much is one step, that the next command of
// its connection does not wait for it, or that other connections do.
func TestLargeCommandsGoOnInPortions(t *testing.T) {
	t.Parallel()
	name := func(n string) *Definition { return &Definition{Name: n} }
	consume := Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}}
	for _, c := range []struct {
		what    string
		prepare []Command
		command Command
		left    int // messages that are ready at the end
	}{
		{"purge", nil, Command{Kind: PurgeQueue, Channel: 1, Definition: name("q")}, 0},
		{"ack", []Command{consume}, Command{Kind: Ack, Channel: 1, Multiple: true}, 0},
		{"reject", []Command{consume}, Command{Kind: Nack, Channel: 1, Multiple: true}, 0},
		{"requeue", []Command{consume, {Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}}},
			Command{Kind: Nack, Channel: 1, Multiple: true, Requeue: true}, 1000},
		{"recover with a consumer", []Command{consume}, Command{Kind: Recover, Channel: 1, Requeue: true}, 0},
		{"recover", []Command{consume, {Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}}},
			Command{Kind: Recover, Channel: 1, Requeue: true}, 1000},
		{"close", []Command{consume}, Command{Kind: CloseChannel, Channel: 1}, 1000},
		{"disconnect", []Command{consume}, Command{Kind: Disconnect, Conn: 1}, 1000},
	} {
		w := newWorld()
		w.out.Trace = false
		must(t, w, open("a")...)
		must(t, w, Command{Kind: Connect, Conn: 2, Window: 1 << 40, Definition: &Definition{}}, Command{Kind: OpenChannel, Conn: 2, Channel: 2}, declareWith("q"))
		for range 1000 {
			must(t, w, publishTo("q", 1, "m"))
		}
		must(t, w, c.prepare...)
		w.v.BoundSteps(100 * workOfFact)
		must(t, w, c.command)
		ends := func() uint64 { b := w.v.Reader().Books(); return b.Total() }
		portions := 1
		for ; len(w.v.ongoing) > 0; portions++ {
			if c.command.Kind != Disconnect && !w.v.Busy(1) {
				t.Fatalf("%s: the connection is not busy, and its command goes on", c.what)
			}
			made := w.v.Reader().Books().Made
			must(t, w, Command{Kind: Publish, Channel: 2, Key: []byte("other"), Properties: properties(1, nil)}) // another's
			if w.v.Reader().Books().Made != made || w.v.Busy(2) {
				t.Fatalf("%s: another connection waits", c.what)
			}
			before, free := ends(), w.v.queueNamed("q").messages.Ready()
			must(t, w, Command{Kind: Tick})
			ended, returned := ends()-before, w.v.queueNamed("q").messages.Ready()-free
			if ended > 100*workOfFact/workOfEnd || returned > 101 {
				t.Fatalf("%s: a portion ends %d messages and returns %d", c.what, ended, returned)
			}
			if err := w.audit(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
		}
		if portions == 1 && c.what != "purge" { // which takes chunks off in whole
			t.Errorf("%s: it was one portion", c.what)
		}
		if q, _ := w.v.Reader().Queue("q"); q.Ready+q.Unacked != 1000 && c.left > 0 || q.Ready != c.left {
			t.Errorf("%s: %d messages are left, %d with consumers", c.what, q.Ready, q.Unacked)
		}
		if w.v.Busy(1) {
			t.Errorf("%s: the connection is still busy", c.what)
		}
	}
}

// TestRecentHistoryIsGivenInPortions says that a binding to a long history is one step, that a queue lacks a message or
// has it twice, that the order changes, or that a connection which ends in between is in the way.
func TestRecentHistoryIsGivenInPortions(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		w := newWorld()
		must(t, w, open("a")...)
		must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "r", Type: "x-recent-history", Durable: true}})
		const queues, messages = 10, 15
		for i := range queues {
			q := declareWith(fmt.Sprint("q", i))
			q.Definition.Exclusive = i == 0
			must(t, w, q, Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
		}
		for i := range messages {
			c := publishTo("", amqp.Persistent, fmt.Sprint(i))
			c.Exchange = []byte("r")
			must(t, w, c)
		}
		w.v.BoundSteps(3 * workOfFact)
		must(t, w, Command{Kind: BindExchange, Channel: 1, Definition: &Definition{Name: "amq.fanout", Source: "r"}})
		if ends {
			must(t, w, Command{Kind: Disconnect, Conn: 1})
		}
		portions := 0
		for ; len(w.v.ongoing) > 0; portions++ {
			before := w.v.Reader().Books().Made
			must(t, w, Command{Kind: Tick})
			if n := w.v.Reader().Books().Made - before; n > 4 {
				t.Fatalf("a portion made %d copies", n)
			}
			if err := w.audit(); err != nil {
				t.Fatal(err)
			}
		}
		if portions < queues*messages/4 {
			t.Errorf("%d portions", portions)
		}
		for i := 1; i < queues; i++ {
			q, n := w.v.queueNamed(fmt.Sprint("q", i)), 0
			q.messages.Each(0, func(s queue.Seq, _ *queue.Entry) bool {
				if body := w.bodyOf(q, s); body != fmt.Sprint(n) {
					t.Errorf("message %d of %q is %q", n, q.object.Name, body)
				}
				n++
				return true
			})
			if n != messages {
				t.Errorf("%q has %d messages", q.object.Name, n)
			}
		}
	}
}

// TestLargeLostMessagesComeInPortions says that a step copies the bodies of very many transient messages into the lost
// store, or that such a body stays in memory when its lost letter has gone.
func TestLargeLostMessagesComeInPortions(t *testing.T) {
	t.Parallel()
	const messages, size = 24, 1 << 20
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("q", textOf("x-dead-letter-exchange", "nowhere")))
	for range messages {
		c := publishTo("q", 1, "m")
		c.Body = make([]byte, size)
		must(t, w, c)
	}
	must(t, w, Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}})
	lost := func() int { return w.v.lost.messages.Len() }
	for next, before := (Command{Kind: Nack, Channel: 1, Multiple: true}), 0; lost() < messages; next = (Command{Kind: Tick}) {
		before = lost()
		must(t, w, next)
		if n := lost() - before; n == 0 || n > 2*stepBytesMax/size {
			t.Fatalf("a step has put %d messages of %d octets in the lost store", n, size)
		}
	}
	for _, c := range w.v.volatile.idle[:cap(w.v.volatile.idle)] {
		if c != nil {
			t.Fatal("a chunk that was forgotten is still referred to")
		}
	}
}
