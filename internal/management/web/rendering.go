package web

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A Rendering makes the JSON of a list, item by item: one encoder for all of it would copy and check the text once
// more for each level of nesting.
type Rendering[V, T any] struct {
	Items   []V
	Show    func(*V) *T
	Request *Request // whose turn it is made in, and whose memory the text takes
	texts   [][]byte // of the items, once they are sorted
}

// sort puts the items into the order of one field.
func (x *Rendering[V, T]) sort(path []string, reverse bool) error {
	type keyed struct {
		text []byte
		rank Rank
	}
	text, ends, err := x.encode(nil)
	if err != nil {
		return err
	}
	all, from := make([]keyed, len(ends)), 0
	for i, end := range ends {
		item := text[from:end]
		all[i], from = keyed{item, RankOf(FieldOf(item, path))}, end+1
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		if reverse {
			a, b = b, a
		}
		return a.rank.Compare(b.rank)
	})
	x.texts = make([][]byte, len(all))
	for i := range all {
		x.texts[i] = all[i].text
	}
	return nil
}

// keep forgets all items but a stretch of them.
func (x *Rendering[V, T]) keep(first, last int) {
	x.Items = x.Items[first:last]
	if x.texts != nil {
		x.texts = x.texts[first:last]
	}
}

// list appends the list to b, with the columns that are wanted, nil being all.
func (x *Rendering[V, T]) list(b []byte, columns [][]string) ([]byte, error) {
	b = append(b, '[')
	if x.texts == nil && columns == nil {
		text, ends, err := x.encode(b)
		if err != nil || len(ends) == 0 {
			return append(b, ']'), err
		}
		for _, end := range ends {
			text[end] = ','
		}
		text[ends[len(ends)-1]] = ']'
		return text, nil
	}
	if x.texts == nil {
		text, ends, err := x.encode(nil)
		if err != nil {
			return nil, err
		}
		from := 0
		for _, end := range ends {
			b = append(appendFields(b, text[from:end], columns), ',')
			from = end + 1
		}
	}
	for _, text := range x.texts {
		if columns == nil {
			b = append(append(b, text...), ',')
		} else {
			b = append(appendFields(b, text, columns), ',')
		}
	}
	return append(bytes.TrimSuffix(b, []byte(",")), ']'), nil
}

// encode appends all items to b, each with a line break behind it, and says where those are.
func (x *Rendering[V, T]) encode(b []byte) (text []byte, ends []int, err error) {
	buffer := bytes.NewBuffer(b)
	e := json.NewEncoder(buffer)
	e.SetEscapeHTML(false)
	ends = make([]int, len(x.Items))
	counted := LargeAnswer
	for i := range x.Items {
		if err := x.Request.Work(); err != nil {
			return nil, nil, err
		}
		if err := e.Encode(x.Show(&x.Items[i])); err != nil {
			return nil, nil, err
		}
		ends[i] = buffer.Len() - 1
		if i == 0 {
			buffer.Grow(min(ends[0]+64, itemBytes) * len(x.Items)) // they are alike
		}
		if n := buffer.Cap(); n > counted {
			if err := x.Request.TakeAnswer(int64(n)); err != nil {
				return nil, nil, err
			}
			counted = n
		}
	}
	return buffer.Bytes(), ends, nil
}
