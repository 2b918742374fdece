package schedule

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/duration"
)

func countScheduledHelp() string {
	return `With --by messages are counted by due time: day means 1d. The first interval contains the present or, with --from, starts
then; days are in UTC. Messages due before the first or after the last interval are counted in lines of their own, without
a start or an end.

Columns: ` + countColumns + `; with --by ` + dueColumns
}

const countColumns, dueColumns = "exchange messages bytes next_due next_due_ms orphan", "from until from_ms until_ms messages bytes"

func countScheduled(c *command.Call) error {
	if _, byTime := c.Options.Get("by"); byTime {
		return countDue(c)
	}
	for _, name := range []string{"from", "until", "exchange"} {
		if _, given := c.Options.Get(name); given {
			return c.Invalid(fmt.Sprintf("--%s requires --by.", name))
		}
	}
	columns, err := c.Choose(command.Same(countColumns), "exchange messages bytes next_due orphan")
	if err != nil {
		return err
	}
	c.Banner("Counting scheduled messages of vhost %s ...", c.VHost())
	var all struct{ Exchanges []command.Row }
	err = c.Client.Get(c.Ctx, &all, "x", "scheduled", c.VHost())
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return err
	}
	return c.Show(columns, all.Exchanges)
}

// spans are names of lengths of time.
var spans = map[string]string{"minute": "1m", "hour": "1h", "day": "1d", "week": "1w"}

// countDue counts what waits by when it is due.
func countDue(c *command.Call) error {
	columns, err := c.Choose(command.Same(dueColumns), "from until messages bytes")
	if err != nil {
		return err
	}
	by := c.Options.Or("by", "")
	if span, named := spans[by]; named {
		by = span
	}
	if _, err := duration.Milliseconds(by); err != nil {
		return c.Invalid(err.Error() + "; or minute, hour, day, week")
	}
	query := url.Values{"bucket": {by}}
	if err := readRange(c, query); err != nil {
		return err
	}
	path := []string{"x", "scheduled", c.VHost()}
	exchange, one := c.Options.Get("exchange")
	if one {
		c.Args = []string{exchange}
		path = append(path, exchange)
		c.Banner("Counting messages scheduled in exchange '%s' of vhost '%s' by due time ...", exchange, c.VHost())
	} else {
		c.Banner("Counting scheduled messages of vhost %s by due time ...", c.VHost())
	}
	all, err := allDue(c, query, path...)
	switch {
	case err != nil && one:
		return noSchedule(c, err)
	case command.Status(err) == http.StatusNotFound:
		return c.NoVHost(c.VHost())
	case command.Status(err) == http.StatusBadRequest:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	case err != nil:
		return err
	}
	rows, err := rowsOf(all)
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}

// allDue asks for counts until they are whole, and adds them up.
func allDue(c *command.Call, query url.Values, path ...string) (*api.DueCounts, error) {
	var all *api.DueCounts
	for {
		var some api.DueCounts
		if _, err := c.Client.Do(c.Ctx, http.MethodGet, api.Path(path...)+"?"+query.Encode(), nil, &some); err != nil {
			return nil, err
		}
		if all == nil {
			all = &some
		} else {
			all.Add(&some)
		}
		if some.Next == nil {
			return all, nil
		}
		query.Set("after", *some.Next)
		query.Set("from", fmt.Sprint(some.FromMS)) // the same, however late it is meanwhile
		query.Set("until", fmt.Sprint(some.UntilMS))
	}
}

// rowsOf lists the stretches, and what is beside them.
func rowsOf(all *api.DueCounts) ([]command.Row, error) {
	type stretch struct {
		From     string `json:"from,omitempty"`
		Until    string `json:"until,omitempty"`
		FromMS   int64  `json:"from_ms,omitempty"`
		UntilMS  int64  `json:"until_ms,omitempty"`
		Messages int64  `json:"messages"`
		Bytes    *int64 `json:"bytes,omitempty"`
	}
	var lines []stretch
	if all.Before > 0 {
		lines = append(lines, stretch{Until: all.From, UntilMS: all.FromMS, Messages: all.Before})
	}
	for _, b := range all.Buckets {
		until := min(b.FromMS+all.BucketMS, all.UntilMS)
		lines = append(lines, stretch{From: b.From, FromMS: b.FromMS, Until: api.ShowInstant(until), UntilMS: until, Messages: b.Messages, Bytes: &b.Bytes})
	}
	if all.After > 0 {
		lines = append(lines, stretch{From: all.Until, FromMS: all.UntilMS, Messages: all.After})
	}
	text, err := json.Marshal(lines)
	if err != nil {
		return nil, err
	}
	var rows []command.Row
	return rows, json.Unmarshal(text, &rows)
}
