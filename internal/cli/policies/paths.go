package policies

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func explainPathHelp() string {
	return `Events are reject, expire, overflow, delivery_limit, consumer_timeout, crash and target_missing. Each step ends with the guarantee for
the message: kept (where it was), moved (atomically), held (in its queue, until its targets accept it), lost letter (shelf
in tables and JSON), lost, refused (its publisher gets a basic.nack). With --formatter json the output is one object.`
}

// explainPath tells where a message of a queue goes, whatever happens to it.
func explainPath(c *command.Call) error {
	queue := c.Args[0]
	event, only := c.Options.Get("event")
	c.Banner("Following a message of queue '%s' in vhost '%s' ...", queue, c.VHost())
	var p api.Paths
	err := c.Client.Get(c.Ctx, &p, "x", "paths", c.VHost(), queue)
	if command.Status(err) == http.StatusNotFound {
		return c.NoQueue(queue, "Queue '%s' was not found in virtual host '%s'", command.ExitData)
	}
	if err != nil {
		return err
	}
	if only {
		known := []string{}
		for _, path := range p.Paths {
			known = append(known, path.Event)
		}
		if !slices.Contains(known, event) {
			return c.Invalid(fmt.Sprintf("event '%s' not recognised; should be one of %s", event, strings.Join(known, ", ")))
		}
		p.Paths = slices.DeleteFunc(p.Paths, func(e api.EventPath) bool { return e.Event != event })
	}
	switch c.Formatter() {
	case "json", "json_stream":
		return c.ShowJSON(p)
	case "csv", "erlang", "pretty_table":
		return tablePaths(c, &p)
	}
	for _, path := range p.Paths {
		tellPath(c, &path)
	}
	for _, f := range p.Findings {
		fmt.Fprintf(c.Stderr, "%s: %s\n", strings.ToUpper(f.Severity[:1])+f.Severity[1:], f.Text)
	}
	return nil
}

// tablePaths shows a row for each step.
func tablePaths(c *command.Call, p *api.Paths) error {
	var rows [][]output.Cell
	for _, path := range p.Paths {
		for _, s := range path.Steps {
			number, err := json.Marshal([]int{s.Number, s.After})
			if err != nil {
				return err
			}
			rows = append(rows, []output.Cell{output.StringCell(path.Event), command.AsJSON(number), output.StringCell(s.Code), output.StringCell(s.Guarantee), output.StringCell(s.Queue), output.StringCell(s.Text)})
		}
	}
	return c.Table([]string{"event", "step", "code", "guarantee", "queue", "text"}, rows)
}

// tellPath tells an event, and each step below that which it follows.
func tellPath(c *command.Call, p *api.EventPath) {
	mark := ""
	if !p.Happens {
		mark = " (does not happen)"
	}
	fmt.Fprintf(c.Stdout, "%s%s: %s\n", p.Event, mark, p.When)
	depth := map[int]int{}
	for _, s := range p.Steps {
		depth[s.Number] = depth[s.After] + 1
		var marks []string
		for _, m := range []struct {
			on   bool
			word string
		}{{!s.Sure, "perhaps"}, {s.Loop, "loop"}, {s.DeadEnd, "dead end"}, {len(s.Full) > 0, "full: " + strings.Join(s.Full, ", ")}} {
			if m.on {
				marks = append(marks, m.word)
			}
		}
		guarantee := s.Guarantee
		if guarantee == "shelf" {
			guarantee = "lost letter"
		}
		line := s.Text + " [" + strings.Join(append([]string{guarantee}, marks...), "; ") + "]"
		fmt.Fprintf(c.Stdout, "%s%s\n", strings.Repeat("   ", depth[s.Number]), line)
	}
}
