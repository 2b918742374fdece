package vhost

import (
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

func TestOptionValues(t *testing.T) {
	// If this fails, an option is in force but not shown, or shown with another value than it has.
	t.Parallel()
	v := New("/", 1, nil, newPages())
	var names []string
	for _, o := range v.OptionValues() {
		names = append(names, o.Name)
	}
	if !slices.Equal(names, OptionNames()) {
		t.Errorf("shown %v, known %v", names, OptionNames())
	}
	for _, dialect := range []string{"rabbitmq-4", "rabbitmq-3", "apsaramq"} {
		v.configured(amqp.Table{{Name: "dialect", Value: amqp.String(dialect)}, {Name: "hops-max", Value: amqp.Int64(7)}})
		shown, want := optionsOf(v.OptionValues()), v.options
		if shown != want {
			t.Errorf("%s: shown %+v, in force %+v", dialect, shown, want)
		}
	}
}

func TestLostIDs(t *testing.T) {
	// If this fails, a list of lost letters leaves some out, shows some twice, or holds up the vhost for all of them.
	t.Parallel()
	v := New("/", 1, nil, newPages())
	causes := []Cause{LostRoute, LostCycle, LostRoute, LostRoute, LostCycle}
	for _, c := range causes {
		v.shelf.messages.Push(v.shelf.messages.Next(0), queue.Entry{Priority: uint8(c)})
	}
	v.shelf.messages.Remove(2)
	for _, c := range []struct {
		after, last uint64
		cause       Cause
		most, scan  int
		ids         []uint64
		next        uint64
	}{
		{0, 9, 0, 9, 9, []uint64{1, 2, 4, 5}, 0},
		{0, 9, 0, 2, 9, []uint64{1, 2}, 3},
		{3, 9, 0, 2, 9, []uint64{4, 5}, 0},
		{1, 4, 0, 9, 9, []uint64{2, 4}, 0},
		{0, 9, LostCycle, 9, 9, []uint64{2, 5}, 0},
		{0, 9, LostCycle, 9, 1, nil, 1},
		{1, 9, LostCycle, 9, 1, []uint64{2}, 3},
		{5, 9, 0, 9, 9, nil, 0},
		{^uint64(0), ^uint64(0), 0, 9, 9, nil, 0},
	} {
		ids, next := v.LostIDs(c.after, c.last, c.cause, c.most, c.scan)
		if !slices.Equal(ids, c.ids) || next != c.next {
			t.Errorf("%+v: %v, next %d", c, ids, next)
		}
	}
	if n := v.NewestLostLetter(); n != 5 {
		t.Errorf("newest %d", n)
	}
}
