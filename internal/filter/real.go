package filter

import (
	"errors"
	"math"
	"strconv"
)

// A real is a number that a publisher wrote. Whole ones are compared exactly, others as floats, which have one result
// on every machine.
type real struct {
	exact bool // it is n
	n     int64
	f     float64
}

func whole(n int64) real { return real{exact: true, n: n, f: float64(n)} }

// digitsMax is how long the text of a number may be, in bytes.
const digitsMax = 32

// parseReal reads a decimal number, as JSON writes it.
func parseReal(b []byte) (real, bool) {
	if len(b) == 0 || len(b) > digitsMax {
		return real{}, false
	}
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9' || c == '.':
		case c == '-' || c == '+' || c|0x20 == 'e':
			if c != '-' && i == 0 {
				return real{}, false
			}
		default:
			return real{}, false
		}
	}
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		return whole(n), true
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return real{f: f}, err == nil
}

func (a real) less(b real) bool {
	if a.exact && b.exact {
		return a.n < b.n
	}
	return a.f < b.f
}

// bounds are the ends of a range of numbers.
type bounds struct {
	low, high          real
	noLow, noHigh      bool // that side is open
	overLow, underHigh bool // the end itself is not in it
}

func (b *bounds) isPoint() bool {
	return !b.noLow && !b.noHigh && !b.overLow && !b.underHigh && !b.low.less(b.high)
}

func (b *bounds) has(r real) bool {
	if math.IsNaN(r.f) {
		return false
	}
	if !b.noLow && (r.less(b.low) || b.overLow && !b.low.less(r)) {
		return false
	}
	return b.noHigh || !b.high.less(r) && !(b.underHigh && !r.less(b.high))
}

// newBounds reads a value as it was written. ok is false if it is text; after < and > it has to be a number.
func newBounds(s string) (b bounds, ok bool, err error) {
	rel, from, to := cutRelation(s)
	low, okLow := parseReal([]byte(from))
	switch rel {
	case equal:
		return bounds{low: low, high: low}, okLow, nil
	case between:
		high, okHigh := parseReal([]byte(to))
		b = bounds{low: low, high: high, noLow: from == "", noHigh: to == ""}
		if ok = (okLow || b.noLow) && (okHigh || b.noHigh) && !(b.noLow && b.noHigh); ok && okLow && okHigh && high.less(low) {
			return b, false, errors.New("the range ends before it begins")
		}
		return b, ok, nil
	}
	if !okLow {
		return b, false, errors.New("a number must follow; quote text that starts like this")
	}
	switch rel {
	case above, atLeast:
		b = bounds{low: low, noHigh: true, overLow: rel == above}
	default:
		b = bounds{high: low, noLow: true, underHigh: rel == below}
	}
	return b, true, nil
}
