package stats

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

const keptAt = int64(1_795_000_000_000)

// filled is a sampler with readings of some hours, of so many queues.
func filled(queues, rounds int) *Sampler {
	s := &Sampler{}
	s.mu.ledgers = map[uint32]*ledger{}
	l := newLedger()
	l.named = map[fact.QueueID]string{}
	s.mu.ledgers[3] = l
	random := rand.New(rand.NewPCG(1, 2))
	var f figures
	for i := range rounds {
		at := keptAt + int64(i)*5000
		s.mu.runs.note(at, i == 0)
		s.mu.last = at
		for x := range f {
			f[x] += random.Uint64N(5)
		}
		for id := range fact.QueueID(queues) {
			mine := f
			mine[atDied] += uint64(id)
			l.named[id] = fmt.Sprintf("queue-%d", id)
			noteIn(l.queues, id, at, mine[:], id%2 == 0)
		}
		l.whole.note(at, f[:], WholeKept)
		noteIn(l.exchanges, "x", at, f[:], true)
		s.mu.node.note(at, f[:nodeFigures], WholeKept)
	}
	s.mu.wires.note(s.mu.last, []Connection{{Name: "c", VHost: "/", Received: 5, Sent: 7}})
	return s
}

// empty is a sampler that begins.
func empty() *Sampler {
	s := &Sampler{}
	s.mu.ledgers, s.mu.same = map[uint32]*ledger{}, map[uint32]unchanged{}
	return s
}

func TestReadingsAreKept(t *testing.T) {
	// If this fails, the overview says after a restart that nothing died, or something else than was.
	t.Parallel()
	was, is := filled(5, 400), empty()
	b := was.encode()
	now := was.mu.last + 60_000
	if err := is.decode(b, now); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(was.mu.runs, is.mu.runs) {
		t.Errorf("runs %v, want %v", is.mu.runs, was.mu.runs)
	}
	l, before := is.mu.ledgers[3], was.mu.ledgers[3]
	same := func(name string, a, b *history) {
		t.Helper()
		if a == nil || b == nil || a.from != b.from || a.fromZero != b.fromZero ||
			!slices.Equal(a.figures, b.figures) || !bytes.Equal(a.steps, b.steps) {
			t.Errorf("%s came back as %+v, was %+v", name, a, b)
		}
	}
	same("the whole", &l.whole, &before.whole)
	same("an exchange", l.exchanges["x"], before.exchanges["x"])
	same("the node", &is.mu.node, &was.mu.node)
	same("bytes of connections", &is.mu.wires.vhosts["/"].history, &was.mu.wires.vhosts["/"].history)
	for id := range fact.QueueID(5) {
		same(l.named[id], l.queues[id], before.queues[id])
	}
	if err := empty().decode(b, was.mu.last-1); err == nil {
		t.Error("readings from the future were taken")
	}
}

func TestReadingsOfTheFirstVersionAreContinued(t *testing.T) {
	// If this fails, the charts of queues and virtual hosts begin anew with an update of the broker.
	t.Parallel()
	was, is := filled(2, 100), empty()
	l := was.mu.ledgers[3]
	for _, h := range []*history{&l.whole, l.queues[0], l.queues[1], l.exchanges["x"]} {
		h.figures, h.steps = h.figures[:queueFiguresFirst], nil
	}
	if err := is.decode(was.encode(), was.mu.last); err != nil {
		t.Fatal(err)
	}
	got := is.mu.ledgers[3]
	for _, h := range []*history{&got.whole, got.queues[0], got.queues[1], got.exchanges["x"]} {
		if h == nil || len(h.figures) != queueFigures || h.figures[atRepublished] != 0 {
			t.Fatalf("continued as %+v", h)
		}
	}
	if !slices.Equal(got.whole.figures[:queueFiguresFirst], l.whole.figures) {
		t.Errorf("continued as %v, was %v", got.whole.figures, l.whole.figures)
	}
}

func TestDamagedReadingsAreIgnored(t *testing.T) {
	// If this fails, a damaged file of statistics stops the broker, or shows figures that never were.
	t.Parallel()
	b := filled(2, 50).encode()
	now := keptAt + 10*3_600_000
	for n := range b {
		if s := empty(); s.decode(b[:n], now) == nil || len(s.mu.ledgers) > 0 || s.mu.runs != nil {
			t.Fatalf("%d of %d bytes were taken", n, len(b))
		}
		wrong := slices.Clone(b)
		wrong[n] ^= 4
		if s := empty(); s.decode(wrong, now) == nil || len(s.mu.ledgers) > 0 || s.mu.runs != nil {
			t.Fatalf("byte %d was changed, and it was taken", n)
		}
	}
	for _, steps := range [][]byte{{0}, {1}, {9, 1}, {1, 0x80, 2}, {1, 1, 2, 1, 4}, {1, 1 << 3, 2, 3}} {
		if areSteps(steps, 3) {
			t.Errorf("%v are no steps", steps)
		}
	}
}

func TestKeptReadingsAreBounded(t *testing.T) {
	// If this fails, the file of statistics grows with the number of queues; or what matters most is left out of it.
	t.Parallel()
	s := filled(3000, 130)
	b := s.encode()
	if len(b) > keptMax || len(b) < keptMax/2 {
		t.Fatalf("%d bytes", len(b))
	}
	is := empty()
	if err := is.decode(b, s.mu.last); err != nil {
		t.Fatal(err)
	}
	l := is.mu.ledgers[3]
	if l.whole.figures == nil || is.mu.node.figures == nil ||
		l.queues[2999] == nil || l.queues[0] != nil || len(l.queues) < 500 {
		t.Errorf("kept are %d queues", len(l.queues))
	}
}

// BenchmarkKeep measures what a write costs a broker with ten thousand queues: the lock is held meanwhile.
func BenchmarkKeep(b *testing.B) {
	s := filled(10_000, 100)
	for b.Loop() {
		s.encode()
	}
	began := time.Now()
	n := len(s.encode())
	b.ReportMetric(float64(n), "bytes")
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms")
}
