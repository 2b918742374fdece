package command

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// Limit reads the option --limit, a number of what; usual is its value if it is not given.
func (c *Call) Limit(usual int, what string) (int, error) {
	given, ok := c.Options.Get("limit")
	if !ok {
		return usual, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 {
		return 0, c.Invalid(fmt.Sprintf("the limit '%s' is not a number of %s", given, what))
	}
	return n, nil
}

// ReadFile reads a file, or standard input if its name is "-".
func (c *Call) ReadFile(name string) (contents []byte, err error) {
	if name == "-" {
		contents, err = io.ReadAll(c.Stdin)
	} else {
		contents, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, Failf(ExitData, "cannot read the file: %v", err)
	}
	return contents, nil
}

// ReadProperties reads the properties of a message: a JSON object, or a file with one.
func (c *Call) ReadProperties(given string) (properties api.Arguments, err error) {
	text := []byte(given)
	if !strings.HasPrefix(given, "{") {
		if text, err = c.ReadFile(given); err != nil {
			return nil, err
		}
	}
	properties = api.Arguments{}
	if err := api.Decode(text, &properties); err != nil {
		return nil, Failf(ExitData, "the properties are not a JSON object: %v%s", err, c.RepairHint(string(text)))
	}
	return properties, nil
}

// Page asks for a list of messages, portion by portion, up to the number that --limit names.
func (c *Call) Page(query url.Values, what string, segments ...string) ([]Row, error) {
	const portion = 500
	most, err := c.Limit(math.MaxInt, what)
	if err != nil {
		return nil, err
	}
	var all []Row
	for {
		query.Set("limit", strconv.Itoa(min(portion, most-len(all))))
		var page struct {
			Items []Row
			Next  output.Cell
		}
		_, err := c.Client.Do(c.Ctx, http.MethodGet, api.Path(segments...)+"?"+query.Encode(), nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if next := output.Text(page.Next); next != "" && len(all) < most {
			query.Set("after", next)
			continue
		}
		return all, nil
	}
}

// ShowMessage shows one message: these values, and its payload last.
func (c *Call) ShowMessage(raw json.RawMessage, names string) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowRaw(raw)
	}
	var shown Row
	if err := json.Unmarshal(raw, &shown); err != nil {
		return err
	}
	for _, name := range strings.Fields(names) {
		c.Line(name, shown[name])
	}
	var payload string
	if err := json.Unmarshal(shown["payload"], &payload); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "\n%s\n", payload)
	return nil
}
