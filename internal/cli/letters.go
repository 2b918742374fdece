package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// portions asks for a list of letters or messages, portion by portion, up to the number that --limit names.
func (c *call) portions(query url.Values, what string, segments ...string) ([]row, error) {
	const portion = 500
	most := int(^uint(0) >> 1)
	if given, ok := c.words.get("limit"); ok {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 {
			return nil, c.invalid(fmt.Sprintf("the limit '%s' is not a number of %s", given, what))
		}
		most = n
	}
	var all []row
	for {
		query.Set("limit", strconv.Itoa(min(portion, most-len(all))))
		var page struct {
			Items []row
			Next  cell
		}
		_, err := c.client.Do(c.ctx, http.MethodGet, api.Path(segments...)+"?"+query.Encode(), nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if next := text(page.Next); next != "" && len(all) < most {
			query.Set("after", next)
			continue
		}
		return all, nil
	}
}

// showLetters shows letters in columns.
func (c *call) showLetters(rows []row, columns []column) error {
	for i := range columns {
		if columns[i].name == "routing_keys" || columns[i].name == "took" {
			columns[i].as = c.forPeople(asAtoms)
		}
	}
	return c.show(columns, rows)
}

func listLostLetters(c *call) error {
	columns, err := c.choose(same("id cause at queue reason target exchange routing_keys size persistent deaths"),
		"id cause at queue reason exchange routing_keys")
	if err != nil {
		return err
	}
	c.banner("Listing lost letters of vhost %s ...", c.vhost())
	query := url.Values{}
	if cause, ok := c.words.get("cause"); ok {
		query.Set("cause", cause)
	}
	rows, err := c.portions(query, "letters", "x", "lost-letters", c.vhost())
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return err
	}
	return c.showLetters(rows, columns)
}

func listHeldLetters(c *call) error {
	queue := c.args[0]
	columns, err := c.pick(c.args[1:], same("id cause reason since took exchange routing_keys size deaths"), "id cause reason since took")
	if err != nil {
		return err
	}
	c.banner("Listing dead letters that queue '%s' in vhost '%s' holds ...", queue, c.vhost())
	rows, err := c.portions(url.Values{}, "letters", "x", "held", c.vhost(), queue)
	if status(err) == http.StatusNotFound {
		return c.noQueue(queue, "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", exitData)
	}
	if err != nil {
		return err
	}
	return c.showLetters(rows, columns)
}

// noLetter says what of a lost letter's address does not exist.
func (c *call) noLetter(id string) error {
	if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	return failf(exitData, "Lost letter %s does not exist in virtual host '%s'", id, c.vhost())
}

// showLostLetter shows one letter, its payload last.
func showLostLetter(c *call) error {
	id := c.args[0]
	var raw json.RawMessage
	err := c.client.Get(c.ctx, &raw, "x", "lost-letters", c.vhost(), id)
	if status(err) == http.StatusNotFound {
		return c.noLetter(id)
	}
	if err != nil {
		return err
	}
	return c.showWhole(raw, "id cause at queue reason target exchange routing_keys size persistent deaths properties payload_bytes payload_encoding")
}

// showWhole shows one letter or message: these values, and its payload last.
func (c *call) showWhole(raw json.RawMessage, names string) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showRaw(raw)
	}
	var shown row
	if err := json.Unmarshal(raw, &shown); err != nil {
		return err
	}
	for _, name := range strings.Fields(names) {
		fmt.Fprintln(c.stdout, strings.TrimSpace(name+": "+text(shown[name])))
	}
	var payload string
	if err := json.Unmarshal(shown["payload"], &payload); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "\n%s\n", payload)
	return nil
}

// letterIDs reads the arguments.
func (c *call) letterIDs() ([]api.Integer, error) {
	var ids []api.Integer
	for _, word := range c.args {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, c.invalid(fmt.Sprintf("'%s' is not a message id", word))
		}
		ids = append(ids, api.Integer(id))
	}
	return ids, nil
}

func republishLostLetters(c *call) error {
	ids, err := c.letterIDs()
	if err != nil {
		return err
	}
	cause, ofCause := c.words.get("cause")
	exchange, elsewhere := c.words.get("exchange")
	key, keyed := c.words.get("routing-key")
	switch all := c.words.on("all"); {
	case all == (len(ids) > 0):
		return c.invalid("give ids of lost letters, or --all.")
	case ofCause && !all:
		return c.invalid("--cause requires --all.")
	case keyed && !elsewhere:
		return c.invalid("--routing-key requires --exchange.")
	}
	post := api.PostRepublish{All: api.Flag(c.words.on("all")), Cause: cause}
	if len(ids) > 0 {
		post.IDs = &ids
	}
	if elsewhere {
		post.Exchange = &exchange
	}
	if keyed {
		post.RoutingKey = &key
	}
	c.banner("Republishing lost letters of vhost %s ...", c.vhost())
	var result api.Outcomes
	if err := c.client.Post(c.ctx, post, &result, "x", "lost-letters", c.vhost(), "republish"); err != nil {
		if status(err) == http.StatusNotFound && !elsewhere {
			return c.noVHost(c.vhost())
		}
		return err
	}
	if err := c.showOutcomes(&result); err != nil {
		return err
	}
	stay := 0
	for outcome, n := range result.Outcomes {
		if outcome != "redriven" {
			stay += n
		}
	}
	if stay > 0 {
		return failf(exitData, "Not republished: %d", stay)
	}
	return nil
}

// showOutcomes lists what became of each letter, or counts it, if there were too many for a list.
func (c *call) showOutcomes(o *api.Outcomes) error {
	var cells [][]cell
	if o.Letters != nil {
		for _, l := range o.Letters {
			cells = append(cells, []cell{cell(strconv.FormatUint(l.ID, 10)), textCell(l.Outcome)})
		}
		return c.table([]string{"id", "outcome"}, cells)
	}
	for _, outcome := range slices.Sorted(maps.Keys(o.Outcomes)) {
		cells = append(cells, []cell{textCell(outcome), cell(strconv.Itoa(o.Outcomes[outcome]))})
	}
	return c.table([]string{"outcome", "letters"}, cells)
}

func purgeLostLetters(c *call) error {
	cause, ofCause := c.words.get("cause")
	ids, err := c.letterIDs()
	if err != nil {
		return err
	}
	if ofCause && len(ids) > 0 {
		return c.invalid("give either ids of lost letters or --cause.")
	}
	c.banner("Deleting lost letters of vhost %s ...", c.vhost())
	if len(ids) > 0 {
		for _, id := range c.args {
			switch err := c.client.Delete(c.ctx, "x", "lost-letters", c.vhost(), id); {
			case status(err) == http.StatusNotFound:
				return c.noLetter(id)
			case err != nil:
				return err
			}
		}
		return c.done("", nil)
	}
	path := api.Path("x", "lost-letters", c.vhost())
	if ofCause {
		path += "?" + url.Values{"cause": {cause}}.Encode()
	}
	var result api.Outcomes
	_, err = c.client.Do(c.ctx, http.MethodDelete, path, nil, &result)
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return err
	}
	n := strconv.Itoa(result.Outcomes["discarded"])
	return c.done(n+" lost letters were deleted", cell(n))
}
