package search

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A plan is how segments answer a filter: a message has to pass all conditions.
type plan struct {
	conditions []planned
	places     []placeRecord // by number
}

type planned struct {
	condition
	not bool
}

// A condition answers one term as far as a segment can.
type condition interface {
	judge(r *reading, places []placeRecord) (verdict, error)
}

// newPlan plans a filter; nil asks for all messages. now is the instant at which the filter was made, about.
func newPlan(f *filter.Filter, places []placeRecord, now int64) *plan {
	p := &plan{places: places}
	if f == nil {
		return p
	}
	for _, t := range f.Terms() {
		if c := planTerm(&t, now); c != nil {
			p.conditions = append(p.conditions, planned{c, t.Not})
		} else {
			p.conditions = append(p.conditions, planned{unknown{}, t.Not})
		}
	}
	return p
}

// judge finds the messages of a segment that pass.
func (p *plan) judge(r *reading) (verdict, error) {
	v := verdict{r.all.clone(), r.all.clone()}
	defer clear(r.got) // words are too much to be kept
	for _, c := range p.conditions {
		if v.maybe.empty() {
			break
		}
		x, err := c.judge(r, p.places)
		if err != nil {
			return v, err
		}
		if c.not {
			x = x.not(r.all)
		}
		v.sure.and(x.sure)
		v.maybe.and(x.maybe)
	}
	return v, nil
}

// unknown is a condition that no segment can answer.
type unknown struct{}

func (unknown) judge(r *reading, _ []placeRecord) (verdict, error) {
	return verdict{newSet(r.meta.Messages), r.all.clone()}, nil
}

// planTerm plans one term, as if it were not turned around. nil: nothing is known of what it asks.
func planTerm(t *filter.Term, now int64) condition {
	only, err := filter.Parse(strings.TrimPrefix(t.Text, "-"), now)
	if err != nil || t.Not != strings.HasPrefix(t.Text, "-") {
		return nil
	}
	switch t.Field {
	case "reason", "first-reason", "source", "last-queue", "exchange", "type", "app", "user", "content-type", "reply-to":
		return &ofText{column: t.Field, filter: only}
	case "cause":
		return &ofText{column: t.Field, filter: only, changes: flagHeld}
	case "key", "routing-key":
		return &ofText{column: columnKeys, filter: only}
	case columnException, columnFingerprint:
		return &ofException{t.Field, t.Alternatives}
	case "queue", "state":
		return &ofPlace{only, t.Field == "state"}
	case "age", "time":
		return rangeOf(t, numbersAt)
	case "count":
		return rangeOf(t, numbersCount)
	case "size":
		return rangeOf(t, numbersSize)
	case "redrives":
		return rangeOf(t, numbersRedrives)
	case "header.NAME":
		return &ofHeader{name: t.Name, filter: only, words: wordsOf(t)}
	case "schedule-key":
		return &ofHeader{name: vhost.KeyHeader, filter: only, words: wordsOf(t)}
	}
	if w := wordsOf(t); w != nil {
		return w
	}
	return nil // not w: a nil pointer in an interface is not nil
}

// mini is a message that has one value of a column and nothing else.
func mini(column string, value []byte) (m filter.Message) {
	s := string(value)
	switch column {
	case "reason":
		m.Reason = s
	case "first-reason":
		m.FirstReason = s
	case "source":
		m.Source = s
	case "last-queue":
		m.LastQueue = s
	case "exchange":
		m.Exchange = s
	case "cause":
		m.Cause = s
	case columnKeys:
		m.Keys = strings.Split(s, "\x00")
	case "type":
		m.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagType, Type: s})
	case "app":
		m.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagAppID, AppID: s})
	case "content-type":
		m.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagContentType, ContentType: s})
	case "reply-to":
		m.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagReplyTo, ReplyTo: s})
	case "user":
		m.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagUserID, UserID: s})
	default:
		m.Properties = headerOnly(strings.TrimPrefix(column, headerPrefix), value)
	}
	return m
}

// headerOnly are properties with one header, whose value is encoded, kind first.
func headerOnly(name string, value []byte) []byte {
	flags := amqp.FlagHeaders
	size := 1 + len(name) + len(value)
	b := []byte{byte(flags >> 8), byte(flags), byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size), byte(len(name))}
	return append(append(b, name...), value...)
}

// ofText asks a column of texts by its values.
type ofText struct {
	column  string
	filter  *filter.Filter
	changes uint8 // messages with that flag may have another value by now
}

func (c *ofText) judge(r *reading, _ []placeRecord) (verdict, error) {
	x, err := r.textsOf(c.column)
	if err != nil {
		return verdict{}, err
	}
	none := filter.Message{}
	v := x.judge(r, c.filter.Match(&none), func(value []byte) bool {
		m := mini(c.column, value)
		return c.filter.Match(&m)
	})
	if c.changes != 0 {
		changing, err := r.flagged(c.changes)
		if err != nil {
			return v, err
		}
		v.sure.without(changing)
		v.maybe.or(changing)
	}
	return v, nil
}

