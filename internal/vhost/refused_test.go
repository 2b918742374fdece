package vhost

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func TestMessagesThatCompareWithTooMuch(t *testing.T) {
	// Broken if a message that is too much to route were lost without a word, or left anything behind, or if a dead
	// letter that cannot be routed for it were not kept.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("target"), declareWith("q", argumentOf("x-max-length", 0), textOf("x-dead-letter-exchange", "amq.direct")))
	for i := range 300 {
		d := Definition{Name: "target", Source: "amq.direct", RoutingKey: "k", Arguments: amqp.Table{argumentOf(fmt.Sprint("n", i), 1)}}
		must(t, w, Command{Kind: BindQueue, Channel: 1, Definition: &d})
	}
	cc := amqp.Value{Kind: amqp.KindArray, Array: slices.Repeat([]amqp.Value{amqp.String("k")}, 20_000)}
	c := publishTo("q", 2, "m")
	c.Properties = properties(2, amqp.Table{{Name: "CC", Value: cc}})
	must(t, w, c) // by the default exchange, which compares nothing; then it dies
	q, _ := w.v.Reader().Queue("q")
	if q.Stats.Lost[fact.LostRoute] != 1 || w.v.lost.messages.Ready() != 1 {
		t.Errorf("lost %v, %d in the lost store", q.Stats.Lost, w.v.lost.messages.Ready())
	}
	before := w.v.Reader().Books()
	c.Exchange = []byte("amq.direct")
	refused, err := w.step(c)
	if err != nil || refused == nil || refused.Code != amqp.CodePreconditionFailed {
		t.Errorf("refused with %v, %v", refused, err)
	}
	if b := w.v.Reader().Books(); b != before {
		t.Errorf("books %+v, before %+v", b, before)
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

func TestTransactionsAreBounded(t *testing.T) {
	// Broken if what a transaction holds in memory had no bound.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, Command{Kind: SelectTx, Channel: 1})
	c := publishTo("q", 2, "")
	c.Body = make([]byte, txBytesMax/4)
	must(t, w, c, c, c)
	if refused, err := w.step(c); err != nil || refused == nil || refused.Code != amqp.CodePreconditionFailed {
		t.Errorf("refused with %v, %v", refused, err)
	}
}

func TestKeysOfAMessageAreBounded(t *testing.T) {
	// Broken if a message had more routing keys than its record can count.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	for _, name := range []string{"CC", "BCC"} {
		must(t, w, open(name)...)
		c := publishTo("q", 2, "")
		keys := slices.Repeat([]amqp.Value{amqp.String("k")}, copyKeysMax+1)
		c.Properties = properties(2, amqp.Table{{Name: name, Value: amqp.Value{Kind: amqp.KindArray, Array: keys}}})
		if refused, err := w.step(c); err != nil || refused == nil || refused.Code != amqp.CodePreconditionFailed {
			t.Errorf("%s: refused with %v, %v", name, refused, err)
		}
		must(t, w, Command{Kind: Disconnect, Conn: 1})
	}
}

func TestJobsAreBounded(t *testing.T) {
	// Broken if a user could begin any number of jobs, each of which takes memory and work, or take the places of all
	// others.
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	must(t, w, declareWith("q"))
	beginAs := func(user string) Command {
		return Command{Kind: BeginRedrive, Channel: 1, JobSpec: &JobSpec{User: user, Source: Where{Queue: "q"}}}
	}
	refuses := func(user, why string) {
		t.Helper()
		refused, err := w.step(beginAs(user))
		if err != nil || refused == nil || refused.Code != amqp.CodeResourceError || refused.Text != "RESOURCE_ERROR - "+why {
			t.Errorf("refused with %v, %v", refused, err)
		}
		must(t, w, Command{Kind: OpenChannel, Conn: 1, Channel: 1, Number: 1})
	}
	for range jobsUserMax {
		must(t, w, beginAs("greedy"))
	}
	refuses("greedy", "12 redrives of user 'greedy' are unfinished: wait until one ends")
	for range jobsOpenMax - jobsUserMax {
		must(t, w, beginAs("modest"))
	}
	refuses("other", "16 redrives are unfinished: wait until one ends")
}

func TestLostLettersAreBounded(t *testing.T) {
	// Broken if dead letters that go nowhere filled the disk, or if more of them were dropped than need be.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("q", argumentOf("x-max-length", 0), textOf("x-dead-letter-exchange", "gone")))
	c := publishTo("q", 2, "")
	c.Body = make([]byte, settings.LostLettersBytesMax/4)
	for range 10 {
		must(t, w, c)
		w.seal()
		w.begin()
	}
	if n := w.v.lost.messages.Ready(); n != 3 { // a lost letter is a little larger than its body
		t.Errorf("%d lost letters", n)
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

func TestLostStoreIsShared(t *testing.T) {
	// Broken if a queue that loses very many dead letters pushed out those of others, after a restart too.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	for _, name := range []string{"quiet", "loud"} {
		must(t, w, declareWith(name, argumentOf("x-max-length", 0), textOf("x-dead-letter-exchange", "gone")))
	}
	lost := func() (quiet, loud int) {
		w.v.Reader().LostLetters(0, func(x LostLetter) bool {
			if x.History.Last.Queue == "quiet" {
				quiet++
			} else {
				loud++
			}
			return true
		})
		return quiet, loud
	}
	deadLetter := func(queue string, size int) {
		c := publishTo(queue, 2, "")
		c.Body = make([]byte, size)
		must(t, w, c)
	}
	for range 10 {
		deadLetter("quiet", settings.LostLettersBytesMax/40)
	}
	flood := func() {
		for range 20 {
			deadLetter("loud", settings.LostLettersBytesMax/10)
		}
		if quiet, loud := lost(); quiet != 10 || loud < 5 {
			t.Errorf("%d lost letters are left of the quiet queue, %d of the loud one", quiet, loud)
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
	flood()
	if err := w.restart(nil); err != nil {
		t.Fatal(err)
	}
	must(t, w, open("a")...)
	flood()
	for range 40 { // until the quiet one has the most
		deadLetter("quiet", settings.LostLettersBytesMax/40)
	}
	if quiet, loud := lost(); quiet > 20 || loud < 4 {
		t.Errorf("%d lost letters of the queue that was quiet, %d of the other", quiet, loud)
	}
}

func TestRecentHistoriesAreBounded(t *testing.T) {
	// Broken if an exchange kept as many messages as somebody declares, or any size of them.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{
		Name: "r", Type: "x-recent-history", Arguments: amqp.Table{argumentOf("x-recent-history-length", 1_000_000)},
	}})
	c := publishTo("", 1, "m")
	c.Exchange = []byte("r")
	for range topology.RecentMax + 10 {
		must(t, w, c)
	}
	kept := &w.v.recents["r"].volatile
	if n := len(kept.messages); n != topology.RecentMax {
		t.Errorf("%d messages are kept", n)
	}
	c.Body = make([]byte, recentBytesMax/4)
	for range 10 {
		must(t, w, c)
	}
	if kept.bytes > recentBytesMax || len(kept.messages) < 3 {
		t.Errorf("%d messages of %d bytes are kept", len(kept.messages), kept.bytes)
	}
}

func TestMessagesInMemoryAreBounded(t *testing.T) {
	// Broken if a long backlog took memory for each of its messages, or for the content of transient ones.
	t.Parallel()
	w := newWorld()
	w.out.Trace = false
	const entries, octets = 1024, 2 * volatileChunkBytes
	w.v.KeepHot(entries, octets)
	must(t, w, open("a")...)
	must(t, w, declareWith("q"))
	c := publishTo("q", 1, strings.Repeat("x", 1000))
	for range 20 * entries {
		must(t, w, c)
	}
	if n := w.v.pool.Hot(); n > 2*entries {
		t.Errorf("%d messages are in memory", n)
	}
	if n := w.v.volatile.bytes; n > octets {
		t.Errorf("%d bytes of transient messages are in memory", n)
	}
}
