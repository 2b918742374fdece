package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// coverage is what duels have seen: what never happens proves nothing.
type coverage struct {
	done    map[oracle.Kind]int // commands that were not refused
	refused map[oracle.Kind]int // those that were
	facts   map[FactKind]int
	ended   map[Cause]int
}

func newCoverage() *coverage {
	return &coverage{done: map[oracle.Kind]int{}, refused: map[oracle.Kind]int{}, facts: map[FactKind]int{}, ended: map[Cause]int{}}
}

func (c *coverage) note(m *oracle.Command, refused bool, facts []Fact) {
	if refused {
		c.refused[m.Kind]++
	} else {
		c.done[m.Kind]++
	}
	for i := range facts {
		c.facts[facts[i].Kind]++
		if facts[i].Kind == Ended {
			c.ended[facts[i].Cause]++
		}
	}
}

func (c *coverage) add(o *coverage) {
	for k, n := range o.refused {
		c.refused[k] += n
	}
	for k, n := range o.done {
		c.done[k] += n
	}
	for k, n := range o.facts {
		c.facts[k] += n
	}
	for k, n := range o.ended {
		c.ended[k] += n
	}
}

func (c *coverage) String() string {
	total := 0
	for _, n := range c.done {
		total += n
	}
	s := fmt.Sprintf("%d commands, refused %v; copies made %d, returned %d, resumed %d, held %d, kept %d", total, c.refused,
		c.facts[Enqueued], c.facts[Returned], c.facts[Resumed], c.facts[Held], c.facts[Kept])
	for k := Acked; k < causes; k++ {
		s += fmt.Sprintf(", %s %d", k, c.ended[k])
	}
	return s
}

// check makes sure that the duels have seen everything that they can.
func (c *coverage) check(t *testing.T) {
	t.Helper()
	for k := range machineKinds {
		if c.done[k] == 0 {
			t.Errorf("no duel has made %q succeed", k)
		}
	}
	for _, k := range []FactKind{Enqueued, Handed, Returned, Ended, Resumed, Held, Kept, QueueDeleted, PolicyCleared, Configured} {
		if c.facts[k] == 0 {
			t.Errorf("no duel has seen the fact %d", k)
		}
	}
	for _, k := range []Cause{Acked, Moved, GoneRejected, GoneExpired, GoneMaxLen, GonePurged, GoneShelf, Redriven} {
		if c.ended[k] == 0 {
			t.Errorf("no duel has seen a copy end as %q", k)
		}
	}
}
