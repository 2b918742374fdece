package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// A segment is messages that were sealed, or a copy of a tail. What is here stays in memory for each: some 5
// KiB.
type segment struct {
	number      uint64
	meta        meta
	gone        set                              // of its messages
	left        int                              // messages that are not gone
	changed     bool                             // gone is not stored as it is
	parts       parts                            // of a copy of a tail; nil: they are stored
	directories [sections]atomic.Pointer[[]byte] // of words, as they are read
}

// meta is what is stored of a segment beside its parts.
type meta struct {
	Messages     int `json:"Letters"`
	MinAt, MaxAt int64
	Places       []span
	Headers      []string // whose values are known
	OtherHeaders bool     // there are others
	Flags        uint8    // that any message has
	Bytes        int64    // of the parts
}

// A span tells of the messages of one place in a segment.
type span struct {
	Place        uint16
	Messages     int `json:"Letters"`
	MinID, MaxID uint64
}

// errForgotten says that a segment was given up meanwhile: one that is there has all columns of numbers.
var errForgotten = errors.New("search: the segment is gone")

var errDamaged = errors.New("search: the index is damaged")

// describe makes the meta of what a tail has sealed.
func (t *tail) describe(p parts) meta {
	m := meta{Messages: t.n, Headers: slices.Clone(t.headers), OtherHeaders: t.others}
	at := t.numbers[numbersAt]
	m.MinAt, m.MaxAt = slices.Min(at), slices.Max(at)
	spans := map[uint16]*span{}
	for _, flags := range t.numbers[numbersFlags] {
		m.Flags |= uint8(flags)
	}
	for i, place := range t.numbers[numbersPlace] {
		id := uint64(t.numbers[numbersID][i])
		s := spans[uint16(place)]
		if s == nil {
			s = &span{Place: uint16(place), MinID: id, MaxID: id}
			spans[uint16(place)] = s
		}
		s.Messages++
		s.MinID, s.MaxID = min(s.MinID, id), max(s.MaxID, id)
	}
	for _, s := range spans {
		m.Places = append(m.Places, *s)
	}
	slices.SortFunc(m.Places, func(a, b span) int { return int(a.Place) - int(b.Place) })
	for _, b := range p {
		m.Bytes += int64(len(b))
	}
	return m
}

// remove notes that a message is gone.
func (s *segment) remove(i int) {
	if !s.gone.has(i) {
		s.gone.add(i)
		s.left--
		s.changed = true
	}
}

// A reading is a look at one segment.
type reading struct {
	*segment
	memory  parts // of a copy of a tail, else nil
	store   *store
	all     set // messages that are not gone
	numbers [numberColumns]*numbers
	texts   map[string]*texts
	got     parts
}

func (s *segment) read(from *store) *reading {
	all := fullSet(s.meta.Messages)
	all.without(s.gone)
	return &reading{segment: s, memory: s.parts, store: from, all: all, texts: map[string]*texts{}, got: parts{}}
}

// part returns a part; nil if there is none.
func (r *reading) part(name string) ([]byte, error) {
	if r.memory != nil {
		return r.memory[name], nil
	}
	if b, ok := r.got[name]; ok {
		return b, nil
	}
	b, err := r.store.part(r.number, name)
	if err == nil {
		r.got[name] = b
	}
	return b, err
}

// numbers are a column of numbers as it is stored.
type numbers struct {
	low   int64
	width int
	b     []byte
}

func parseNumbers(b []byte, n int) (x numbers, err error) {
	if len(b) < 9 || b[8] > 8 || len(b) != 9+n*int(b[8]) {
		return x, errDamaged
	}
	return numbers{int64(binary.LittleEndian.Uint64(b)), int(b[8]), b[9:]}, nil
}

func (x *numbers) at(i int) int64 {
	switch x.width {
	case 0:
		return x.low
	case 1:
		return x.low + int64(x.b[i])
	case 2:
		return x.low + int64(binary.LittleEndian.Uint16(x.b[2*i:]))
	}
	var n uint64
	for k, c := range x.b[i*x.width : (i+1)*x.width] {
		n |= uint64(c) << (8 * k)
	}
	return x.low + int64(n)
}

// column returns a column of numbers.
func (r *reading) column(name number) (numbers, error) {
	if x := r.numbers[name]; x != nil {
		return *x, nil
	}
	b, err := r.part(name.part())
	if err != nil {
		return numbers{}, err
	}
	if b == nil {
		return numbers{}, errForgotten
	}
	x, err := parseNumbers(b, r.meta.Messages)
	if err != nil {
		return x, fmt.Errorf("segment %d, %s: %w", r.number, name.part(), err)
	}
	r.numbers[name] = &x
	return x, nil
}

