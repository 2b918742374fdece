package deadletter

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// patience is how long a command may take that reads all dead letters, unless --timeout says otherwise.
const patience = 24 * time.Hour

func listDLQs(c *command.Call) error {
	known, usual := command.Same(dlqForPrograms), dlqForPeople
	known = append(known, command.Column{Name: "oldest", Path: "oldest_seconds", As: ageOf})
	if c.Machine() {
		usual = dlqForPrograms
	}
	columns, err := c.Choose(known, usual)
	if err != nil {
		return err
	}
	c.Banner("Listing queues of vhost %s that receive or have dead letters ...", c.VHost())
	var sum struct{ Queues []command.Row }
	err = c.Client.Get(c.Ctx, &sum, "x", "letters", c.VHost(), "summary")
	if err != nil {
		return notFound(c, err)
	}
	return c.Show(columns, sum.Queues)
}

// ageOf shows a number of seconds as a duration: whole seconds, of less than a minute with ms.
func ageOf(seconds output.Cell) output.Cell {
	n, err := strconv.ParseFloat(string(seconds), 64)
	if err != nil {
		return seconds // there is none
	}
	ms := int64(math.Round(n * 1000))
	if ms >= time.Minute.Milliseconds() {
		ms -= ms % 1000
	}
	return output.StringCell(command.FormatDuration(ms))
}

// markDLQ marks a queue as a dead-letter queue, or as none.
func markDLQ(c *command.Call) error {
	if c.Options.On("not") {
		c.Banner("Marking queue '%s' in vhost '%s' as no dead-letter queue ...", c.Args[0], c.VHost())
		return setMark(c, "false")
	}
	c.Banner("Marking queue '%s' in vhost '%s' as a dead-letter queue ...", c.Args[0], c.VHost())
	return setMark(c, "true")
}

func unmarkDLQ(c *command.Call) error {
	c.Banner("Removing the mark of queue '%s' in vhost '%s' ...", c.Args[0], c.VHost())
	return setMark(c, "null")
}

// setMark changes the option that names queues. The queue has to be there, unless its mark is removed.
func setMark(c *command.Call, mark string) error {
	queue := c.Args[0]
	if mark != "null" {
		if err := needQueue(c, queue); err != nil {
			return err
		}
	}
	marks := command.Row{"dead-letter-queues": output.Cell(fmt.Sprintf("{%s:%s}", output.StringCell(queue), mark))}
	if _, err := c.Client.Put(c.Ctx, marks, "x", "options", c.VHost()); err != nil {
		return notFound(c, err)
	}
	return c.Done("", nil)
}

// needQueue fails if a queue does not exist.
func needQueue(c *command.Call, queue string) error {
	_, err := messagesIn(c, queue)
	return err
}

// messagesIn is how many messages a queue holds.
func messagesIn(c *command.Call, queue string) (int64, error) {
	var q struct{ Messages int64 }
	err := c.Client.Get(c.Ctx, &q, "queues", c.VHost(), queue)
	if command.Status(err) == http.StatusNotFound {
		return 0, noMessages(c, err, queue)
	}
	return q.Messages, err
}

// listDeaths lists the queues in which most died, and last what died elsewhere, if anything did.
func listDeaths(c *command.Call) error {
	columns, err := c.Choose(deathsBy(), deathColumns)
	if err != nil {
		return err
	}
	of := c.Options.Or("range", "1h")
	c.Banner("Listing queues of vhost %s in which messages died, within %s ...", c.VHost(), of)
	var sum struct {
		Recent struct {
			Sources      []command.Row
			Others       uint64
			Since        time.Time
			CountedSince time.Time `json:"counted_since"`
			Gaps         []api.Gap
		}
	}
	path := api.Path("x", "letters", c.VHost(), "summary") + "?" + url.Values{"range": {of}}.Encode()
	if _, err := c.Client.Do(c.Ctx, http.MethodGet, path, nil, &sum); err != nil {
		return notFound(c, err)
	}
	r := &sum.Recent
	if r.Others > 0 {
		fmt.Fprintf(c.Stderr, "%d more died in other or deleted queues\n", r.Others)
	}
	utc := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	if r.CountedSince.After(r.Since) {
		fmt.Fprintf(c.Stderr, "counted since %s: there are no readings from before\n", utc(r.CountedSince))
	}
	for _, g := range r.Gaps {
		from, to := utc(time.UnixMilli(g.From)), utc(time.UnixMilli(g.To))
		fmt.Fprintf(c.Stderr, "no readings from %s to %s: the broker was down, or was killed\n", from, to)
	}
	return c.Show(columns, r.Sources)
}

// deathsBy are deathColumns; reasons are within died.
func deathsBy() []command.Column {
	known := command.Same(deathColumns)
	for i := range known[2:] {
		known[2+i].Path = "died." + known[2+i].Name
	}
	return known
}

// notFound says what of an address does not exist, if that is why the broker refused, or why else.
func notFound(c *command.Call, err error) error {
	switch command.Status(err) {
	case http.StatusNotFound:
		kind, missing := strings.CutSuffix(command.ReasonOf(err), "_not_found")
		if !missing || kind == "vhost" {
			return c.NoVHost(c.VHost())
		}
		to := c.Options.Or("to", "")
		name := strings.TrimPrefix(to, kind+":")
		given, ok := c.Options.Get(kind)
		switch {
		case kind == "exchange" && strings.Contains(to, "/"):
			return command.Failf(command.ExitData, "exchange not found. If '%s' is its name, write --exchange '%[1]s'", name)
		case ok:
			name = given
		case name == to:
			return command.Failf(command.ExitData, "%s not found", strings.ReplaceAll(kind, "_", " "))
		}
		return command.Failf(command.ExitData, "no %s '%s' in vhost '%s'; '%s list_%ss' lists those that exist",
			kind, name, c.VHost(), c.Program, kind)
	case http.StatusBadRequest, http.StatusConflict:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	}
	return err
}
