package search

import (
	"encoding/binary"
	"math/bits"
)

// A set is some of the messages of a segment, a bit for each.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

// fullSet has the messages 0 to n-1.
func fullSet(n int) set {
	s := newSet(n)
	for i := range s {
		s[i] = ^uint64(0)
	}
	if n%64 != 0 {
		s[len(s)-1] = 1<<(n%64) - 1
	}
	return s
}

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }

func (s set) and(o set) {
	for i := range s {
		s[i] &= o[i]
	}
}

func (s set) or(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) without(o set) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s set) clone() set { return append(set(nil), s...) }

func (s set) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// each calls fn with the messages, in their order.
func (s set) each(fn func(i int)) {
	for k, w := range s {
		for ; w != 0; w &= w - 1 {
			fn(k*64 + bits.TrailingZeros64(w))
		}
	}
}

// A verdict says which messages pass a condition: sure ones do, and others than maybe ones do not.
type verdict struct{ sure, maybe set }

// not turns a verdict around; all are the messages that there are.
func (v verdict) not(all set) verdict {
	sure, maybe := all.clone(), all.clone()
	sure.without(v.maybe)
	maybe.without(v.sure)
	return verdict{sure, maybe}
}

func encodeSet(s set) (b []byte) {
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func decodeSet(b []byte) (s set) {
	for ; len(b) >= 8; b = b[8:] {
		s = append(s, binary.LittleEndian.Uint64(b))
	}
	return s
}
