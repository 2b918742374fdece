package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/fullwidth"
)

// Parse reads a filter; now, in ms since the Unix epoch, is what ages count from and words such as today mean. An
// empty text is the filter that all messages pass. Errors are *Error.
func Parse(text string, now int64) (*Filter, error) {
	if len(text) > TextMax {
		return nil, &Error{Code: "limit", Text: fmt.Sprintf("%d bytes, at most %d are allowed", len(text), TextMax)}
	}
	if !utf8.ValidString(text) {
		return nil, &Error{Code: "syntax", Text: "not UTF-8; write bytes as \"\\xFF\""}
	}
	f := &Filter{}
	l, s := lexer{text: text}, sum{}
	var canonical []byte
	for {
		w, ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		t, err := newTerm(&l, &w, now)
		if err != nil {
			return nil, err
		}
		if err := s.add(t, len(w.values)); err != nil {
			return nil, err
		}
		if len(canonical) > 0 {
			canonical = append(canonical, ' ')
		}
		begin := len(canonical)
		canonical = appendTerm(canonical, &w, t)
		f.terms = append(f.terms, *t)
		f.shown = append(f.shown, t.show(&w, string(canonical[begin:])))
		f.needs |= t.need
	}
	if len(canonical) > TextMax {
		return nil, &Error{Code: "limit", Text: fmt.Sprintf("%d bytes with quoting, at most %d are allowed", len(canonical), TextMax)}
	}
	f.text = string(canonical)
	slices.SortStableFunc(f.terms, func(a, b term) int { return cmp.Compare(a.need, b.need) })
	return f, nil
}

// A sum is how much there is of what is bounded.
type sum struct {
	terms, values, searches, words, wildcards int
}

// add counts a term.
func (s *sum) add(t *term, values int) error {
	s.terms++
	s.values += values
	s.searches += len(t.finders)
	for i := range t.finders {
		s.words += len(t.finders[i].phrase.words)
	}
	for i := range t.patterns {
		for _, step := range t.patterns[i].steps {
			if step.op != stepLit {
				s.wildcards++
			}
		}
	}
	for _, c := range []struct {
		n, most int
		what    string
	}{
		{s.terms, termsMax, "terms"}, {s.values, valuesMax, "values"}, {s.searches, searchesMax, "texts to search for"},
		{s.words, wordsMax, "words to search for"}, {s.wildcards, wildcardsMax, "wildcards"},
	} {
		if c.n > c.most {
			return &Error{Code: "limit", Text: fmt.Sprintf("more than %d %s", c.most, c.what)}
		}
	}
	return nil
}

// newTerm gives a written term its meaning. Values of words are put right in w.
func newTerm(l *lexer, w *written, now int64) (*term, error) {
	t := &term{not: w.not}
	if t.field, t.arg = fieldNamed(w.name); t.field == nil {
		return nil, unknownField(l, w)
	}
	t.need = t.field.need
	switch t.field.kind {
	case header:
		if t.arg == "" {
			return nil, l.fail(w, "the header name is missing: header.NAME:value")
		}
	case path:
		var err error
		if t.path, err = newPath(w.parts); err != nil {
			return nil, l.fail(w, err.Error())
		}
	}
	for i, v := range w.values {
		if known, err := t.alternative(w, i, v, now); err != nil {
			e := l.fail(w, err.Error())
			e.Code, e.Known = "value", known
			return nil, e
		}
	}
	return t, nil
}

// alternative adds one value. With an error it tells what else there is.
func (t *term) alternative(w *written, i int, v []chunk, now int64) (known []string, err error) {
	read := readNumber
	switch f := t.field; f.kind {
	case free:
		if s := joined(v); w.name == "" && (s == "OR" || s == "AND" || s == "NOT") && isSoft(v, s) {
			return nil, fmt.Errorf("terms are combined with AND; write a|b for OR, and a minus before a term for NOT; "+
				"quote %q to search for it", s)
		}
		found, err := newFinder(v)
		t.finders = append(t.finders, found)
		return nil, err
	case word:
		return t.word(w, i, v)
	case text, name:
		if s := fullwidth.FoldText(v[0].text); !v[0].hard && (s[0] == '>' || s[0] == '<') {
			return nil, fmt.Errorf("%s is text and cannot be compared with < or >; quote a value that starts with "+
				"one of them", f.Name)
		}
		t.patterns = append(t.patterns, compile(v, f.kind))
		return nil, nil
	case header, path:
		return nil, t.typed(w, i, v)
	case size:
		read = readSize
	case age:
		read = readAge
	case clock:
		read = readClock(now)
	}
	if len(v) != 1 || v[0].hard {
		return nil, fmt.Errorf("%s is compared with numbers; do not quote numbers", t.field.Name)
	}
	narrow := fullwidth.FoldText(v[0].text)
	s, err := t.span(narrow, read, now)
	if err == nil {
		t.spans = append(t.spans, s)
		w.values[i] = []chunk{{text: narrow}}
	}
	return nil, err
}

func (t *term) span(s string, read func(string) (span, error), now int64) (span, error) {
	n, err := spanOf(s, read)
	if err != nil || t.field.kind != age {
		return n, err
	}
	if n.min == n.max {
		return span{}, fmt.Errorf("older or younger? Write age:>%s or age:<%s", s, s)
	}
	return span{now - min(n.max, amountMax), now - max(n.min, -amountMax)}, nil
}

