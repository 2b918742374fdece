package search

import (
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/filter"
)

// ofWords asks for words: a text has to have all those of one of the alternatives.
type ofWords struct {
	texts        [][]section // the words of each text are in these sections
	alternatives []alternative
	every        []fragment // that the message has beside
}

// An alternative is fragments that a text has. Whole says that having them is all that is asked. Open says that they
// may be in the middle of a word.
type alternative struct {
	fragments   []fragment
	whole, open bool
	number      uint64 // of the message, which will do as well; 0: none
}

// wordsOf plans a term by words, nil if they tell nothing of it.
func wordsOf(t *filter.Term) *ofWords {
	w := &ofWords{}
	properties, body := []section{inProperties}, []section{inBody}
	switch t.Field {
	case "":
		w.texts = [][]section{properties, body}
	case "headers":
		w.texts = [][]section{properties}
	case "body":
		w.texts = [][]section{body}
	case "body.$.PATH":
		w.texts, w.every = [][]section{{inBody, inNumbers}}, pathNames(t.Name)
		return w.values(t)
	case "header.NAME", "schedule-key":
		w.texts = [][]section{properties}
		return w.values(t)
	case "id", "message-id", "correlation-id":
		w.texts = [][]section{properties}
		return w.values(t)
	default:
		return nil
	}
	for i, x := range t.Alternatives {
		a := alternative{}
		switch {
		case x.Op == filter.Has:
			a.fragments = wholeWords(x.Words)
			if x.Prefix {
				a.fragments[len(a.fragments)-1].ends = false
			}
			a.whole = len(a.fragments) == 1
		case len(t.Alternatives) == len(t.Values):
			a.fragments, a.open = innerWords(t.Values[i]), true
		}
		w.alternatives = append(w.alternatives, a)
	}
	return w
}

// values plans what whole values are asked for.
func (c *ofWords) values(t *filter.Term) *ofWords {
	if t.Field != "id" && t.Field != "message-id" && t.Field != "correlation-id" && !areNumbers(t.Values) {
		for _, x := range t.Alternatives {
			if x.Op == filter.Other { // a range, or a number that may be written in many ways
				c.alternatives = []alternative{{}}
				return c
			}
		}
	}
	for _, x := range t.Alternatives {
		a := alternative{}
		switch x.Op {
		case filter.Is:
			a.fragments = wholeWords(wordsIn(x.Text))
		case filter.Like:
			if t.Field == "id" {
				return nil // the number of any message may be meant
			}
			if a.fragments = wholeWords(wordsIn(x.Text)); len(a.fragments) > 0 {
				a.fragments[len(a.fragments)-1].ends = false
			}
		case filter.Other:
			continue // areNumbers: they are among the values
		}
		if t.Field == "id" {
			a.number, _ = strconv.ParseUint(x.Text, 10, 64)
		}
		c.alternatives = append(c.alternatives, a)
	}
	return c
}

// areNumbers reports whether all values are whole numbers as nearly everybody writes them.
func areNumbers(values []string) bool {
	for _, s := range values {
		if n, err := strconv.ParseInt(s, 10, 64); err != nil || strconv.FormatInt(n, 10) != s {
			return false
		}
	}
	return len(values) > 0
}

func wordsIn(text string) (all []string) {
	filter.Words([]byte(text), func(w []byte) bool {
		for _, r := range string(w) {
			if r > 0xFFFF { // JSON writes it in two parts, which are no words
				return true
			}
		}
		all = append(all, string(w))
		return true
	})
	return all
}

func wholeWords(words []string) (all []fragment) {
	for _, w := range words {
		all = append(all, fragment{w, true, true})
	}
	return all
}

// innerWords are the parts between wildcards that lie within one word each, wherever they are.
func innerWords(value string) (all []fragment) {
	for _, part := range strings.Split(value, "*") {
		if isAlnum(part) {
			all = append(all, fragment{strings.ToLower(part), false, false})
		}
	}
	return all
}

func isAlnum(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; !isDigit(s[i]) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

// pathNames are the words of the members that a path leads through.
func pathNames(path string) []fragment {
	if strings.Contains(path, `\`) {
		return nil
	}
	var plain strings.Builder
	depth := 0
	for _, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			plain.WriteRune(r)
			continue
		}
		plain.WriteByte(' ')
	}
	return wholeWords(wordsIn(plain.String()))
}

func (c *ofWords) judge(r *reading, _ []placeRecord) (verdict, error) {
	n := r.meta.Messages
	v := verdict{newSet(n), newSet(n)}
	names, err := r.havingAll(c.texts[0], c.every)
	if err != nil {
		return v, err
	}
	for _, a := range c.alternatives {
		for _, text := range c.texts {
			found, err := r.havingAll(text, a.fragments)
			if err != nil {
				return v, err
			}
			if a.whole {
				v.sure.or(found)
			}
			v.maybe.or(found)
		}
		if a.open {
			long, err := r.flagged(flagLong)
			if err != nil {
				return v, err
			}
			v.maybe.or(long)
		}
		if a.number != 0 {
			ids, err := r.column(numbersID)
			if err != nil {
				return v, err
			}
			for i := range n {
				if uint64(ids.at(i)) == a.number {
					v.maybe.add(i)
				}
			}
		}
	}
	v.maybe.and(names)
	rest, err := r.flagged(flagRest)
	if err != nil {
		return v, err
	}
	v.maybe.or(rest)
	v.sure.and(r.all)
	v.maybe.and(r.all)
	return v, nil
}

// havingAll finds the messages that have all fragments in a text.
func (r *reading) havingAll(text []section, all []fragment) (set, error) {
	found := fullSet(r.meta.Messages)
	for i := range all {
		f := &all[i]
		if len(f.octets) < fragmentMin && !(f.begins && f.ends) {
			continue
		}
		have := newSet(r.meta.Messages)
		for _, in := range text {
			if err := r.having(in, f, have); err != nil {
				return nil, err
			}
		}
		if found.and(have); found.empty() {
			break
		}
	}
	return found, nil
}