// columns are several of them, in order.
func (r *reading) columns(names ...number) (all []numbers, err error) {
	for _, name := range names {
		x, err := r.column(name)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// texts are a column of texts: the values, and which of them each message has.
type texts struct {
	values [][]byte
	codes  numbers
}

// textsOf returns a column of texts; nil if no message has a value there.
func (r *reading) textsOf(name string) (*texts, error) {
	if x, ok := r.texts[name]; ok {
		return x, nil
	}
	b, err := r.part(name)
	if err != nil {
		return nil, err
	}
	var x *texts
	if b != nil {
		x = &texts{}
		n, w := binary.Uvarint(b)
		if w <= 0 || n > tailMessages {
			return nil, errDamaged
		}
		b = b[w:]
		for range n {
			v, ok := cutBytes(&b)
			if !ok {
				return nil, errDamaged
			}
			x.values = append(x.values, v)
		}
		if x.codes, err = parseNumbers(b, r.meta.Messages); err != nil {
			return nil, err
		}
	}
	r.texts[name] = x
	return x, nil
}

// code is which value a message has.
func (x *texts) code(i int) uint16 { return uint16(x.codes.at(i)) }

// value returns the value of a message; kept is false if it has one that is not known.
func (x *texts) value(i int) (v []byte, kept bool) {
	if x == nil {
		return nil, true
	}
	switch c := x.code(i); c {
	case codeNone:
		return nil, true
	case codeLong:
		return nil, false
	default:
		if int(c-codesKept) >= len(x.values) {
			return nil, false
		}
		return x.values[c-codesKept], true
	}
}

// flagged are the messages with any of the flags.
func (r *reading) flagged(flags uint8) (set, error) {
	s := newSet(r.meta.Messages)
	if r.meta.Flags&flags == 0 {
		return s, nil
	}
	x, err := r.column(numbersFlags)
	if err != nil {
		return nil, err
	}
	for i := range r.meta.Messages {
		if uint8(x.at(i))&flags != 0 {
			s.add(i)
		}
	}
	return s, nil
}

// A fragment is a part of a word, from its beginning or to its end.
type fragment struct {
	octets       string
	begins, ends bool
}

func (f *fragment) in(word []byte) bool {
	switch {
	case f.begins && f.ends:
		return string(word) == f.octets
	case f.begins:
		return len(word) >= len(f.octets) && string(word[:len(f.octets)]) == f.octets
	}
	return bytes.Contains(word, []byte(f.octets))
}

// having adds to s the messages of which a section has a word that f is a part of.
func (r *reading) having(in section, f *fragment, s set) error {
	directory, err := r.directory(in)
	if err != nil {
		return err
	}
	first, blocks := 0, 0
	for rest := directory; len(rest) > 0; blocks++ {
		w, ok := cutBytes(&rest)
		if !ok {
			return errDamaged
		}
		if string(w) <= f.octets {
			first = blocks
		}
	}
	if !f.begins {
		first = 0
	}
	for n := first; n < blocks; n++ {
		block, err := r.part(blockPart(in, n))
		if err != nil {
			return err
		}
		if block == nil {
			return errForgotten
		}
		if more, err := r.havingIn(block, f, s); err != nil || !more {
			return err
		}
	}
	return nil
}

// directory is the directory of a section, which stays in memory: some 2 KiB.
func (r *reading) directory(in section) ([]byte, error) {
	if b := r.directories[in].Load(); b != nil {
		return *b, nil
	}
	b, err := r.part(directoryPart(in))
	if err == nil && b == nil {
		err = errForgotten
	}
	if err == nil {
		r.directories[in].Store(&b)
	}
	return b, err
}

// havingIn is having in one block. more says that words of the next may have the fragment, too.
func (r *reading) havingIn(block []byte, f *fragment, s set) (more bool, err error) {
	for len(block) > 0 {
		w, ok := cutBytes(&block)
		list, also := cutBytes(&block)
		if !ok || !also {
			return false, errDamaged
		}
		if !f.in(w) {
			if f.begins && string(w) > f.octets {
				return false, nil
			}
			continue
		}
		last := -1
		for len(list) > 0 {
			d, n := binary.Uvarint(list)
			if n <= 0 || d >= uint64(r.meta.Messages-last-1) {
				return false, errDamaged
			}
			last += int(d) + 1
			s.add(last)
			list = list[n:]
		}
		if f.begins && f.ends {
			return false, nil
		}
	}
	return true, nil
}

// cutBytes takes what has its length before it.
func cutBytes(b *[]byte) (v []byte, ok bool) {
	n, w := binary.Uvarint(*b)
	if w <= 0 || n > uint64(len(*b)-w) {
		return nil, false
	}
	v = (*b)[w : w+int(n)]
	*b = (*b)[w+int(n):]
	return v, true
}
