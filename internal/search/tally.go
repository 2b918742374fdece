package search

import (
	"cmp"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/filter"
)

// A tally counts messages in groups, each at its time.
type tally struct {
	by    filter.Grouping
	all   map[string]*counted
	total int64
	none  int64 // messages in no group, which have no such value
	full  bool  // there are more groups than are counted
}

// counted is a group in the making. Its times are in as many stretches as are kept of it: when a message
// comes that is out of their reach, two become one.
type counted struct {
	count, lost int64 // lost of them are lost letters
	first, last int64
	base, width int64 // of the stretches, ms
	parts       [2 * SparkParts]int64
	sample      Ref
}

func newTally(by filter.Grouping) *tally { return &tally{by: by, all: map[string]*counted{}} }

// count counts a message with what it has in common with others, if it has that.
func (t *tally) count(value string, ok bool, at int64, r Ref) {
	if !ok {
		t.none++
		return
	}
	t.add(value, at, r)
}

func (t *tally) add(value string, at int64, r Ref) {
	c := t.all[value]
	if c == nil {
		if len(t.all) >= groupsKnown {
			t.full = true
			return
		}
		c = &counted{width: 1}
		t.all[value] = c
	}
	t.total++
	c.add(at, r)
}

func (c *counted) add(at int64, r Ref) {
	c.count++
	if r.Lost {
		c.lost++
	}
	if at == 0 {
		if c.sample.ID == 0 {
			c.sample = r
		}
		return
	}
	if c.first == 0 {
		c.first, c.base = at, at
	}
	c.first = min(c.first, at)
	if at >= c.last {
		c.last, c.sample = at, r
	}
	for at < c.base || at >= c.base+int64(len(c.parts))*c.width {
		c.widen(at < c.base)
	}
	c.parts[(at-c.base)/c.width]++
}

// widen makes one stretch of two, and space before the first or behind the last.
func (c *counted) widen(before bool) {
	const half = len(c.parts) / 2
	var parts [2 * SparkParts]int64
	shift := 0
	if before {
		shift = half
		c.base -= int64(len(c.parts)) * c.width
	}
	for i, n := range c.parts {
		parts[shift+i/2] += n
	}
	c.parts, c.width = parts, 2*c.width
}

// spark spreads the stretches over those of an answer.
func (c *counted) spark() (parts [SparkParts]int64) {
	span := max(c.last-c.first+1, 1)
	for i, n := range c.parts {
		if n > 0 {
			at := min(max(c.base+int64(i)*c.width+c.width/2, c.first), c.last)
			parts[min((at-c.first)*SparkParts/span, SparkParts-1)] += n
		}
	}
	return parts
}

// groups are the largest, at most most of them.
func (t *tally) groups(most int) Groups {
	g := Groups{Total: t.total, Without: t.none, Answer: Answer{Partial: t.full}, Groups: make([]Group, 0, min(len(t.all), most))}
	values := make([]string, 0, len(t.all))
	for value := range t.all {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.all[b].count, t.all[a].count), cmp.Compare(t.all[b].last, t.all[a].last), cmp.Compare(a, b))
	})
	for _, value := range values[:min(most, len(values))] {
		c := t.all[value]
		g.Groups = append(g.Groups, Group{
			Value: value, Filter: t.by.FilterFor(value), Count: c.count, Lost: c.lost,
			First: c.first, Last: c.last, Spark: c.spark(), Sample: c.sample,
		})
	}
	g.Others = int64(len(values) - len(g.Groups))
	return g
}
