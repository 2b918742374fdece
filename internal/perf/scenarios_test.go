package perf

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// fakeMessages is in the environment of a process that shall be a broker which holds so many messages.
const fakeMessages = "PERF_TEST_FAKE_MESSAGES"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(fakeMessages)); err == nil {
		beBroker(n)
	}
	os.Exit(m.Run())
}

// beBroker serves as `bartleby serve` would whose directory holds n messages in the first queue of restart. A signal
// ends it.
func beBroker(n int) {
	b := newFake(nil)
	name, queue := queueName(restartName, "queue", 0), &fakeQueue{}
	r := newRing(lane{queues: []string{""}}, 16, plainProperties, frameMax)
	for place := range n {
		at, _ := r.batch(int64(place), 1, 1)
		queue.ready = append(queue.ready, fakeMessage{queue: name, properties: []byte{0, 0}, body: slices.Clone(at[len(at)-r.tail:][:16])})
	}
	b.mu.queues[name] = queue
	b.mu.exchanges[restartName+delayedSuffix] = true
	b.mu.queues[firedQueue] = &fakeQueue{ready: []fakeMessage{queue.ready[0]}}
	b.mu.queues[firedQueue].ready[0].queue = firedQueue
	address := os.Args[slices.Index(os.Args, "--listen")+1]
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var served sync.WaitGroup
	b.accept(l, &served)
}

func TestRestart(t *testing.T) {
	// If this fails, a broker is not started, ended and asked for its first message as it should, or its
	// messages are not counted.
	t.Setenv(fakeMessages, "7")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, r := runMain(t, nil, "30s", "restart", "-data", dir, "-queues", "1", "-runs", "2", "-waiting", "9")
	if code != exitDone || r.Books.Received != 7 || r.Broker != "fake 1" {
		t.Errorf("exit code %d, books %+v of %q", code, r.Books, r.Broker)
	}
	for _, name := range []string{figureKilled, figureStoppedWorst, figureStop, figureFire, figureFireWorst} {
		if value, ok := r.Figure(name); !ok || value <= 0 {
			t.Errorf("%s: %v", name, value)
		}
	}
}

func TestSettle(t *testing.T) {
	// If this fails, the live set is not what was asked for, or space is measured against another one.
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "segment"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	code, r := runMain(t, startFake(t), "30s", "settle", "-live", "2000", "-duration", "300ms", "-warmup", "1ms", "-sample", "50ms",
		"-calm", "0", "-data", dir, "-consumers", "2", "-queues", "2")
	if code != exitDone || len(r.Storage) < 2 || r.Spans[1].Published == 0 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	for _, s := range r.Storage {
		if s.Live < mebibytes(2000*1024) || s.Live > mebibytes((2000+backlogDefault)*1024) {
			t.Errorf("%s: %.2f MiB are live", s.Phase, s.Live)
		}
	}
	last := r.Storage[len(r.Storage)-1]
	if factor, ok := r.Figure(figureRestedFactor); !ok || factor != last.Directory/last.Live || last.Directory < 1 {
		t.Errorf("factor %v, %+v", factor, last)
	}
	if beyond, ok := r.Figure(figureRestedBeyond); !ok || beyond != 0 {
		t.Errorf("1 MiB is %v times too much beside 4 segments", beyond)
	}
}

func TestLargeGateWakesInTime(t *testing.T) {
	// If this fails, publishers wait for more space than the consumers of a large live set ever give.
	t.Parallel()
	const live = 1_000_000
	g := newGate(live + backlogDefault)
	if n, ok := g.acquire(live + backlogDefault); n != live+backlogDefault || !ok {
		t.Fatalf("%d places", n)
	}
	got := make(chan int)
	go func() {
		n, _ := g.acquire(backlogDefault)
		got <- n
	}()
	g.release(backlogDefault - 1)
	g.release(1) // whoever only looks now finds space, too
	if n := <-got; n == 0 {
		t.Error("no place")
	}
}

func TestHalve(t *testing.T) {
	// If this fails, another part than half of the messages is settled before space is looked at.
	t.Parallel()
	code, r := runMain(t, startFake(t), "30s", "halve", "-live", "2000", "-sample", "1ms", "-calm", "10ms", "-data", t.TempDir())
	if code != exitDone || r.Books.Published != 2000 {
		t.Fatalf("exit code %d, %+v", code, r.Books)
	}
	if last := r.Storage[len(r.Storage)-1]; last.Live != mebibytes(1000*1024) {
		t.Errorf("%.3f MiB are live in the end", last.Live)
	}
}

