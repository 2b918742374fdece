package search

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// has checks how many dead letters the index knows, and that they are those that are there.
func (w *world) has(n int64) {
	w.t.Helper()
	w.crawl()
	if got := w.x.Stats().Messages; got != n {
		w.t.Errorf("the index has %d dead letters of %d", got, n)
	}
	w.same("", Newest)
	w.same("card", Oldest)
	if refs, _ := w.all(Query{VHost: "/"}); int64(len(refs)) != n {
		w.t.Errorf("%d dead letters are found of %d", len(refs), n)
	}
}

// take takes messages from a queue for good.
func (w *world) take(queue string, n int) {
	w.t.Helper()
	for range n {
		w.do(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: queue, NoAck: true}})
	}
}

func (w *world) count(queue string) (n int) {
	w.t.Helper()
	if err := w.e.Query(context.Background(), "/", func(v vhost.Reader) {
		q, _ := v.Queue(queue)
		n = q.Ready
	}); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestWhatGoesAndComes(t *testing.T) {
	// If this fails, the index keeps dead letters that have gone, or overlooks those that come.
	t.Parallel()
	w := filled(t, 200)
	w.has(200)
	r := rand.New(rand.NewPCG(5, 5))
	w.take("orders.dlq", 20) // at its head
	w.has(180)
	w.publishDeadLetters(r, 100)
	w.has(280)
	bills := w.count("bills.dlq")
	w.do(vhost.Command{Kind: vhost.PurgeQueue, Definition: &vhost.Definition{Name: "bills.dlq"}})
	w.has(280 - int64(bills))
	orders := w.count("orders.dlq")
	w.do(vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{Name: "orders.dlq"}})
	left := 280 - int64(bills) - int64(orders)
	w.has(left)
	w.declare("orders.dlq") // another one, whose dead letters have the numbers of those that are gone
	w.publishDeadLetters(r, 90)
	w.has(left + 90)
	if k := w.x.knownOf("/"); len(k.dropping) == 0 && len(k.segments) > 6 {
		t.Errorf("%d segments have %d dead letters: none was given up", len(k.segments), k.messages())
	}
}

func TestHoles(t *testing.T) {
	// If this fails, the index keeps dead letters that were taken from the middle of a queue.
	t.Parallel()
	w := filled(t, 200)
	w.crawl()
	var ids []uint64
	_, err := w.x.Search(context.Background(), Query{VHost: "/", Filter: w.filter("state:lost card"), Limit: 1000}, func(x *vhost.Seen, _ *filter.Message) {
		ids = append(ids, x.ID)
	})
	if err != nil || len(ids) == 0 {
		t.Fatal(len(ids), err)
	}
	w.do(vhost.Command{Kind: vhost.Discard, Selection: &vhost.Selection{IDs: ids}})
	w.has(200 - int64(len(ids)))
}

func TestRestart(t *testing.T) {
	// If this fails, an index forgets what it had when the broker starts again, or keeps what was gone by then, or
	// overlooks a dead letter with the number of one that the restart has ended.
	t.Parallel()
	w := filled(t, 200)
	w.has(200)
	indexed := w.x.Stats().Indexed
	w.take("orders.dlq", 10)
	w.shut()
	w.take("bills.dlq", 10)
	w.stop()
	w.start()
	w.open()
	w.has(180)
	if again := w.x.Stats().Indexed; again > indexed/2 {
		t.Errorf("%d dead letters of %d were read again", again, indexed)
	}
	transient := func(body string) {
		w.do(vhost.Command{Kind: vhost.Publish, Key: []byte("orders"), Properties: amqp.AppendProperties(nil, &amqp.Properties{}), Body: []byte(body)})
	}
	for range 70 {
		transient("card")
	}
	w.has(250)
	w.shut()
	w.stop()
	w.start()
	w.open()
	for range 5 {
		transient("cash")
	}
	w.has(185)
}

