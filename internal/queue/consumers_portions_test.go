package queue

import (
	"fmt"
	"testing"
)

func TestConsumersAreReadInPortions(t *testing.T) {
	// If this fails, a list of consumers that is read in portions misses some, or has some twice.
	t.Parallel()
	var cs Consumers
	add := func(tag string, priority int64) *Consumer {
		c := &Consumer{Tag: tag, Priority: priority}
		cs.Add(c)
		return c
	}
	var all []*Consumer
	for i := range 10 {
		all = append(all, add(fmt.Sprint("c", i), int64(i%3)))
	}
	var seen []string
	var m ConsumerMark
	for portion, more := 0, true; more; portion++ {
		var some []*Consumer
		some, m, more = cs.After(m, 3)
		for _, c := range some {
			seen = append(seen, c.Tag)
		}
		if portion == 0 { // order: c2 c5 c8, c1 c4 c7, c0 c3 c6 c9
			cs.Remove(all[8]) // where the next portion begins
			cs.Remove(all[1])
			add("before", 5)
			add("behind", 1)
		}
	}
	if got, want := fmt.Sprint(seen), "[c2 c5 c8 c4 c7 behind c0 c3 c6 c9]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
