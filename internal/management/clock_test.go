package management

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// wrongClock is a clock whose wall clock a test sets; else it stands still.
type wrongClock struct{ wall atomic.Int64 }

func (c *wrongClock) Read() (wall, mono int64) { return c.wall.Load(), 0 }

func (c *wrongClock) Running() bool { return true }

func TestClockBehind(t *testing.T) {
	// If this fails, nobody sees that the clock is wrong, or it blocks publishers or fails health checks, or cannot be
	// resynced.
	t.Parallel()
	clock := &wrongClock{}
	clock.wall.Store(time.Unix(1_700_000_000, 0).UnixNano())
	d := openWith(t, clock)
	metric := func(want ...string) {
		t.Helper()
		text := d.want(200, "GET", "/metrics", "").Body.String()
		for _, line := range want {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("no line %s", line)
			}
		}
	}
	const inStep = `{"now":1700000000000,"wall":1700000000000,"behind_ms":0,"alarm":false,"test_clock":false,"vhosts":[{"name":"/","now":1700000000000,"behind_ms":0,"resyncing":false}]}`
	if got := d.want(200, "GET", "/api/x/clock", "").Body.String(); got != inStep {
		t.Error(got)
	}
	metric("bartleby_clock_behind_seconds 0", "bartleby_clock_alarm 0")

	clock.wall.Add(-int64(90 * time.Minute))
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`) // the virtual host looks at its clock
	d.publish("amq.default", "q", "not held back")
	const behind = `{"now":1700000000000,"wall":1699994600000,"behind_ms":5400000,"alarm":true,"test_clock":false,"vhosts":[{"name":"/","now":1700000000000,"behind_ms":5400000,"resyncing":RE}]}`
	if got := d.want(200, "GET", "/api/x/clock", "").Body.String(); got != strings.Replace(behind, "RE", "false", 1) {
		t.Error(got)
	}
	metric("bartleby_clock_behind_seconds 5400", "bartleby_clock_alarm 1")
	if n := read[[]api.Node](d, "/api/nodes")[0]; !n.ClockAlarm || n.ClockBehindMS != 5_400_000 {
		t.Errorf("%+v", n)
	}
	d.want(200, "GET", "/api/health/checks/alarms", "")
	d.refused(400, "bad_request", "started with a test clock", "POST", "/api/x/clock/advance", `{"ms":1}`)

	if got := d.want(200, "POST", "/api/x/clock/resync", "").Body.String(); got != strings.Replace(behind, "RE", "true", 1) {
		t.Error(got)
	}
	clock.wall.Add(int64(90 * time.Minute))
	d.publish("amq.default", "q", "again")
	if got := d.want(200, "GET", "/api/x/clock", "").Body.String(); got != inStep {
		t.Error(got)
	}
}
