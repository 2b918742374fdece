package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A segment is letters that were sealed, or a copy of a tail. What is here stays in memory for each: some 3 KiB.
type segment struct {
	number  uint64
	meta    meta
	gone    set   // of its letters
	left    int   // letters that are not gone
	changed bool  // gone is not stored as it is
	parts   parts // of a copy of a tail; nil: they are stored
}

// meta is what is stored of a segment beside its parts.
type meta struct {
	Letters      int
	MinAt, MaxAt int64
	Places       []span
	Headers      []string // whose values are known
	OtherHeaders bool     // there are others
	Transient    bool     // letters among them are gone when the virtual host opens again
	Bytes        int64    // of the parts
}

// A span tells of the letters of one place in a segment.
type span struct {
	Place        uint16
	Letters      int
	MinID, MaxID uint64
}

// errForgotten says that a segment was given up meanwhile: one that is there has all columns of numbers.
var errForgotten = errors.New("search: the segment is gone")

var errDamaged = errors.New("search: the index is damaged")

// describe makes the meta of what a tail has sealed.
func (t *tail) describe(p parts) meta {
	m := meta{Letters: t.n, Headers: slices.Clone(t.headers), OtherHeaders: t.others}
	at := t.numbers[numbersAt]
	m.MinAt, m.MaxAt = slices.Min(at), slices.Max(at)
	spans := map[uint16]*span{}
	for _, flags := range t.numbers[numbersFlags] {
		m.Transient = m.Transient || uint8(flags)&flagTransient != 0
	}
	for i, place := range t.numbers[numbersPlace] {
		id := uint64(t.numbers[numbersID][i])
		s := spans[uint16(place)]
		if s == nil {
			s = &span{Place: uint16(place), MinID: id, MaxID: id}
			spans[uint16(place)] = s
		}
		s.Letters++
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

// remove notes that a letter is gone.
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
	all     set // letters that are not gone
	numbers map[string]numbers
	texts   map[string]*texts
	got     parts
}

func (s *segment) read(from *store) *reading {
	all := fullSet(s.meta.Letters)
	all.without(s.gone)
	return &reading{segment: s, memory: s.parts, store: from, all: all, numbers: map[string]numbers{}, texts: map[string]*texts{}, got: parts{}}
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
	var n uint64
	for k, c := range x.b[i*x.width : (i+1)*x.width] {
		n |= uint64(c) << (8 * k)
	}
	return x.low + int64(n)
}

// column returns a column of numbers.
func (r *reading) column(name string) (numbers, error) {
	if x, ok := r.numbers[name]; ok {
		return x, nil
	}
	b, err := r.part(name)
	if err != nil {
		return numbers{}, err
	}
	if b == nil {
		return numbers{}, errForgotten
	}
	x, err := parseNumbers(b, r.meta.Letters)
	if err != nil {
		return x, fmt.Errorf("segment %d, %s: %w", r.number, name, err)
	}
	r.numbers[name] = x
	return x, nil
}

// texts are a column of texts: the values, and which of them each letter has.
type texts struct {
	values [][]byte
	codes  numbers
}

// textsOf returns a column of texts; nil if no letter has a value there.
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
		if w <= 0 || n > tailLetters {
			return nil, errDamaged
		}
		b = b[w:]
		for range n {
			size, w := binary.Uvarint(b)
			if w <= 0 || size > uint64(len(b)-w) {
				return nil, errDamaged
			}
			x.values = append(x.values, b[w:w+int(size)])
			b = b[w+int(size):]
		}
		if x.codes, err = parseNumbers(b, r.meta.Letters); err != nil {
			return nil, err
		}
	}
	r.texts[name] = x
	return x, nil
}

// code is which value a letter has.
func (x *texts) code(i int) uint16 { return uint16(x.codes.at(i)) }

// value returns the value of a letter; kept is false if it has one that is not known.
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

// flagged are the letters with any of the flags.
func (r *reading) flagged(flags uint8) (set, error) {
	x, err := r.column(numbersFlags)
	if err != nil {
		return nil, err
	}
	s := newSet(r.meta.Letters)
	if x.width == 0 && uint8(x.low)&flags == 0 {
		return s, nil
	}
	for i := range r.meta.Letters {
		if uint8(x.at(i))&flags != 0 {
			s.add(i)
		}
	}
	return s, nil
}

// A fragment is a run of octets that words are made of; it is all of a word from its beginning, or to its end.
type fragment struct {
	octets       string // in lower case
	begins, ends bool
}

func (f *fragment) needle() []byte {
	var b []byte
	if f.begins {
		b = append(b, '\n')
	}
	b = append(b, f.octets...)
	if f.ends {
		b = append(b, '\n')
	}
	return b
}

// having adds to s the letters of which a section has a word that f is a part of.
func (r *reading) having(in section, f *fragment, s set) error {
	rareName, ownersName, commonName, beginsName, listsName := wordParts(in)
	needle := f.needle()
	rare, err := r.part(rareName)
	if err != nil {
		return err
	}
	owners, err := r.part(ownersName)
	if err != nil {
		return err
	}
	damaged := false
	eachWord(rare, needle, func(n int) bool {
		if 2*n+2 > len(owners) {
			damaged = true
			return false
		}
		if i := int(binary.LittleEndian.Uint16(owners[2*n:])); i < r.meta.Letters {
			s.add(i)
		}
		return !f.begins || !f.ends
	})
	common, err := r.part(commonName)
	if err != nil || damaged {
		return errors.Join(err, damagedIf(damaged))
	}
	begins, err := r.part(beginsName)
	if err != nil {
		return err
	}
	lists, err := r.part(listsName)
	if err != nil {
		return err
	}
	eachWord(common, needle, func(n int) bool {
		if 4*n+8 > len(begins) {
			damaged = true
			return false
		}
		from, to := binary.LittleEndian.Uint32(begins[4*n:]), binary.LittleEndian.Uint32(begins[4*n+4:])
		if from > to || int(to) > len(lists) {
			damaged = true
			return false
		}
		last := -1
		for list := lists[from:to]; len(list) > 0; {
			d, w := binary.Uvarint(list)
			if w <= 0 || d >= uint64(r.meta.Letters-last-1) {
				damaged = true
				return false
			}
			last += int(d) + 1
			s.add(last)
			list = list[w:]
		}
		return !f.begins || !f.ends
	})
	return damagedIf(damaged)
}

func damagedIf(yes bool) error {
	if yes {
		return errDamaged
	}
	return nil
}

// eachWord calls fn with the numbers of the words that have the needle in them, until it returns false.
func eachWord(words, needle []byte, fn func(n int) bool) {
	n, at := 0, 0 // of the word that begins behind the line feed there
	for from := 0; ; {
		i := bytes.Index(words[from:], needle)
		if i < 0 {
			return
		}
		i += from
		if needle[0] != '\n' {
			i--
		}
		// i is before the first octet of the needle; the word begins behind the last line feed up to there.
		n += bytes.Count(words[at:i+1], lineFeed) - 1
		at = bytes.LastIndexByte(words[:i+1], '\n')
		if !fn(n) {
			return
		}
		end := bytes.IndexByte(words[at+1:], '\n')
		if end < 0 {
			return
		}
		from = at + 1 + end
	}
}

var lineFeed = []byte{'\n'}
