package node

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

const clockUsage = "[resync | advance <duration>]"

// clockPatience is how long a clock may take that is advanced past much that is due.
const clockPatience = 10 * time.Minute

func clockHelp() string {
	return `Shows the time of the virtual hosts and of the machine.

resync              runs virtual hosts that are ahead of the machine at half speed until it catches up
advance <duration>  moves a test clock, such as by 90s, 15m, 12h or 30d, and fires everything due by then`
}

// clock shows what the clocks of the node are at, or changes it.
func clock(c *command.Call) error {
	var path []string
	var body any
	switch {
	case len(c.Args) == 0:
		c.Banner("Clocks of node %s ...", c.Node)
	case c.Args[0] == "resync" && len(c.Args) == 1:
		c.Banner("Resynchronising the virtual hosts of node %s with its clock ...", c.Node)
		path = []string{"resync"}
	case c.Args[0] == "advance" && len(c.Args) == 2:
		d, err := command.ParseTime("", c.Args[1])
		if err != nil {
			return err
		}
		c.Banner("Advancing the test clock of node %s by %s ...", c.Node, d)
		path, body = []string{"advance"}, api.ClockAdvance{MS: d.Milliseconds()}
	case c.Args[0] == "advance":
		return c.TooFew()
	default:
		return c.Invalid("the argument must be resync or advance.")
	}
	method := http.MethodGet
	if path != nil {
		method = http.MethodPost
	}
	var raw json.RawMessage
	if _, err := c.Client.Do(c.Ctx, method, api.Path(append([]string{"x", "clock"}, path...)...), body, &raw); err != nil {
		if command.Status(err) == http.StatusBadRequest {
			return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
		}
		return err
	}
	return showClock(c, raw)
}

func showClock(c *command.Call, raw json.RawMessage) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowRaw(raw)
	}
	var clocks api.Clock
	if err := json.Unmarshal(raw, &clocks); err != nil {
		return err
	}
	machine := "wall clock"
	if clocks.TestClock {
		machine = "test clock"
	}
	rows := [][]output.Cell{{output.StringCell(machine), output.StringCell(command.FormatTime(clocks.Wall)), output.StringCell("")}}
	for _, v := range clocks.VHosts {
		state := "synchronised"
		if v.BehindMS > 0 {
			state = "the clock is " + command.FormatDuration(v.BehindMS) + " behind"
		}
		if v.Resyncing {
			state += ", synchronised in " + command.FormatDuration(2*v.BehindMS)
		}
		rows = append(rows, []output.Cell{output.StringCell("vhost " + v.Name), output.StringCell(command.FormatTime(v.Now)), output.StringCell(state)})
	}
	return c.Table([]string{"clock", "time", "state"}, rows)
}
