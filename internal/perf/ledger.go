package perf

import "math/bits"

const (
	// placeBits is how much of a message's number tells its place in its stream; the rest is the stream.
	placeBits  = 48
	streamsMax = 1 << (64 - placeBits)
)

func messageID(stream int, place int64) uint64 { return uint64(stream)<<placeBits | uint64(place) }

// bitset is a set of places that grows as they come.
type bitset []uint64

// add puts i in and reports whether it was new.
func (b *bitset) add(i int64) bool {
	word, bit := i>>6, uint64(1)<<(i&63)
	if word >= int64(len(*b)) {
		grown := make(bitset, max(word+1, int64(2*len(*b))))
		copy(grown, *b)
		*b = grown
	}
	fresh := (*b)[word]&bit == 0
	(*b)[word] |= bit
	return fresh
}

// ledger is one consumer's record of what came. It belongs to the goroutine that receives, until that has ended.
type ledger struct {
	ordered bool // each stream shall come in its order
	sent    func(stream int) int64

	seen []bitset // by stream
	last []int64  // by stream: the latest place that was not redelivered; -1 before the first

	arrived     int64 // different ones
	doubled     int64
	unordered   int64
	redelivered int64
	unknown     int64 // nobody sent it, or not like this
	deathless   int64 // without the x-death that it should have
}

// newLedger makes a ledger for so many streams; sent tells how many messages of a stream may have been sent by now, and
// any goroutine may call it.
func newLedger(streams int, ordered bool, sent func(stream int) int64) *ledger {
	l := &ledger{ordered: ordered, sent: sent, seen: make([]bitset, streams), last: make([]int64, streams)}
	for i := range l.last {
		l.last[i] = -1
	}
	return l
}

// note enters one delivery.
func (l *ledger) note(d *delivery) {
	stream, place := int(d.id>>placeBits), int64(d.id&(1<<placeBits-1))
	// What was sent is asked for only when the set has to grow, because asking costs a shared cache line.
	if d.short || stream >= len(l.seen) || place>>6 >= int64(len(l.seen[stream])) && place >= l.sent(stream) {
		l.unknown++
		return
	}
	if d.redelivered {
		l.redelivered++
	}
	if !l.seen[stream].add(place) {
		if !d.redelivered { // after a requeue it may come again
			l.doubled++
		}
		return
	}
	l.arrived++
	switch {
	case d.redelivered:
	case place < l.last[stream]:
		if l.ordered {
			l.unordered++
		}
	default:
		l.last[stream] = place
	}
}

// Books are what all consumers' ledgers say together.
type Books struct {
	Published   int64 `json:"published"`
	Received    int64 `json:"received"` // different messages
	Lost        int64 `json:"lost"`     // published and never received, but those dropped; below 0 if too few were
	Dropped     int64 `json:"dropped"`  // had to go by the queues' length limit
	Doubled     int64 `json:"doubled"`
	Unordered   int64 `json:"out_of_order"`
	Redelivered int64 `json:"redelivered"`
	Unknown     int64 `json:"unknown"`         // deliveries that nobody sent, confirms of nothing
	Deathless   int64 `json:"without_x_death"` // dead letters without x-death
	Early       int64 `json:"early"`           // before they were due
	Returned    int64 `json:"returned"`        // unroutable
	Nacked      int64 `json:"nacked"`          // refused by a negative confirm
	Left        int64 `json:"left_in_queues"`  // still ready when the run was over
}

// balance compares the ledgers, which no goroutine may still write, with what was sent.
func balance(ledgers []*ledger, streams int, sent func(stream int) int64) Books {
	var b Books
	for _, l := range ledgers {
		b.Doubled += l.doubled
		b.Unordered += l.unordered
		b.Redelivered += l.redelivered
		b.Unknown += l.unknown
		b.Deathless += l.deathless
	}
	for stream := range streams {
		n := sent(stream)
		received, copies, beyond := union(ledgers, stream, n)
		b.Published += n
		b.Received += received
		b.Lost += n - received
		b.Doubled += copies
		b.Unknown += beyond
	}
	return b
}

// union returns how many of the first n places of a stream are in any of the ledgers, how often one is in another as
// well, and how many places there are that nobody sent.
func union(ledgers []*ledger, stream int, n int64) (members, copies, beyond int64) {
	var all bitset
	for _, l := range ledgers {
		for len(all) < len(l.seen[stream]) {
			all = append(all, 0)
		}
		for i, word := range l.seen[stream] {
			copies += int64(bits.OnesCount64(all[i] & word))
			all[i] |= word
		}
	}
	for i, word := range all {
		sent := ^uint64(0)
		if left := n - int64(i)<<6; left < 64 {
			sent = 1<<max(left, 0) - 1
		}
		members += int64(bits.OnesCount64(word & sent))
		beyond += int64(bits.OnesCount64(word &^ sent))
	}
	return members, copies, beyond
}

// Balanced reports whether each message came exactly once, in order, as it should, and none before its time.
func (b Books) Balanced() bool {
	return b.Lost == 0 && b.Doubled == 0 && b.Unordered == 0 && b.Unknown == 0 && b.Deathless == 0 && b.Early == 0 && b.Left == 0
}