func TestStockSettlesAtRandom(t *testing.T) {
	// If this fails, some messages are more likely to be settled than others, and segments die in another way.
	t.Parallel()
	const held, rounds = 100, 20_000
	s := newStock(held, 1)
	for tag := range uint32(held) {
		s.tags = append(s.tags, tag)
	}
	drawn := make([]int, held)
	for range rounds {
		tag := s.draw()
		drawn[tag]++
		s.tags = append(s.tags, uint32(tag))
	}
	for tag, n := range drawn {
		if n < rounds/held/2 || n > rounds/held*2 {
			t.Errorf("%d was settled %d times of %d", tag, n, rounds)
		}
	}
}

func TestMaxLength(t *testing.T) {
	// If this fails, messages that had to go count as lost, or a queue that keeps too many goes unseen.
	t.Parallel()
	args := []string{"backlog", "-count", "1000", "-queues", "3", "-max-length", "100"}
	code, r := runMain(t, startFake(t), "30s", args...)
	if want := (Books{Published: 1000, Received: 300, Dropped: 700}); code != exitDone || r.Books != want {
		t.Errorf("exit code %d, books %+v, want %+v", code, r.Books, want)
	}
	b := startFake(t)
	b.unlimited = true
	if code, r = runMain(t, b, "1s", args...); code != exitUnbalanced {
		t.Errorf("no limit: exit code %d, books %+v", code, r.Books)
	}
}

func TestDeclareAndIdle(t *testing.T) {
	// If this fails, pairs or connections are not made, or queues stay behind.
	t.Parallel()
	code, r := runMain(t, startFake(t), "", "declare", "-connections", "3", "-duration", "100ms")
	if pairs, ok := r.Figure(figurePairs); code != exitDone || !ok || pairs <= 0 {
		t.Errorf("exit code %d, %v pairs a second", code, pairs)
	}
	code, r = runMain(t, startFake(t), "", "connect", "-connections", "3", "-duration", "100ms")
	if rate, ok := r.Figure(FigureConnections); code != exitDone || !ok || rate <= 0 || r.Broker == "" {
		t.Errorf("exit code %d, %v connections a second to %q", code, rate, r.Broker)
	}
	self := strconv.Itoa(os.Getpid())
	for _, channels := range []string{"0", "1"} {
		code, r = runMain(t, startFake(t), "", "idle", "-connections", "20", "-channels", channels, "-pid", self, "-calm", "1ms",
			"-burst", channels+"00")
		if rate, ok := r.Figure(figureIdleOpen); code != exitDone || !ok || rate <= 0 {
			t.Errorf("exit code %d, %v connections a second", code, rate)
		}
	}
}

func TestDisk(t *testing.T) {
	// If this fails, the disk's own figures are missing beside those of the broker, or files are left on it.
	t.Parallel()
	dir := t.TempDir()
	code, r := runMain(t, nil, "", "disk", "-data", dir, "-count", "3", "-size", "2")
	if p99, ok := r.Figure(figureOverwriteP99); code != exitDone || !ok || p99 <= 0 || len(r.Figures) != 5 {
		t.Errorf("exit code %d, %+v", code, r.Figures)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLastWords(t *testing.T) {
	// If this fails, what a broker said before it failed is not told, or all it ever said is kept.
	t.Parallel()
	var w lastWords
	for i := range 10_000 {
		fmt.Fprintf(&w, "line %d\n", i)
	}
	if said := w.String(); len(said) > 2*lastWordsBytes || said[len(said)-9:] != "line 9999" {
		t.Errorf("%d octets, ending %q", len(said), said[len(said)-9:])
	}
}

func TestExitedBrokerIsNoticed(t *testing.T) {
	// If this fails, a broker that cannot start is waited for until the time is up.
	t.Parallel()
	began := time.Now()
	code, _ := runMain(t, nil, "30s", "restart", "-data", t.TempDir(), "-binary", "/bin/false")
	if code != exitFailed || time.Since(began) > startMax/2 {
		t.Errorf("exit code %d after %v", code, time.Since(began))
	}
}
