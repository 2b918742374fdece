package search

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
)

// A document is what the crawler brings of one message: copies.
type document struct {
	id        uint64
	place     uint16 // number of it in the virtual host
	transient bool   // gone when the virtual host opens again
	held      bool
	cut       bool // the body goes on
	message   filter.Message
}

// What is to be known of a message beside its columns.
const (
	flagTransient uint8 = 1 << iota
	flagHeld
	flagRest // its words are not all known
	flagLong // some of its words may have been cut off
)

// Columns of text, by their names in package filter, and of numbers.
const (
	columnKeys        = "key" // all of them, with a zero octet between
	columnException   = "exception"
	columnFingerprint = "fingerprint"
	headerPrefix      = "h:" // before the name of a header

)

// A number names a column of numbers.
type number uint8

const (
	numbersID number = iota
	numbersAt
	numbersSize
	numbersCount
	numbersRedrives
	numbersPlace
	numbersFlags
	numberColumns
)

// part is what the column is stored as.
func (n number) part() string { return "#" + string('0'+rune(n)) }

// A tail is the messages of a virtual host that are not sealed yet.
type tail struct {
	number  uint64 // of the segment that it will be
	most    int    // messages
	n       int
	numbers [numberColumns][]int64
	texts   map[string]*textColumn
	headers []string // of texts, without their prefix
	others  bool     // there were other headers
	words   [sections]*vocabulary
	uses    [sections][]uint32 // numbers of words, message after message
	ends    [sections][]uint32 // of each message among them
	cutter  cutter

	exception, fingerprint filter.Grouping
	prints                 map[string]string // fingerprints of exceptions
}

// textColumn is the values of messages that are text.
type textColumn struct {
	codes  []uint16
	known  map[string]uint16
	values []string
}

// The first codes of a text column stand for no value, and for one that is not kept.
const (
	codeNone uint16 = iota
	codeLong
	codesKept
)

func newTail(number uint64, most int) *tail {
	t := &tail{number: number, most: most, texts: map[string]*textColumn{}, prints: map[string]string{}}
	for i := range t.words {
		t.words[i] = newVocabulary()
	}
	t.exception, _ = filter.GroupBy(columnException)
	t.fingerprint, _ = filter.GroupBy(columnFingerprint)
	t.cutter.add = func(in section, word []byte) {
		n := t.words[in].number(word)
		if t.words[in].note(n, uint16(t.n)) {
			t.uses[in] = append(t.uses[in], n)
		}
	}
	return t
}

// octets is how much there is of words and of who has them, about.
func (t *tail) octets() (n int) {
	for i := range t.words {
		n += len(t.words[i].octets) + 4*len(t.uses[i])
	}
	return n
}

// full reports whether the tail has to be sealed.
func (t *tail) full() bool {
	words, octets := 0, 0
	for i := range t.words {
		words += len(t.uses[i])
		octets += len(t.words[i].octets)
	}
	return t.n >= t.most || words > tailWords || octets > tailOctets
}

// add takes a message; nothing of it is kept that is lent.
func (t *tail) add(l *document) {
	m := &l.message
	flags := uint8(0)
	if l.transient {
		flags |= flagTransient
	}
	if l.held {
		flags |= flagHeld
	}
	t.cutter.rest, t.cutter.long = l.cut, false
	p, err := amqp.ParseProperties(m.Properties)
	if err != nil {
		t.cutter.rest = true // what was stored as properties is none: it is looked at each time
	}
	t.cutter.properties(m.Properties)
	t.cutter.body(m.Body)
	if t.cutter.rest {
		flags |= flagRest
	}
	if t.cutter.long {
		flags |= flagLong
	}
	for i := range t.ends {
		t.ends[i] = append(t.ends[i], uint32(len(t.uses[i])))
	}
	for i, n := range [...]int64{int64(l.id), m.At, m.Size, m.Count, m.Redrives, int64(l.place), int64(flags)} {
		t.numbers[i] = append(t.numbers[i], n)
	}
	t.addTexts(l, &p)
	t.n++
}

func (t *tail) addTexts(l *document, p *amqp.Properties) {
	m := &l.message
	var buf [256]byte
	keys := buf[:0]
	for i, k := range m.Keys {
		if i > 0 {
			keys = append(keys, 0)
		}
		keys = append(keys, k...)
	}
	t.text(columnKeys, keys)
	for _, x := range [...]struct{ name, value string }{
		{"reason", m.Reason}, {"first-reason", m.FirstReason}, {"source", m.Source}, {"last-queue", m.LastQueue},
		{"exchange", m.Exchange}, {"cause", m.Cause}, {"type", p.Type}, {"app", p.AppID}, {"user", p.UserID},
		{"content-type", p.ContentType}, {"reply-to", p.ReplyTo},
	} {
		t.text(x.name, []byte(x.value))
	}
	if l.cut { // the exception may be in the rest
		t.code(columnException, codeLong)
		t.code(columnFingerprint, codeLong)
	} else {
		t.exceptions(m)
	}
	for i := range p.Headers {
		t.header(&p.Headers[i])
	}
}

// exceptions notes the exception that a message tells of. The fingerprint of one that was met before is
// known.
func (t *tail) exceptions(m *filter.Message) {
	value, ok := t.exception.Key(m)
	if !ok {
		return
	}
	print, known := t.prints[value]
	if !known {
		print, _ = t.fingerprint.Key(m)
		t.prints[value] = print
	}
	t.text(columnException, []byte(value))
	t.text(columnFingerprint, []byte(print))
}

