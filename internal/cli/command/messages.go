package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// Page asks for a list of messages, portion by portion, up to the number that --limit names.
func (c *Call) Page(query url.Values, what string, segments ...string) ([]Row, error) {
	const portion = 500
	most := int(^uint(0) >> 1)
	if given, ok := c.Options.Get("limit"); ok {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 {
			return nil, c.Invalid(fmt.Sprintf("the limit '%s' is not a number of %s", given, what))
		}
		most = n
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
		fmt.Fprintln(c.Stdout, strings.TrimSpace(name+": "+output.Text(shown[name])))
	}
	var payload string
	if err := json.Unmarshal(shown["payload"], &payload); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "\n%s\n", payload)
	return nil
}
