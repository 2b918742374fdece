package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// linesType is what an import is.
const linesType = "application/x-ndjson"

// resendLetter publishes a message anew.
func resendLetter(c *call) error {
	queue, rest, err := c.place()
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return c.tooFew()
	}
	post := api.PostResend{Keep: api.Flag(c.words.on("keep")), DryRun: api.Flag(c.words.on("dry-run"))}
	if exchange, ok := c.words.get("exchange"); ok {
		post.Exchange = &exchange
	}
	if key, ok := c.words.get("routing-key"); ok {
		post.RoutingKey = &key
	}
	if file, ok := c.words.get("payload"); ok {
		payload, err := c.readFile(file)
		if err != nil {
			return err
		}
		text := string(payload)
		if !utf8.Valid(payload) {
			text, post.PayloadEncoding = base64.StdEncoding.EncodeToString(payload), "base64"
		}
		post.Payload = &text
	}
	if file, ok := c.words.get("properties"); ok {
		text, err := c.readFile(file)
		if err != nil {
			return err
		}
		post.Properties = &api.Arguments{}
		if err := api.Decode(text, post.Properties); err != nil {
			return failf(exitData, "the properties are not a JSON object: %v", err)
		}
	}
	c.banner("Resending message %s of %s in vhost '%s' ...", rest[0], c.placeName(queue), c.vhost())
	var answer api.Resent
	path := append(c.messagesAt(queue), rest[0], "resend")
	if err := c.client.Post(c.ctx, post, &answer, path...); err != nil {
		if status(err) == http.StatusNotFound && !strings.HasSuffix(reasonOf(err), "_not_found") {
			return failf(exitData, "Message %s does not exist there", rest[0])
		}
		return c.noOffice(err)
	}
	if post.DryRun {
		told := "The message would not be sent: " + answer.Outcome
		if len(answer.Queues) > 0 {
			told = "The message would go to " + strings.Join(answer.Queues, ", ")
		}
		return c.done(told, textCell(answer.Outcome))
	}
	if len(answer.Queues) > 0 {
		return c.done("The message went to "+strings.Join(answer.Queues, ", "), nil)
	}
	return c.done("", nil)
}

// readFile reads a file, or standard input.
func (c *call) readFile(name string) (contents []byte, err error) {
	if name == "-" {
		contents, err = io.ReadAll(c.stdin)
	} else {
		contents, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, failf(exitData, "cannot read the file: %v", err)
	}
	return contents, nil
}

// exportDLQ writes letters to a file, which is there under its name only if it is complete, or to standard output.
func exportDLQ(c *call) error {
	query := url.Values{}
	queue, ofQueue := c.words.get("queue")
	switch {
	case ofQueue && c.words.on("lost"):
		return c.invalid("give either --queue or --lost, not both.")
	case ofQueue:
		query.Set("queue", queue)
	case c.words.on("lost"):
		query.Set("lost", "true")
	}
	if where, ok := c.words.get("where"); ok {
		query.Set("filter", where)
	}
	if c.words.on("newest") {
		query.Set("order", "newest")
	}
	path := api.Path("x", "letters", c.vhost(), "export") + "?" + query.Encode()
	if c.args[0] == "-" {
		_, err := c.export(c.stdout, path)
		return c.noMessages(err, queue)
	}
	c.banner("Exporting dead letters of vhost '%s' to %s ...", c.vhost(), c.args[0])
	partial := c.args[0] + ".part"
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return failf(exitData, "cannot write the dead letters: %v", err)
	}
	n, err := c.export(f, path)
	if closed := f.Close(); err == nil && closed != nil {
		err = failf(exitData, "cannot write the dead letters: %v", closed)
	}
	if err == nil {
		if renamed := os.Rename(partial, c.args[0]); renamed != nil {
			err = failf(exitData, "cannot write the dead letters: %v", renamed)
		}
	}
	if err != nil {
		_ = os.Remove(partial) // what is left over is told by err
		return c.noMessages(err, queue)
	}
	return c.done(n+" dead letters were exported", cell(n))
}

// export tells how many letters were written.
func (c *call) export(w io.Writer, path string) (n string, err error) {
	trailer, err := c.client.Download(c.ctx, w, path)
	if err != nil {
		return "", err
	}
	if n = trailer.Get(api.ExportTrailer); n == "" {
		return "", failf(exitData, "the export is incomplete: the broker aborted it")
	}
	return n, nil
}

// importDLQ publishes the letters of a file.
func importDLQ(c *call) error {
	query := url.Values{}
	for _, name := range []string{"queue", "exchange", "routing-key"} {
		if value, ok := c.words.get(name); ok {
			query.Set(strings.ReplaceAll(name, "-", "_"), value)
		}
	}
	for _, name := range []string{"once", "origin"} {
		if c.words.on(name) {
			query.Set(name, "true")
		}
	}
	from := c.stdin
	if name := c.args[0]; name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return failf(exitData, "cannot read the file: %v", err)
		}
		defer f.Close()
		from = f
	}
	c.banner("Importing messages to vhost '%s' ...", c.vhost())
	var n api.Imported
	if err := c.client.Upload(c.ctx, from, linesType, &n, api.Path("x", "letters", c.vhost(), "import")+"?"+query.Encode()); err != nil {
		return c.noOffice(err)
	}
	if err := c.showImported(&n); err != nil {
		return err
	}
	if lost := n.Failed + n.Unrouted + n.Refused; lost > 0 {
		return failf(exitData, "Not imported: %d", lost)
	}
	return nil
}

func (c *call) showImported(n *api.Imported) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showJSON(n)
	}
	var rows [][]cell
	for _, x := range []struct {
		what string
		n    int64
	}{{"imported", n.Imported}, {"skipped", n.Skipped}, {"unrouted", n.Unrouted}, {"refused", n.Refused}, {"failed", n.Failed}} {
		if x.n > 0 || x.what == "imported" {
			rows = append(rows, []cell{textCell(x.what), cell(fmt.Sprint(x.n))})
		}
	}
	for _, w := range n.Wrong {
		fmt.Fprintf(c.stderr, "line %d: %s\n", w.Line, w.Reason)
	}
	return c.table([]string{"what", "letters"}, rows)
}