// judge asks every value that the messages have; none is the answer for those without one.
func (x *texts) judge(r *reading, none bool, passes func(value []byte) bool) verdict {
	n := r.meta.Messages
	v := verdict{newSet(n), newSet(n)}
	if x == nil {
		if none {
			v = verdict{fullSet(n), fullSet(n)}
		}
		return v
	}
	by := make([]bool, int(codesKept)+len(x.values))
	by[codeNone] = none
	for i, value := range x.values {
		by[int(codesKept)+i] = passes(value)
	}
	for i := range n {
		switch code := x.code(i); {
		case code == codeLong || int(code) >= len(by):
			v.maybe.add(i)
		case by[code]:
			v.sure.add(i)
			v.maybe.add(i)
		}
	}
	return v
}

// ofException asks for normal forms of exceptions, of patterns by their beginnings.
type ofException struct {
	column       string
	alternatives []filter.Alternative
}

func (c *ofException) judge(r *reading, _ []placeRecord) (verdict, error) {
	x, err := r.textsOf(c.column)
	if err != nil {
		return verdict{}, err
	}
	sure := true
	v := x.judge(r, false, func(value []byte) bool {
		for _, a := range c.alternatives {
			switch {
			case a.Op == filter.Is && a.Text == string(value):
				return true
			case a.Op == filter.Like && strings.HasPrefix(string(value), a.Text), a.Op == filter.Other:
				sure = false
				return true
			}
		}
		return false
	})
	if !sure {
		v.sure = newSet(r.meta.Messages)
	}
	return v, nil
}

// ofPlace asks where a message is.
type ofPlace struct {
	filter *filter.Filter
	state  bool // it asks for the state, of which only being lost is known
}

func (c *ofPlace) judge(r *reading, places []placeRecord) (verdict, error) {
	n := r.meta.Messages
	v := verdict{newSet(n), newSet(n)}
	at, err := r.column(numbersPlace)
	if err != nil {
		return v, err
	}
	sure, maybe := make([]bool, len(places)), make([]bool, len(places))
	for i, p := range places {
		m := filter.Message{Queue: p.Queue}
		switch {
		case c.state && p.Lost:
			m.State = "lost"
			sure[i] = c.filter.Match(&m)
			maybe[i] = sure[i]
		case c.state:
			for _, state := range []string{"ready", "unacked", "waiting", "held"} {
				m.State = state
				maybe[i] = maybe[i] || c.filter.Match(&m)
			}
		default:
			sure[i] = c.filter.Match(&m)
			maybe[i] = sure[i]
		}
	}
	for i := range n {
		p := at.at(i)
		if p < 0 || p >= int64(len(places)) {
			continue
		}
		if sure[p] {
			v.sure.add(i)
		}
		if maybe[p] {
			v.maybe.add(i)
		}
	}
	return v, nil
}

// ofRange asks for numbers within bounds.
type ofRange struct {
	column       number
	alternatives []filter.Alternative
}

func rangeOf(t *filter.Term, column number) condition {
	for _, a := range t.Alternatives {
		if a.Op != filter.Within {
			return nil
		}
	}
	return &ofRange{column, t.Alternatives}
}

func (c *ofRange) judge(r *reading, _ []placeRecord) (verdict, error) {
	found := newSet(r.meta.Messages)
	x, err := r.column(c.column)
	if err != nil {
		return verdict{}, err
	}
	for i := range r.meta.Messages {
		k := x.at(i)
		if k == 0 && c.column == numbersAt {
			continue
		}
		for _, a := range c.alternatives {
			if k >= a.Min && k <= a.Max {
				found.add(i)
				break
			}
		}
	}
	return verdict{found, found.clone()}, nil
}

// ofHeader asks for a header: its column, if the segment has one; else words.
type ofHeader struct {
	name   string
	filter *filter.Filter
	words  *ofWords
}

func (c *ofHeader) judge(r *reading, places []placeRecord) (verdict, error) {
	x, err := r.textsOf(headerPrefix + c.name)
	if err != nil {
		return verdict{}, err
	}
	switch {
	case x != nil && (len(x.values) <= headerValuesMax || c.words == nil):
		none := filter.Message{}
		return x.judge(r, c.filter.Match(&none), func(value []byte) bool {
			m := mini(headerPrefix+c.name, value)
			return c.filter.Match(&m)
		}), nil
	case x == nil && !r.meta.OtherHeaders && !strings.Contains(c.name, "."):
		none := filter.Message{} // no message has it
		return (*texts)(nil).judge(r, c.filter.Match(&none), nil), nil
	case c.words == nil:
		return unknown{}.judge(r, places)
	}
	return c.words.judge(r, places)
}
