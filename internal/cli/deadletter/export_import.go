package deadletter

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// linesType is what an import is.
const linesType = "application/x-ndjson"

// exportDLQ writes dead letters to a file, which is there under its name only if it is complete, or to standard output.
func exportDLQ(c *command.Call) error {
	query := url.Values{}
	queue, ofQueue := c.Options.Get("queue")
	switch {
	case ofQueue && c.Options.On("lost"):
		return c.Invalid("give either --queue or --lost, not both.")
	case ofQueue:
		query.Set("queue", queue)
	case c.Options.On("lost"):
		query.Set("lost", "true")
	}
	if where, ok := c.Options.Get("where"); ok {
		query.Set("filter", where)
	}
	if c.Options.On("newest") {
		query.Set("order", "newest")
	}
	path := api.Path("x", "letters", c.VHost(), "export") + "?" + query.Encode()
	if c.Args[0] == "-" {
		_, err := writeExport(c, c.Data, path)
		return noMessages(c, err, queue)
	}
	c.Banner("Exporting dead letters of vhost '%s' to %s ...", c.VHost(), c.Args[0])
	partial := c.Args[0] + ".part"
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return command.Failf(command.ExitData, "cannot write the dead letters: %v", err)
	}
	n, err := writeExport(c, f, path)
	if closed := f.Close(); err == nil && closed != nil {
		err = command.Failf(command.ExitData, "cannot write the dead letters: %v", closed)
	}
	if err == nil {
		if renamed := os.Rename(partial, c.Args[0]); renamed != nil {
			err = command.Failf(command.ExitData, "cannot write the dead letters: %v", renamed)
		}
	}
	if err != nil {
		_ = os.Remove(partial) // what is left over is told by err
		return noMessages(c, err, queue)
	}
	return c.Done(n+" dead letters were exported", output.Cell(n))
}

// writeExport tells how many messages were written.
func writeExport(c *command.Call, w io.Writer, path string) (n string, err error) {
	trailer, err := c.Client.Download(c.Ctx, w, path)
	if err != nil {
		return "", err
	}
	if n = trailer.Get(api.ExportTrailer); n == "" {
		return "", command.Failf(command.ExitData, "the export is incomplete: the broker aborted it")
	}
	return n, nil
}

// importDLQ publishes the messages of a file.
func importDLQ(c *command.Call) error {
	query := url.Values{}
	for _, name := range []string{"queue", "exchange", "routing-key"} {
		if value, ok := c.Options.Get(name); ok {
			query.Set(strings.ReplaceAll(name, "-", "_"), value)
		}
	}
	for _, name := range []string{"once", "origin"} {
		if c.Options.On(name) {
			query.Set(name, "true")
		}
	}
	from := c.Stdin
	if name := c.Args[0]; name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return command.Failf(command.ExitData, "cannot read the file: %v", err)
		}
		defer f.Close()
		from = f
	}
	c.Banner("Importing messages to vhost '%s' ...", c.VHost())
	var n api.Imported
	if err := c.Client.Upload(c.Ctx, from, linesType, &n, api.Path("x", "letters", c.VHost(), "import")+"?"+query.Encode()); err != nil {
		return notFound(c, err)
	}
	if err := showImported(c, &n); err != nil {
		return err
	}
	if lost := n.Failed + n.Unrouted + n.Refused; lost > 0 {
		return command.Failf(command.ExitData, "Not imported: %d", lost)
	}
	return nil
}

func showImported(c *command.Call, n *api.Imported) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowJSON(n)
	}
	var rows [][]output.Cell
	for _, x := range []struct {
		what string
		n    int64
	}{{"imported", n.Imported}, {"skipped", n.Skipped}, {"unrouted", n.Unrouted}, {"refused", n.Refused}, {"failed", n.Failed}} {
		if x.n > 0 || x.what == "imported" {
			rows = append(rows, []output.Cell{output.StringCell(x.what), output.Cell(fmt.Sprint(x.n))})
		}
	}
	for _, w := range n.Wrong {
		fmt.Fprintf(c.Stderr, "line %d: %s\n", w.Line, w.Reason)
	}
	return c.Table([]string{"what", "letters"}, rows)
}
