package queue

import "math/bits"

// bitset is a set of small numbers.
type bitset struct {
	words []uint64
	n     int // how many are in the set
}

func (b *bitset) has(i int) bool { return i>>6 < len(b.words) && b.words[i>>6]>>(i&63)&1 != 0 }

func (b *bitset) add(i int) {
	for i>>6 >= len(b.words) {
		b.words = append(b.words, 0)
	}
	if w := &b.words[i>>6]; *w>>(i&63)&1 == 0 {
		*w |= 1 << (i & 63)
		b.n++
	}
}

func (b *bitset) remove(i int) {
	if b.has(i) {
		b.words[i>>6] &^= 1 << (i & 63)
		b.n--
	}
}

// next is the first number in the set from i on, -1 if there is none.
func (b *bitset) next(i int) int {
	if b.n == 0 || i>>6 >= len(b.words) {
		return -1
	}
	w := b.words[i>>6] >> (i & 63) << (i & 63)
	for k := i >> 6; ; w = b.words[k] {
		if w != 0 {
			return k<<6 + bits.TrailingZeros64(w)
		}
		if k++; k == len(b.words) {
			return -1
		}
	}
}

// insert makes space for i: the numbers from there on are one greater. It is in the set.
func (b *bitset) insert(i int) {
	if i>>6 >= len(b.words) {
		b.add(i)
		return
	}
	w := &b.words[i>>6]
	carry, below := *w>>63, uint64(1)<<(i&63)-1
	*w = *w&below | *w&^below<<1 | 1<<(i&63)
	for k := i>>6 + 1; k < len(b.words); k++ {
		carry, b.words[k] = b.words[k]>>63, b.words[k]<<1|carry
	}
	if carry != 0 {
		b.words = append(b.words, 1)
	}
	b.n++
}

// fill puts the numbers below n into the set.
func (b *bitset) fill(n int) {
	b.words, b.n = b.words[:0], n
	for ; n >= 64; n -= 64 {
		b.words = append(b.words, ^uint64(0))
	}
	if n > 0 {
		b.words = append(b.words, 1<<n-1)
	}
}

// keep makes i the number at, which is not greater, and forgets what that said.
func (b *bitset) keep(i, at int) {
	if b.has(i) {
		b.remove(i)
		b.add(at)
	} else {
		b.remove(at)
	}
}

// cut takes out the numbers from n on.
func (b *bitset) cut(n int) {
	for i := b.next(n); i >= 0; i = b.next(i + 1) {
		b.remove(i)
	}
	b.words = b.words[:min(len(b.words), (n+63)>>6)]
}