// header keeps the value of a header, encoded as in a table, kind first.
func (t *tail) header(f *amqp.Field) {
	column := headerPrefix + f.Name
	if t.texts[column] == nil {
		if len(t.headers) == headersKept {
			t.others = true
			return
		}
		t.headers = append(t.headers, f.Name)
	}
	var buf [valueMax + 300]byte
	switch {
	case f.Value.Kind == amqp.KindTable || f.Value.Kind == amqp.KindArray || len(f.Value.Str) > valueMax:
		t.code(column, codeLong)
	default:
		b := amqp.AppendTable(buf[:0], amqp.Table{*f})
		t.text(column, b[4+1+len(f.Name):])
	}
}

// text notes a value of the newest message. The first of two counts.
func (t *tail) text(name string, value []byte) {
	c := t.column(name)
	if len(c.codes) > t.n {
		return
	}
	code, known := c.known[string(value)]
	if !known {
		s := string(value)
		code = codesKept + uint16(len(c.values))
		c.values, c.known[s] = append(c.values, s), code
	}
	c.codes = append(c.codes, code)
}

func (t *tail) code(name string, code uint16) {
	if c := t.column(name); len(c.codes) <= t.n {
		c.codes = append(c.codes, code)
	}
}

// column finds a column, and fills in that messages before the newest had no value.
func (t *tail) column(name string) *textColumn {
	c := t.texts[name]
	if c == nil {
		c = &textColumn{known: map[string]uint16{}}
		t.texts[name] = c
	}
	for len(c.codes) < t.n {
		c.codes = append(c.codes, codeNone)
	}
	return c
}

// parts are what a segment is stored as, by name.
type parts map[string][]byte

// seal makes parts of the messages.
func (t *tail) seal() parts {
	p := parts{}
	for i := range numberColumns {
		p[i.part()] = encodeNumbers(t.numbers[i])
	}
	for name := range t.texts {
		c := t.column(name)
		p[name] = encodeTexts(c)
	}
	for i := range sections {
		t.sealWords(p, i)
	}
	return p
}

// The words of a section are stored in their order, in blocks, and a directory has the first word of each block.
//
//	directory = { length word }*
//	block     = { length word length distances }*     distances of the messages that have the word, one by one
func directoryPart(in section) string    { return "w" + string('0'+rune(in)) }
func blockPart(in section, n int) string { return directoryPart(in) + "." + strconv.Itoa(n) }

func (t *tail) sealWords(p parts, in section) {
	v := t.words[in]
	messages := t.inverted(in)
	order := make([]uint32, len(v.begins))
	starts := make([]uint32, len(v.begins)) // in messages
	at := uint32(0)
	for n, count := range v.counts {
		order[n], starts[n] = uint32(n), at
		at += uint32(count)
	}
	slices.SortFunc(order, func(a, b uint32) int { return bytes.Compare(v.word(a), v.word(b)) })
	directory := []byte{} // there is one, even without words
	var block, list []byte
	blocks := 0
	for _, n := range order {
		w := v.word(n)
		list = list[:0]
		last := -1
		for _, l := range messages[starts[n] : starts[n]+uint32(v.counts[n])] {
			list = binary.AppendUvarint(list, uint64(int(l)-last-1))
			last = int(l)
		}
		if len(block) > 0 && len(block)+len(w)+len(list) > blockBytes {
			p[blockPart(in, blocks)] = block
			block, blocks = nil, blocks+1
		}
		if len(block) == 0 {
			block = make([]byte, 0, blockBytes)
			directory = append(binary.AppendUvarint(directory, uint64(len(w))), w...)
		}
		block = append(binary.AppendUvarint(block, uint64(len(w))), w...)
		block = append(binary.AppendUvarint(block, uint64(len(list))), list...)
	}
	if len(block) > 0 {
		p[blockPart(in, blocks)] = block
	}
	p[directoryPart(in)] = directory
}

// inverted are the messages that have each word, word after word.
func (t *tail) inverted(in section) []uint16 {
	v, uses := t.words[in], t.uses[in]
	next := make([]uint32, len(v.begins)+1)
	for n, count := range v.counts {
		next[n+1] = next[n] + uint32(count)
	}
	messages := make([]uint16, len(uses))
	from := uint32(0)
	for message, end := range t.ends[in] {
		for _, n := range uses[from:end] {
			messages[next[n]] = uint16(message)
			next[n]++
		}
		from = end
	}
	return messages
}

// encodeNumbers writes the least number, the octets of each difference from it, and these.
func encodeNumbers(all []int64) []byte {
	low, high := slices.Min(all), slices.Max(all)
	width := widthOf(uint64(high - low))
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(low)), byte(width))
	for _, n := range all {
		var x [8]byte
		binary.LittleEndian.PutUint64(x[:], uint64(n-low))
		b = append(b, x[:width]...)
	}
	return b
}

func widthOf(n uint64) (width int) {
	for ; n > 0; n >>= 8 {
		width++
	}
	return width
}

// encodeTexts writes the values, each with its length, and then the codes like numbers.
func encodeTexts(c *textColumn) []byte {
	b := binary.AppendUvarint(nil, uint64(len(c.values)))
	for _, v := range c.values {
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	}
	codes := make([]int64, len(c.codes))
	for i, code := range c.codes {
		codes[i] = int64(code)
	}
	return append(b, encodeNumbers(codes)...)
}
