package bartlebytest_test

import (
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/bartlebytest"
)

// If this fails, time moves without Advance, or two brokers of a test share it.
func TestClockStandsStill(t *testing.T) {
	t.Parallel()
	a, b := bartlebytest.Start(t), bartlebytest.Start(t)
	was, other := a.Now(), b.Now()
	connect(t, a).queue("q", nil)
	if !a.Now().Equal(was) {
		t.Errorf("%v have passed", a.Now().Sub(was))
	}
	a.Advance(30 * day)
	if passed := a.Now().Sub(was); passed != 30*day {
		t.Errorf("%v have passed, want 30 days", passed)
	}
	if !b.Now().Equal(other) {
		t.Errorf("the other clock has moved by %v", b.Now().Sub(other))
	}
	a.Advance(0)
	if passed := a.Now().Sub(was); passed != 30*day || was.Truncate(time.Millisecond) != was {
		t.Errorf("%v have passed since %v", passed, was)
	}
}
