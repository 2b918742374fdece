package stats

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A history is what some figures were over the last while. What does not change takes no space; what is longer ago is
// kept at longer intervals.
type history struct {
	// of the newest reading, up to figuresMax; shared, and never written to, while all of them are 0
	figures      []uint64
	base         []uint64 // of figures, what was counted before counters began at 0 again; nil: nothing
	from         int64    // since when they are so, ms since the Unix epoch
	steps        []byte   // how each reading but the oldest differs from the one before it
	before, last int64    // the instants of the last two notes; 0: none
	thinned      int64    // when what is longer ago was thinned out last
	fromZero     bool     // before the oldest reading the figures were zero, since what they count was not there
}

// A retention is for how long readings are kept: those up to the first grain's age as they are, then one in each step.
type retention []grain

// A grain of a retention, in ms.
type grain struct{ age, step int64 }

// kept makes a retention that has samples of ranges at intervals; range by range, shorter ones first.
func kept(ranges ...[2]time.Duration) (r retention) {
	for _, x := range ranges {
		r = append(r, grain{(x[0] + x[1]).Milliseconds(), x[1].Milliseconds()})
	}
	return r
}

// Seconds are the ranges, as RabbitMQ lists them.
func (r retention) Seconds() (all api.List[int]) {
	for _, g := range r {
		all = append(all, int((g.age-g.step)/1000))
	}
	return all
}

// joins reports whether of two readings that follow each other the older may go.
func (r retention) joins(older, newer, now int64) bool {
	if now-older <= r[0].age {
		return false
	}
	step := r[len(r)-1].step
	for _, g := range r {
		if now-older <= g.age {
			step = g.step
			break
		}
	}
	return (older+step-1)/step == (newer+step-1)/step
}

const (
	// figuresMax is such that the length of a step is in a byte.
	figuresMax = 24
	stepMax    = binary.MaxVarintLen64 + binary.MaxVarintLen32 + figuresMax*binary.MaxVarintLen64
	// thinEvery is the time between two times that a history is thinned out, ms.
	thinEvery = 120_000
)

// they do not compile if there is no space for them
const _ = uint(figuresMax-queueFigures) + uint(figuresMax-nodeFigures)

// unmoved are the figures of all histories in which nothing has happened yet. Nobody writes to it.
var unmoved [figuresMax]uint64

// restart says that counters begin at 0 with the next note. Their figures continue from where they are; gauges are
// those that count nothing. Between the last note and the next there is no rate.
func (h *history) restart(gauges ...int) {
	h.before, h.last = 0, 0
	base := slices.Clone(h.figures)
	for _, f := range gauges {
		if f < len(base) {
			base[f] = 0
		}
	}
	if h.base = nil; slices.ContainsFunc(base, func(n uint64) bool { return n > 0 }) {
		h.base = base
	}
}

// baseOf is what a figure was when its counter last began at 0 again.
func (h *history) baseOf(figure int) uint64 {
	if figure < len(h.base) {
		return h.base[figure]
	}
	return 0
}

// note adds what the figures are now, as they are counted since the last beginning. The slice is copied if it is kept.
func (h *history) note(now int64, figures []uint64, keep retention) {
	var sums [figuresMax]uint64
	if h.base != nil {
		copy(sums[:], figures)
		for f, n := range h.base {
			sums[f] += n
		}
		figures = sums[:len(figures)]
	}
	switch {
	case h.figures == nil:
		h.figures, h.from = unmoved[:len(figures)], now
		if !slices.Equal(figures, h.figures) {
			h.figures = slices.Clone(figures)
		}
		if h.thinned == 0 {
			h.thinned = now
		}
	case !slices.Equal(h.figures, figures):
		var buf [stepMax + 1]byte
		h.steps = append(h.steps, putStep(&buf, now-h.from, h.figures, figures)...)
		if &h.figures[0] == &unmoved[0] {
			h.figures = slices.Clone(figures)
		} else {
			copy(h.figures, figures)
		}
		h.from = now
	}
	h.before, h.last = h.last, now
	if len(h.steps) > 0 && now-h.thinned >= thinEvery {
		h.thin(now, keep)
	}
}

