package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func countScheduledHelp() string {
	return `With --by messages are counted by due time: day means 1d. The first interval contains the present or, with --from, starts
then; days are in UTC. Messages due before the first or after the last interval are counted in lines of their own, without
a start or an end.

Columns: ` + countColumns + `; with --by ` + dueColumns
}

const countColumns, dueColumns = "exchange messages bytes next_due next_due_ms orphan", "from until from_ms until_ms messages bytes"

func countScheduled(c *call) error {
	if _, byTime := c.words.get("by"); byTime {
		return c.countDue()
	}
	for _, name := range []string{"from", "until", "exchange"} {
		if _, given := c.words.get(name); given {
			return c.invalid(fmt.Sprintf("--%s requires --by.", name))
		}
	}
	columns, err := c.choose(same(countColumns), "exchange messages bytes next_due orphan")
	if err != nil {
		return err
	}
	c.banner("Counting scheduled messages of vhost %s ...", c.vhost())
	var all struct{ Exchanges []row }
	err = c.client.Get(c.ctx, &all, "x", "scheduled", c.vhost())
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return err
	}
	return c.show(columns, all.Exchanges)
}

// spans are names of lengths of time.
var spans = map[string]string{"minute": "1m", "hour": "1h", "day": "1d", "week": "1w"}

// countDue counts what waits by when it is due.
func (c *call) countDue() error {
	columns, err := c.choose(same(dueColumns), "from until messages bytes")
	if err != nil {
		return err
	}
	by := c.words.or("by", "")
	if span, named := spans[by]; named {
		by = span
	}
	if _, err := api.ParseSpan(by); err != nil {
		return c.invalid(err.Error() + ", or minute, hour, day, week")
	}
	query := url.Values{"bucket": {by}}
	if err := c.stretch(query); err != nil {
		return err
	}
	path := []string{"x", "scheduled", c.vhost()}
	exchange, one := c.words.get("exchange")
	if one {
		c.args = []string{exchange}
		path = append(path, exchange)
		c.banner("Counting messages scheduled in exchange '%s' of vhost '%s' by due time ...", exchange, c.vhost())
	} else {
		c.banner("Counting scheduled messages of vhost %s by due time ...", c.vhost())
	}
	all, err := c.allDue(query, path...)
	switch {
	case err != nil && one:
		return c.noSchedule(err)
	case status(err) == http.StatusNotFound:
		return c.noVHost(c.vhost())
	case status(err) == http.StatusBadRequest:
		return failf(exitData, "%s", reasonOf(err))
	case err != nil:
		return err
	}
	rows, err := rowsOf(all)
	if err != nil {
		return err
	}
	return c.show(columns, rows)
}

// allDue asks for counts until they are whole, and adds them up.
func (c *call) allDue(query url.Values, path ...string) (*api.DueCounts, error) {
	var all *api.DueCounts
	for {
		var some api.DueCounts
		if _, err := c.client.Do(c.ctx, http.MethodGet, api.Path(path...)+"?"+query.Encode(), nil, &some); err != nil {
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
func rowsOf(all *api.DueCounts) ([]row, error) {
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
	var rows []row
	return rows, json.Unmarshal(text, &rows)
}
