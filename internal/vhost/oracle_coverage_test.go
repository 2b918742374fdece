package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// coverage is what duels have seen: what never happens proves nothing.
type coverage struct {
	done    map[oracle.Kind]int // commands that were not refused
	refused map[oracle.Kind]int // those that were
	facts   map[fact.Kind]int
	ended   map[fact.Cause]int
}

func newCoverage() *coverage {
	return &coverage{done: map[oracle.Kind]int{}, refused: map[oracle.Kind]int{}, facts: map[fact.Kind]int{}, ended: map[fact.Cause]int{}}
}

func (c *coverage) note(m *oracle.Command, refused bool, facts []fact.Fact) {
	if refused {
		c.refused[m.Kind]++
	} else {
		c.done[m.Kind]++
	}
	for i := range facts {
		c.facts[facts[i].Kind]++
		if facts[i].Kind == fact.Ended {
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
		c.facts[fact.Enqueued], c.facts[fact.Returned], c.facts[fact.Resumed], c.facts[fact.Held], c.facts[fact.Kept])
	for k := fact.Acked; k < fact.Causes; k++ {
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
	for _, k := range []fact.Kind{fact.Enqueued, fact.Handed, fact.Returned, fact.Ended, fact.Resumed, fact.Held, fact.Kept, fact.QueueDeleted, fact.PolicyCleared, fact.Configured} {
		if c.facts[k] == 0 {
			t.Errorf("no duel has seen the fact %d", k)
		}
	}
	for _, k := range []fact.Cause{fact.Acked, fact.Moved, fact.GoneRejected, fact.GoneExpired, fact.GoneMaxLen, fact.GonePurged, fact.GoneEvicted, fact.Redriven} {
		if c.ended[k] == 0 {
			t.Errorf("no duel has seen a copy end as %q", k)
		}
	}
}