// putStep writes how one reading differs from the one that came ms before it: how long, which figures, by how much. The
// length is at the end, since steps are read backwards.
func putStep(to *[stepMax + 1]byte, ms int64, from, figures []uint64) []byte {
	var mask uint64
	for i, n := range figures {
		if n != from[i] {
			mask |= 1 << i
		}
	}
	b := binary.AppendUvarint(binary.AppendUvarint(to[:0], uint64(ms)), mask)
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		b = binary.AppendVarint(b, int64(figures[i]-from[i]))
	}
	return append(b, byte(len(b)))
}

// stepBack undoes the step that ends at an offset, and returns where the one before it ends.
func stepBack(steps []byte, end int, from *int64, figures []uint64) int {
	start := end - 1 - int(steps[end-1])
	b := steps[start : end-1]
	ms, n := binary.Uvarint(b)
	b = b[n:]
	mask, n := binary.Uvarint(b)
	b = b[n:]
	for ; mask != 0; mask &= mask - 1 {
		by, n := binary.Varint(b)
		b = b[n:]
		figures[bits.TrailingZeros64(mask)] -= uint64(by)
	}
	*from -= int64(ms)
	return start
}

// thin forgets what is too long ago, but for the newest of it, and joins readings that are too close for their age.
// A step over two is not longer than both, so that it is written where they were.
func (h *history) thin(now int64, keep retention) {
	var newerBuf, olderBuf [figuresMax]uint64
	newer, older := newerBuf[:copy(newerBuf[:], h.figures)], olderBuf[:copy(olderBuf[:], h.figures)]
	newerFrom, olderFrom := h.from, h.from
	in, out := len(h.steps), len(h.steps)
	oldest := now - keep[len(keep)-1].age
	for in > 0 && newerFrom > oldest {
		in = stepBack(h.steps, in, &olderFrom, older)
		if in > 0 && keep.joins(olderFrom, newerFrom, now) {
			continue
		}
		var buf [stepMax + 1]byte
		step := putStep(&buf, newerFrom-olderFrom, older, newer)
		out -= len(step)
		copy(h.steps[out:], step)
		newerFrom = olderFrom
		copy(newer, older)
	}
	if in > 0 { // what was before the oldest reading is not zero, but forgotten
		h.fromZero = false
	}
	if n := len(h.steps) - out; cap(h.steps) > 2*n+1024 {
		h.steps = slices.Clone(h.steps[out:])
	} else {
		h.steps = h.steps[:copy(h.steps, h.steps[out:])]
	}
	h.thinned = now
}

// back visits the readings, newest first: since when the figures were so, and what they were. The slice is lent.
func (h *history) back() iter.Seq2[int64, []uint64] {
	return func(yield func(int64, []uint64) bool) {
		if h.figures == nil {
			return
		}
		from, figures := h.from, slices.Clone(h.figures)
		for at := len(h.steps); yield(from, figures) && at > 0; {
			at = stepBack(h.steps, at, &from, figures)
		}
	}
}

// begin is when the history begins, 0 if nothing happened before.
func (h *history) begin() (at int64) {
	if h.fromZero {
		return 0
	}
	for at = range h.back() {
	}
	return at
}

// rate is how fast figures have changed between the last two notes, all of them together.
func (h *history) rate(figures ...int) float64 {
	if !h.moved() {
		return 0
	}
	var before [figuresMax]uint64
	copy(before[:], h.figures)
	from := h.from
	stepBack(h.steps, len(h.steps), &from, before[:])
	var sum float64
	for _, f := range figures {
		sum += perSecond(before[f], h.figures[f], h.last-h.before)
	}
	return sum
}