// synonyms are words of other dialects, of people, and what the console calls the words in both languages, of which a
// test of its dictionaries knows. Those of several words are quoted.
var synonyms = map[string]string{"reject": "rejected", "nack": "rejected", "nacked": "rejected", "expire": "expired", "ttl": "expired",
	"max_len": "maxlen", "max_length": "maxlen", "overflow": "maxlen", "limit": "delivery_limit",
	"拒绝": "rejected", "被拒绝": "rejected", "已拒绝": "rejected", "过期": "expired", "已过期": "expired",
	"delivery limit": "delivery_limit", "length limit exceeded": "maxlen", "republished by a client": Republished,
	"unacknowledged": "unacked", "dead_letter cycle": "cycle", "delivery limit reached": "delivery_limit",
	"dead_lettered too many times": "hops", "dead_letter exchange missing": "no_exchange", "no queue bound": "no_route",
	"target queue full": "refused", "被消费者拒绝": "rejected", "超出长度上限": "maxlen", "投递次数上限": "delivery_limit",
	"由客户端重新发布": Republished, "就绪": "ready", "未确认": "unacked", "等待中": "waiting", "挂起": "held", "无主": "lost", "已定时": "scheduled",
	"死信循环": "cycle", "达到投递次数上限": "delivery_limit", "死信路由次数过多": "hops", "死信交换机不存在": "no_exchange", "没有绑定的队列": "no_route",
	"目标队列已满": "refused", "已丢弃": "discarded"}

// word adds one of the few words that the field has, or a pattern for them.
func (t *term) word(w *written, i int, v []chunk) (known []string, err error) {
	s := joined(v)
	asked := isSoft(v, s) && !strings.ContainsAny(s, "*?")
	s = strings.ReplaceAll(strings.ToLower(fullwidth.FoldText(s)), "-", "_")
	if to, ok := synonyms[s]; ok && !slices.Contains(t.field.words, s) && (asked || slices.Contains(t.field.words, to)) {
		s, asked = to, true
	}
	if asked {
		if !slices.Contains(t.field.words, s) {
			return t.field.words, fmt.Errorf("%s has no value %q", t.field.Name, joined(v))
		}
		v = []chunk{{text: s}}
		w.values[i] = v
	}
	t.patterns = append(t.patterns, compile(v, text))
	return nil, nil
}

// typed adds a value that may be text or a number. Comparisons and ranges are put right in w; a number stays as it was
// written, since it is compared as text, too.
func (t *term) typed(w *written, i int, v []chunk) error {
	if isSoft(v, "*") {
		t.present = true
		return nil
	}
	if len(v) == 1 && !v[0].hard {
		narrow := fullwidth.FoldText(v[0].text)
		b, ok, err := newBounds(narrow)
		if err != nil {
			return err
		}
		if ok {
			t.bounds = append(t.bounds, b)
			if !b.isPoint() {
				w.values[i] = []chunk{{text: narrow}}
				return nil
			}
		}
	}
	t.patterns = append(t.patterns, compile(v, text))
	return nil
}

// unknownField suggests the nearest.
func unknownField(l *lexer, w *written) *Error {
	e := l.fail(w, noField(w.name))
	e.Code = "field"
	if says := inEnglish(e.Term); says != "" {
		e.Text = says
	} else if near := closest(fieldWord(w.name), 1, 3); near != "" {
		e.Known = []string{near}
	} else {
		for i := range fields {
			if fields[i].Name != "" {
				e.Known = append(e.Known, fields[i].Name)
			}
		}
	}
	return e
}

// closest is the field with a name of so many characters at least that differs from a word by the fewest, and by less
// than so many; "" if there is none.
func closest(word string, length, best int) (near string) {
	for i := range fields {
		if d := distance(word, fields[i].Name); len(fields[i].Name) >= length && d < best {
			near, best = fields[i].Name, d
		}
	}
	return near
}

func noField(name string) string {
	return fmt.Sprintf("there is no field %q; quote text that contains : or =", name)
}

// distance is how many characters have to be changed, added or taken away to make b of a. Names of over 32
// are far.
func distance(a, b string) int {
	var row [33]int
	if len(a) >= len(row) || len(b) >= len(row) {
		return len(row)
	}
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d++
			}
			before = row[j+1]
			row[j+1] = min(d, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// appendTerm writes a term so that it reads as the same one.
func appendTerm(b []byte, w *written, t *term) []byte {
	if w.not {
		b = append(b, '-')
	}
	switch {
	case w.name == "":
		l := lexer{text: string(appendValue(nil, w.values[0]))}
		if again := (written{}); l.field(&again) != nil || again.name != "" {
			b = append(b, `""`...) // what begins with quotes has no field
		}
	case t.field.kind == header:
		b = appendHeaderName(b, t.arg)
		b = append(b, ':')
	case t.field.kind == path:
		b = appendPath(b, t.path)
		b = append(b, ':')
	default:
		b = append(b, t.field.Name...)
		b = append(b, ':')
	}
	for i, v := range w.values {
		if i > 0 {
			b = append(b, '|')
		}
		b = appendValue(b, v)
	}
	return b
}

// appendHeaderName writes the field of a header.
func appendHeaderName(b []byte, name string) []byte {
	b = append(b, "header."...)
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7F || strings.IndexByte(`:<>=|"`, c) >= 0 {
			return appendQuoted(b, name)
		}
	}
	return append(b, name...)
}
