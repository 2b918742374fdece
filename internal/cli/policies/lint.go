package policies

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
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
func lint(c *command.Call) error {
	failOn, fails := c.Options.Get("fail-on")
	least := c.Options.Or("severity", "note")
	for _, s := range []string{least, c.Options.Or("fail-on", "error")} {
		if !slices.Contains(severities, s) {
			return c.Invalid(fmt.Sprintf("severity '%s' not recognised; should be error, warning or note", s))
		}
	}
	segments, where := []string{"x", "lint"}, "all virtual hosts"
	if v, ok := c.Options.Get("vhost"); ok {
		segments, where = append(segments, v), "vhost '"+v+"'"
	}
	c.Banner("Checking for settings that lose, delay or circulate messages in %s ...", where)
	query := url.Values{"limit": {"100000"}}
	if !fails || slices.Index(severities, least) >= slices.Index(severities, failOn) {
		query.Set("severity", least)
	}
	var found api.Lint
	_, err := c.Client.Do(c.Ctx, http.MethodGet, api.Path(segments...)+"?"+query.Encode(), nil, &found)
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return err
	}
	if err := showLint(c, &found, least); err != nil {
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
		return &command.Failure{Code: exitFound, Text: fmt.Sprintf("Error:\nfindings of severity %s or worse: %d", failOn, bad)}
	}
	return nil
}

func showLint(c *command.Call, found *api.Lint, least string) error {
	found.Findings = slices.DeleteFunc(found.Findings, func(f api.Finding) bool {
		return slices.Index(severities, f.Severity) > slices.Index(severities, least)
	})
	switch c.Formatter() {
	case "json", "json_stream":
		return c.ShowJSON(found)
	}
	var rows [][]output.Cell
	for _, f := range found.Findings {
		rows = append(rows, []output.Cell{output.StringCell(f.Severity), output.StringCell(f.Code), output.StringCell(f.VHost), output.StringCell(f.Kind), output.StringCell(f.Name), output.StringCell(f.Text)})
	}
	if err := c.Table([]string{"severity", "code", "vhost", "kind", "name", "text"}, rows); err != nil || c.Machine() || c.Options.On("silent") {
		return err
	}
	fmt.Fprintf(c.Stdout, "errors: %d, warnings: %d, notes: %d\n", found.Errors, found.Warnings, found.Notes)
	return nil
}