// moved reports whether anything changed between the last two notes.
func (h *history) moved() bool { return h.before > 0 && len(h.steps) > 0 && h.from > h.before }

// at is what the figures were at some instants, newest first.
func (h *history) at(instants []int64) table {
	t := table{at: instants, width: len(h.figures), base: h.base, fromZero: h.fromZero}
	for from, figures := range h.back() {
		t.begin = figures
		for t.known < len(instants) && instants[t.known] >= from {
			t.figures = append(t.figures, figures...)
			t.known++
		}
		if t.known == len(instants) {
			break
		}
	}
	if h.fromZero {
		t.begin = nil
	}
	return t
}

// A table is what figures were at some instants, newest first.
type table struct {
	at      []int64 // ms since the Unix epoch
	figures []uint64
	width   int
	known   int      // instants since the history begins
	begin   []uint64 // the figures that counting began with; nil: 0
	base    []uint64 // of the history
	// before the oldest reading the figures were zero; else they are not known
	fromZero bool
}

// of is a figure at an instant; what was before the history begins is 0.
func (t *table) of(figure, instant int) uint64 {
	if instant >= t.known {
		return 0
	}
	return t.figures[instant*t.width+figure]
}

// now is a counter's figure, of which so much is counted.
func (t *table) now(figure int, counted uint64) uint64 {
	if figure < len(t.base) {
		counted += t.base[figure]
	}
	return counted
}

// grown is by how much a counter grew from an instant to now, when it is that. One that has begun again since the last
// reading began at 0.
func (t *table) grown(figure, instant int, now uint64) uint64 {
	if was := t.counted(figure, instant); was <= now {
		return now - was
	}
	return now - t.now(figure, 0)
}

// counted is a figure at an instant; before the history begins it is what counting began with.
func (t *table) counted(figure, instant int) uint64 {
	if instant >= t.known && figure < len(t.begin) {
		return t.begin[figure]
	}
	return t.of(figure, instant)
}

// trend is how fast the first of the figures change. The spans say which of them come with samples, at times that
// are covered.
func (h *history) trend(figures int, covered runs, spanOf func(figure int) span) Trend {
	t := Trend{rates: make([]api.Rate, figures)}
	if h.before > 0 && !h.moved() {
		t.Since = h.from
	}
	var lately table
	if h.moved() {
		lately = h.at([]int64{h.last, h.before})
	}
	var of span
	var samples table
	for f := range figures {
		r := &t.rates[f]
		r.Rate = perSecond(lately.of(f, 1), lately.of(f, 0), h.last-h.before)
		if w := spanOf(f); w.incr > 0 && h.last > 0 {
			if w != of {
				of, samples = w, h.at(w.instants(h.last))
			}
			samples.fill(r, f, covered)
		}
	}
	return t
}

// fill adds samples to a rate, newest first, and what follows from them. There are none of times of which nothing is
// known.
func (t *table) fill(r *api.Rate, figure int, covered runs) {
	var sum float64
	r.Samples = make([]api.Sample, 0, len(t.at))
	for i, when := range t.at {
		if i >= t.known && !t.fromZero || !covered.cover(when) {
			continue
		}
		n := t.of(figure, i)
		r.Samples = append(r.Samples, api.Sample{Sample: int64(n), Timestamp: when})
		sum += float64(n)
	}
	if len(r.Samples) == 0 {
		r.Samples = nil
		return
	}
	newest, oldest := r.Samples[0], r.Samples[len(r.Samples)-1]
	avg := sum / float64(len(r.Samples))
	avgRate := perSecond(uint64(oldest.Sample), uint64(newest.Sample), newest.Timestamp-oldest.Timestamp)
	r.Avg, r.AvgRate = &avg, &avgRate
}

// perSecond is how fast a figure went from one value to another; it may go down.
func perSecond(from, to uint64, ms int64) float64 {
	if ms <= 0 {
		return 0
	}
	return float64(int64(to-from)) * 1000 / float64(ms)
}
