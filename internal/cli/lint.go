package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// exitFound is what lint exits with if there is something as bad as --fail-on says.
const exitFound = 1

func lintHelp() string {
	return `Without --vhost, all virtual hosts are checked. An 'error' loses messages now or later; a 'warning' may lose them; a 'note' is
information. docs/lint.md explains each code. With --fail-on error (or warning, or note) the exit code is 1 if there is a
finding of at least this severity, to stop a pipeline. With --formatter json the output is one object.`
}

// severities are how bad findings are, the worst first.
var severities = []string{"error", "warning", "note"}

// lint lists what will lose, delay or circulate messages.
func lint(c *call) error {
	failOn, fails := c.words.get("fail-on")
	least := c.words.or("severity", "note")
	for _, s := range []string{least, c.words.or("fail-on", "error")} {
		if !slices.Contains(severities, s) {
			return c.invalid(fmt.Sprintf("severity '%s' not recognised; should be error, warning or note", s))
		}
	}
	segments, where := []string{"x", "lint"}, "all virtual hosts"
	if v, ok := c.words.get("vhost"); ok {
		segments, where = append(segments, v), "vhost '"+v+"'"
	}
	c.banner("Checking for settings that lose, delay or circulate messages in %s ...", where)
	query := url.Values{"limit": {"100000"}}
	if !fails || slices.Index(severities, least) >= slices.Index(severities, failOn) {
		query.Set("severity", least)
	}
	var found api.Lint
	_, err := c.client.Do(c.ctx, http.MethodGet, api.Path(segments...)+"?"+query.Encode(), nil, &found)
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return err
	}
	if err := c.showLint(&found, least); err != nil {
		return err
	}
	counts := []int{found.Errors, found.Warnings, found.Notes}
	bad := 0
	for i := range counts {
		if fails && i <= slices.Index(severities, failOn) {
			bad += counts[i]
		}
	}
	if bad > 0 {
		return &failure{exitFound, fmt.Sprintf("Error:\nfindings of severity %s or worse: %d", failOn, bad)}
	}
	return nil
}

func (c *call) showLint(found *api.Lint, least string) error {
	found.Findings = slices.DeleteFunc(found.Findings, func(f api.Finding) bool {
		return slices.Index(severities, f.Severity) > slices.Index(severities, least)
	})
	switch c.formatter() {
	case "json", "json_stream":
		return c.showJSON(found)
	}
	var rows [][]cell
	for _, f := range found.Findings {
		rows = append(rows, []cell{textCell(f.Severity), textCell(f.Code), textCell(f.VHost), textCell(f.Kind), textCell(f.Name), textCell(f.Text)})
	}
	if err := c.table([]string{"severity", "code", "vhost", "kind", "name", "text"}, rows); err != nil || c.machine() || c.words.on("silent") {
		return err
	}
	fmt.Fprintf(c.stdout, "errors: %d, warnings: %d, notes: %d\n", found.Errors, found.Warnings, found.Notes)
	return nil
}

func explainPathHelp() string {
	return `Events are reject, expire, overflow, delivery_limit, consumer_timeout, crash and target_missing. Each step ends with the guarantee for
the message: kept (where it was), moved (atomically), held (in its queue, until its targets accept it), shelf (kept as a lost letter),
lost, refused (its publisher is told). With --formatter json the output is one object.`
}

// explainPath tells where a message of a queue goes, whatever happens to it.
func explainPath(c *call) error {
	queue := c.args[0]
	event, only := c.words.get("event")
	c.banner("Following a message of queue '%s' in vhost '%s' ...", queue, c.vhost())
	var p api.Paths
	err := c.client.Get(c.ctx, &p, "x", "paths", c.vhost(), queue)
	if status(err) == http.StatusNotFound {
		return c.noQueue(queue, "Queue '%s' was not found in virtual host '%s'", exitData)
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
			return c.invalid(fmt.Sprintf("event '%s' not recognised; should be one of %s", event, strings.Join(known, ", ")))
		}
		p.Paths = slices.DeleteFunc(p.Paths, func(e api.EventPath) bool { return e.Event != event })
	}
	switch c.formatter() {
	case "json", "json_stream":
		return c.showJSON(p)
	case "csv", "erlang", "pretty_table":
		return c.tablePaths(&p)
	}
	for _, path := range p.Paths {
		c.tellPath(&path)
	}
	for _, f := range p.Findings {
		fmt.Fprintf(c.stderr, "%s: %s\n", strings.ToUpper(f.Severity[:1])+f.Severity[1:], f.Text)
	}
	return nil
}

// tablePaths shows a row for each step.
func (c *call) tablePaths(p *api.Paths) error {
	var rows [][]cell
	for _, path := range p.Paths {
		for _, s := range path.Steps {
			number, err := json.Marshal([]int{s.Number, s.After})
			if err != nil {
				return err
			}
			rows = append(rows, []cell{textCell(path.Event), asJSON(number), textCell(s.Code), textCell(s.Guarantee), textCell(s.Queue), textCell(s.Text)})
		}
	}
	return c.table([]string{"event", "step", "code", "guarantee", "queue", "text"}, rows)
}

// tellPath tells an event, and each step below that which it follows.
func (c *call) tellPath(p *api.EventPath) {
	mark := ""
	if !p.Happens {
		mark = " (does not happen)"
	}
	fmt.Fprintf(c.stdout, "%s%s: %s\n", p.Event, mark, p.When)
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
		line := s.Text + " [" + strings.Join(append([]string{s.Guarantee}, marks...), "; ") + "]"
		fmt.Fprintf(c.stdout, "%s%s\n", strings.Repeat("   ", depth[s.Number]), line)
	}
}
