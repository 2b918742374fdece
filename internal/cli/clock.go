package cli

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

const clockUsage = "[resync | advance <time>]"

// clockPatience is how long a clock may take that is advanced past much that is due.
const clockPatience = 10 * time.Minute

func clockHelp() string {
	return `Shows the time of the virtual hosts and of the machine.

resync         runs virtual hosts that are ahead of the machine at half speed until it catches up
advance <time> moves a test clock and fires everything due by then: milliseconds, or 90s, 15m, 12h, 30d`
}

// clock shows what the clocks of the node are at, or changes it.
func clock(c *call) error {
	var path []string
	var body any
	switch {
	case len(c.args) == 0:
		c.banner("Clocks of node %s ...", c.node)
	case c.args[0] == "resync" && len(c.args) == 1:
		c.banner("Resynchronising the virtual hosts of node %s with its clock ...", c.node)
		path = []string{"resync"}
	case c.args[0] == "advance" && len(c.args) == 2:
		d, err := readTime(c.args[1])
		if err != nil {
			return err
		}
		c.banner("Advancing the test clock of node %s by %s ...", c.node, d)
		path, body = []string{"advance"}, api.ClockAdvance{MS: d.Milliseconds()}
	case c.args[0] == "advance":
		return c.tooFew()
	default:
		return c.invalid("the argument must be resync or advance.")
	}
	method := http.MethodGet
	if path != nil {
		method = http.MethodPost
	}
	var raw json.RawMessage
	if _, err := c.client.Do(c.ctx, method, api.Path(append([]string{"x", "clock"}, path...)...), body, &raw); err != nil {
		if status(err) == http.StatusBadRequest {
			return failf(exitData, "%s", reasonOf(err))
		}
		return err
	}
	return c.showClock(raw)
}

func (c *call) showClock(raw json.RawMessage) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showRaw(raw)
	}
	var clocks api.Clock
	if err := json.Unmarshal(raw, &clocks); err != nil {
		return err
	}
	machine := "wall clock"
	if clocks.TestClock {
		machine = "test clock"
	}
	rows := [][]cell{{textCell(machine), textCell(instant(clocks.Wall)), textCell("")}}
	for _, v := range clocks.VHosts {
		state := "in step"
		if v.BehindMS > 0 {
			state = "the clock is " + milliseconds(v.BehindMS) + " behind"
		}
		if v.Resyncing {
			state += ", in step in " + milliseconds(2*v.BehindMS)
		}
		rows = append(rows, []cell{textCell("vhost " + v.Name), textCell(instant(v.Now)), textCell(state)})
	}
	return c.table([]string{"clock", "time", "state"}, rows)
}

// instant shows ms since the Unix epoch.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func milliseconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// readTime reads a number of milliseconds, or one with a unit.
func readTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if n, bad := strconv.ParseInt(s, 10, 32+8); bad == nil {
		d, err = time.Duration(n)*time.Millisecond, nil
	} else if days, found := strings.CutSuffix(s, "d"); found {
		if n, bad := strconv.ParseInt(days, 10, 16); bad == nil {
			d, err = time.Duration(n)*24*time.Hour, nil
		}
	}
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, failf(exitData, "'%s' is not a time such as 500, 90s, 15m, 12h or 30d", s)
	}
	return d, nil
}
