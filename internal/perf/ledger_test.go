package perf

import (
	"math/rand/v2"
	"testing"
)

// sentOf says how many messages of each stream were sent.
func sentOf(counts ...int64) func(int) int64 { return func(stream int) int64 { return counts[stream] } }

func noteAll(l *ledger, stream int, places ...int64) {
	for _, place := range places {
		l.note(&delivery{id: messageID(stream, place)})
	}
}

func TestLedgerFindsFaults(t *testing.T) {
	// If this fails, lost, doubled, misordered or invented messages go unnoticed, or innocent ones are accused.
	t.Parallel()
	for name, c := range map[string]struct {
		fill func(a, b *ledger)
		want Books
	}{
		"all in order": {func(a, b *ledger) {
			noteAll(a, 0, 0, 1, 2, 3)
			noteAll(b, 1, 0, 1)
		}, Books{Received: 6}},
		"shared between consumers": {func(a, b *ledger) {
			noteAll(a, 0, 0, 2)
			noteAll(a, 1, 1)
			noteAll(b, 0, 1, 3)
			noteAll(b, 1, 0)
		}, Books{Received: 6}},
		"first and last lost": {func(a, b *ledger) {
			noteAll(a, 0, 1, 2, 3)
			noteAll(b, 1, 0)
		}, Books{Received: 4, Lost: 2}},
		"doubled at one and across two": {func(a, b *ledger) {
			noteAll(a, 0, 0, 1, 2, 3, 3)
			noteAll(b, 0, 2)
			noteAll(b, 1, 0, 1)
		}, Books{Received: 6, Doubled: 2}},
		"out of order": {func(a, b *ledger) {
			noteAll(a, 0, 0, 3, 1, 2)
			noteAll(b, 1, 1, 0)
		}, Books{Received: 6, Unordered: 3}},
		"requeued": {func(a, b *ledger) {
			noteAll(a, 0, 0, 1, 2, 3)
			a.note(&delivery{id: messageID(0, 1), redelivered: true})
			b.note(&delivery{id: messageID(1, 1), redelivered: true})
			noteAll(b, 1, 0)
		}, Books{Received: 6, Redelivered: 2}},
		"never sent": {func(a, b *ledger) {
			noteAll(a, 0, 0, 1, 2, 3, 4, 1000)
			noteAll(b, 1, 0, 1, 2)
			noteAll(b, 7, 0)
			b.note(&delivery{short: true})
		}, Books{Received: 6, Unknown: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := sentOf(4, 2)
			a, b := newLedger(2, true, sent), newLedger(2, true, sent)
			c.fill(a, b)
			c.want.Published = 6
			if got := balance([]*ledger{a, b}, 2, sent); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestLedgerWithoutOrder(t *testing.T) {
	// If this fails, a scenario that promises no order is judged by it.
	t.Parallel()
	l := newLedger(1, false, sentOf(3))
	noteAll(l, 0, 2, 0, 1)
	if got := balance([]*ledger{l}, 1, sentOf(3)); got != (Books{Published: 3, Received: 3}) {
		t.Errorf("%+v", got)
	}
}

func TestLedgerAgainstCounting(t *testing.T) {
	// If this fails, the bit sets miscount somewhere beyond the first words.
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	const n = 10_000
	sent := sentOf(n)
	ledgers := []*ledger{newLedger(1, false, sent), newLedger(1, false, sent), newLedger(1, false, sent)}
	came := map[int64]int64{}
	var doubled int64
	for range n {
		place := dice.Int64N(n)
		noteAll(ledgers[dice.IntN(len(ledgers))], 0, place)
		if came[place]++; came[place] > 1 {
			doubled++
		}
	}
	want := Books{Published: n, Received: int64(len(came)), Lost: n - int64(len(came)), Doubled: doubled}
	if got := balance(ledgers, 1, sent); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
