package stats

import (
	"testing"
	"time"
)

func TestLintIsCountedSeldom(t *testing.T) {
	// If this fails, scrapes of a virtual host with many queues take the broker's time, or show what was wrong long
	// ago.
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		age, took time.Duration
		changed   bool
		stands    bool
	}{
		{time.Millisecond, time.Millisecond, false, true}, {time.Millisecond, time.Millisecond, true, false},
		{time.Second, time.Second, true, true}, {99 * time.Second, time.Second, false, true}, {101 * time.Second, time.Second, true, false},
		{2 * time.Minute, time.Millisecond, false, false},
	} {
		l := linted{ruled: [2]uint64{1, 1}, at: now.Add(-c.age), took: c.took}
		ruled := l.ruled
		if c.changed {
			ruled[1]++
		}
		if got := l.stands(ruled, now); got != c.stands {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if (&linted{}).stands([2]uint64{}, now) {
		t.Error("nothing was counted")
	}
}