func TestHeldDeadLetters(t *testing.T) {
	// If this fails, dead letters that are held in their queue are not found, or still are when they have
	// gone on; or an answer says that they are all there while they are still to be looked for.
	t.Parallel()
	w := newWorld(t)
	w.declare("dlq", field("x-max-length", amqp.Int64(1)), field("x-overflow", amqp.String("reject-publish")))
	w.declare("work", field("x-queue-type", amqp.String("quorum")), field("x-overflow", amqp.String("reject-publish")),
		field("x-dead-letter-strategy", amqp.String("at-least-once")),
		field("x-dead-letter-exchange", amqp.String("")), field("x-dead-letter-routing-key", amqp.String("dlq")))
	for range 6 {
		w.publish("work", &amqp.Properties{}, "card")
	}
	w.crawl()
	k := w.x.knownOf("/")
	for i := range k.record.Places {
		k.record.Places[i].sweepAt = time.Now().Add(time.Hour)
	}
	before := k.complete
	for range 5 {
		w.do(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}}, vhost.Command{Kind: vhost.Nack, Multiple: true})
	}
	if err := w.e.Advance(context.Background(), time.Second); err != nil {
		t.Fatal(err)
	}
	if err := w.c.round(); err != nil || !k.complete.Equal(before) {
		t.Errorf("before held dead letters were looked for the index is complete until %v, was until %v; %v", k.complete, before, err)
	}
	w.has(5)
	if !k.complete.After(before) {
		t.Errorf("the index is complete until %v, as before", k.complete)
	}
	w.same("state:held", Newest)
	w.same("cause:refused", Newest)
	if refs, _ := w.all(Query{VHost: "/", Filter: w.filter("state:held")}); len(refs) != 4 {
		t.Errorf("%d dead letters are held of 4", len(refs))
	}
	w.take("dlq", 1)
	w.has(4)
}

func TestEachHeldDeadLetterIsFound(t *testing.T) {
	// If this fails, a dead letter that is held is not found until something else happens in its virtual host.
	t.Parallel()
	w := newWorld(t)
	w.declare("work", field("x-queue-type", amqp.String("quorum")),
		field("x-overflow", amqp.String("reject-publish")),
		field("x-dead-letter-strategy", amqp.String("at-least-once")),
		field("x-dead-letter-exchange", amqp.String("gone")))
	w.publish("work", &amqp.Properties{}, "card")
	w.publish("work", &amqp.Properties{}, "card")
	w.crawl()
	for n := 1; n <= 2; n++ {
		get := vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}}
		w.do(get, vhost.Command{Kind: vhost.Nack, Multiple: true})
		w.crawl()
		if refs, _ := w.all(Query{VHost: "/", Filter: w.filter("state:held")}); len(refs) != n {
			t.Errorf("%d dead letters are found, %d are held", len(refs), n)
		}
	}
}

func TestRestsOfSweepAreNoWork(t *testing.T) {
	// If this fails, dead letters that are held show up in the index half a minute late while there is traffic: the
	// next sweep waits for a multiple of the rests of the one before.
	t.Parallel()
	w := newWorld(t)
	w.declare("work")
	w.publish("work", &amqp.Properties{}, "card")
	w.crawl()
	k := w.x.knownOf("/")
	k.record.Places[0].held = 1 // so that the sweep looks at the place
	w.c.busy, w.c.since = true, time.Now().Add(-5*time.Millisecond)
	began := w.c.workedInAll()
	if done, err := w.c.sweepPlace(k, 0, time.Now().Add(time.Hour)); !done || err != nil {
		t.Fatal(done, err)
	}
	if swept, worked := k.record.Places[0].sweptFor, w.c.workedInAll()-began; swept > worked || swept == 0 {
		t.Errorf("a sweep took %v of %v of work", swept, worked)
	}
}

func TestVirtualHosts(t *testing.T) {
	// If this fails, dead letters of a virtual host that was deleted are kept, or taken for those of another
	// with its name.
	t.Parallel()
	w := newWorld(t)
	change := func(c accounts.Command) {
		t.Helper()
		if _, err := w.e.ChangeAccounts(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(n int) {
		t.Helper()
		change(accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		commands := []vhost.Command{{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "q", Durable: true, Arguments: amqp.Table{
			field("x-max-length", amqp.Int64(0)), field("x-dead-letter-exchange", amqp.String("none"))}}}}
		for range n {
			commands = append(commands, vhost.Command{Kind: vhost.Publish, Key: []byte("q"), Properties: amqp.AppendProperties(nil, &amqp.Properties{}), Body: []byte("x")})
		}
		if _, err := w.e.Do(context.Background(), "v", authz.Broker(), commands...); err != nil {
			t.Fatal(err)
		}
		w.crawl()
		if got := w.x.Stats().Messages; got != int64(n) {
			t.Errorf("the index has %d dead letters of %d", got, n)
		}
	}
	fill(100)
	change(accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
	fill(70)
	change(accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
	w.crawl()
	if got := w.x.Stats().Messages; got != 0 {
		t.Errorf("the index has %d dead letters of a virtual host that is no more", got)
	}
}

func TestRebuild(t *testing.T) {
	// If this fails, an index cannot be made anew, is asked while it is not there, or the work for it is not counted.
	t.Parallel()
	began := time.Now()
	w := filled(t, 150)
	w.has(150)
	indexed := w.x.Stats().Indexed
	if err := w.x.Rebuild("/"); err != nil {
		t.Fatal(err)
	}
	refs, a := w.all(Query{VHost: "/"})
	if a.Index != nil || len(refs) != 150 {
		t.Errorf("while it is made anew %d dead letters are found; by the index: %v", len(refs), a.Index != nil)
	}
	w.has(150)
	if got := w.x.Stats().Indexed - indexed; got != 150 {
		t.Errorf("%d dead letters were read again", got)
	}
	if got, most := w.x.Stats().Worked, time.Since(began); got <= 0 || got > most {
		t.Errorf("%v were worked in %v", got, most)
	}
}

func TestDamage(t *testing.T) {
	// If this fails, a damaged index stops the broker, answers wrongly, or is not made anew.
	t.Parallel()
	for _, part := range []int64{0, 2, 5} {
		w := filled(t, 150)
		w.has(150)
		w.shut()
		path := filepath.Join(w.dir, storeFile)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := part * int64(len(b)) / 6; i < min((part+1)*int64(len(b))/6, int64(len(b))); i += 97 {
			b[i] ^= 0x5A
		}
		if err := os.WriteFile(path, b, 0o640); err != nil {
			t.Fatal(err)
		}
		w.open()
		for _, text := range append(slices.Clone(filters), "*ca*") { // what is found damaged on the way is made anew
			_ = w.c.round()
			w.c.repair()
			if _, err := w.x.Search(context.Background(), Query{VHost: "/", Filter: w.filter(text)}, func(*vhost.Seen, *filter.Message) {}); err != nil {
				t.Error(err)
			}
		}
		w.has(150)
	}
}

func TestBound(t *testing.T) {
	// If this fails, an index grows beyond its limit, or hides that it has forgotten dead letters.
	t.Parallel()
	w := filled(t, 400)
	w.x.options.MaxBytes = 24 << 10
	w.crawl()
	w.crawl()
	s := w.x.Stats()
	if s.Messages >= 400 || s.Messages == 0 {
		t.Fatalf("%d dead letters of 400 within the limit", s.Messages)
	}
	refs, a := w.all(Query{VHost: "/"})
	if !a.Partial || a.Index == nil || !a.Index.Forgotten {
		t.Error("it is not said that dead letters were forgotten")
	}
	all := w.scanned(Query{VHost: "/"})
	newest := map[string]bool{}
	for _, r := range all {
		newest[r] = true
	}
	for _, r := range refs {
		if !newest[r] {
			t.Errorf("%s is not there", r)
		}
	}
	w.shut()
	w.open()
	w.crawl()
	if _, a := w.all(Query{VHost: "/"}); !a.Partial {
		t.Error("after a start it is not said any more")
	}
}

// lowDisk is a broker without space on the disk.
type lowDisk struct {
	*engine.Engine
	low bool
}

func (b *lowDisk) LowOnDisk() bool { return b.low }

func TestNothingIsWrittenWithoutRoom(t *testing.T) {
	// If this fails, the index takes the space that messages need.
	t.Parallel()
	w := filled(t, 150)
	b := &lowDisk{w.e, true}
	w.x.options.Broker = b
	for range 3 {
		_ = w.c.round()
	}
	if n := w.x.Stats().Messages; n != 0 {
		t.Errorf("%d dead letters were taken without room", n)
	}
	b.low = false
	w.has(150)
}

func TestCrawlerGoesByItself(t *testing.T) {
	// If this fails, nothing is indexed but in tests.
	t.Parallel()
	w := filled(t, 20)
	x := Open(Options{Broker: w.e, Dir: t.TempDir(), Log: quiet()})
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	for deadline := time.Now().Add(20 * time.Second); x.Stats().Messages != 20; {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", x.Stats())
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestSearchesBesideTheCrawler(t *testing.T) {
	// If this fails, who searches and the crawler touch the same things at once (with the race detector), or a search
	// sees an index that is half made.
	t.Parallel()
	w := filled(t, 150)
	w.crawl()
	var searches sync.WaitGroup
	ended := make(chan struct{})
	by, _ := filter.GroupBy("header:tenant")
	for _, text := range []string{"", "card", "*ca*", "exception:boom"} {
		f := w.filter(text)
		searches.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				_, err := w.x.Search(context.Background(), Query{VHost: "/", Filter: f, Limit: 20}, func(*vhost.Seen, *filter.Message) {})
				_, also := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: by, Filter: f})
				w.x.Stats()
				if err != nil || also != nil {
					t.Error(err, also)
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 6 {
		w.publishDeadLetters(r, 30)
		w.take("orders.dlq", 5)
		if i == 3 {
			if err := w.x.Rebuild("/"); err != nil {
				t.Error(err)
			}
		}
		if i == 4 {
			w.x.damaged(errDamaged)
			w.c.repair()
		}
		w.crawl()
	}
	close(ended)
	searches.Wait()
	w.has(int64(len(w.scanned(Query{VHost: "/"}))))
}

func TestWhatIsWorkedOnAgainIsNotFound(t *testing.T) {
	// If this fails, messages that a redrive has returned to their queue are found and counted as dead letters, or are
	// not when they have died again.
	t.Parallel()
	w := newWorld(t)
	w.declare("work", field("x-dead-letter-exchange", amqp.String("")), field("x-dead-letter-routing-key", amqp.String("dead")))
	w.declare("dead")
	for range 3 {
		w.publish("work", &amqp.Properties{Has: amqp.FlagExpiration, Expiration: "500"}, "body")
	}
	by, _ := filter.GroupBy("queue")
	check := func(when string, want int64) {
		t.Helper()
		w.crawl()
		w.same("", Newest)
		if refs, _ := w.all(Query{VHost: "/"}); int64(len(refs)) != want {
			t.Errorf("%s, the index finds %v", when, refs)
		}
		q := GroupQuery{VHost: "/", By: by}
		g, err := w.x.Groups(context.Background(), q)
		if err != nil || g.Index == nil || g.Total != want || g.Without != 0 {
			t.Errorf("%s, groups: %+v, %v", when, g, err)
		}
		if g, err = w.x.scanGroups(context.Background(), &q); err != nil || g.Total != want || g.Without != 0 {
			t.Errorf("%s, groups by a scan: %+v, %v", when, g, err)
		}
	}
	check("when all have died", 3)
	w.do(vhost.Command{Kind: vhost.BeginRedrive, JobSpec: &vhost.JobSpec{User: "guest", Source: vhost.Where{Queue: "dead"}, Max: 2}})
	w.advance(10 * time.Millisecond)
	check("when two are worked on", 1)
	w.advance(time.Second)
	check("when they have died again", 3)
	w.do(vhost.Command{Kind: vhost.BeginRedrive, JobSpec: &vhost.JobSpec{
		User: "guest", Source: vhost.Where{Queue: "dead"}, Max: 1, Target: vhost.TargetExchange, Key: "elsewhere",
	}})
	w.advance(10 * time.Millisecond)
	check("when one could not be moved", 3)
	w.declare("elsewhere")
	w.do(vhost.Command{Kind: vhost.BeginRedrive, JobSpec: &vhost.JobSpec{
		User: "guest", Source: vhost.Where{Queue: "dead"}, Max: 1, Target: vhost.TargetExchange, Key: "elsewhere",
	}})
	w.advance(10 * time.Millisecond)
	check("when one was moved elsewhere", 3)
}

// looks counts what is asked of a broker.
type looks struct {
	Broker
	n int
}

func (b *looks) Query(ctx context.Context, name string, fn func(vhost.Reader)) error {
	b.n++
	return b.Broker.Query(ctx, name, fn)
}

func TestWhatHasNotChangedIsNotLookedAt(t *testing.T) {
	// If this fails, each of many virtual hosts without traffic is entered in each round; or what happens in one is not
	// noticed.
	t.Parallel()
	w := newWorld(t)
	w.publishDeadLetters(rand.New(rand.NewPCG(1, 2)), 20)
	w.crawl()
	counted := &looks{Broker: w.x.options.Broker}
	w.x.options.Broker = counted
	for range 3 {
		if err := w.c.round(); err != nil {
			t.Fatal(err)
		}
	}
	if counted.n != 0 {
		t.Errorf("%d looks at a virtual host in which nothing has happened", counted.n)
	}
	before := w.x.knownOf("/").complete
	w.publishDeadLetters(rand.New(rand.NewPCG(3, 4)), 20)
	if err := w.c.round(); err != nil || counted.n == 0 {
		t.Errorf("no look at what has changed: %v", err)
	}
	w.crawl()
	w.same("reason:rejected", Newest)
	if !w.x.knownOf("/").complete.After(before) {
		t.Error("the index is not complete until now")
	}
}
