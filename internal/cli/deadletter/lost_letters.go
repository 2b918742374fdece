package deadletter

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func listLostLetters(c *command.Call) error {
	columns, err := c.Choose(command.Same(lostColumns),
		"id cause at queue reason exchange routing_keys died_at")
	if err != nil {
		return err
	}
	c.Banner("Listing lost letters of vhost %s ...", c.VHost())
	query := url.Values{}
	if cause, ok := c.Options.Get("cause"); ok {
		query.Set("cause", cause)
	}
	rows, err := c.Page(query, "lost letters", "x", "lost-letters", c.VHost())
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}

// noLostLetter says what of a lost letter's address does not exist.
func noLostLetter(c *command.Call, id string) error {
	if command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	return command.Failf(command.ExitData, "Lost letter %s does not exist in virtual host '%s'", id, c.VHost())
}

// showLostLetter shows one lost letter, its payload last.
func showLostLetter(c *command.Call) error {
	id := c.Args[0]
	var raw json.RawMessage
	err := c.Client.Get(c.Ctx, &raw, "x", "lost-letters", c.VHost(), id)
	if command.Status(err) == http.StatusNotFound {
		return noLostLetter(c, id)
	}
	if err != nil {
		return err
	}
	return c.ShowMessage(raw, "id cause at died_at queue reason target exchange routing_keys size persistent deaths properties payload_bytes payload_encoding")
}

// messageIDs reads the arguments.
func messageIDs(c *command.Call) ([]api.Integer, error) {
	var ids []api.Integer
	for _, word := range c.Args {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, c.Invalid(fmt.Sprintf("'%s' is not a message id", word))
		}
		ids = append(ids, api.Integer(id))
	}
	return ids, nil
}

func republishLostLetters(c *command.Call) error {
	ids, err := messageIDs(c)
	if err != nil {
		return err
	}
	cause, ofCause := c.Options.Get("cause")
	exchange, elsewhere := c.Options.Get("exchange")
	key, keyed := c.Options.Get("routing-key")
	switch all := c.Options.On("all"); {
	case all == (len(ids) > 0):
		return c.Invalid("give ids of lost letters, or --all.")
	case ofCause && !all:
		return c.Invalid("--cause requires --all.")
	case keyed && !elsewhere:
		return c.Invalid("--routing-key requires --exchange.")
	}
	post := api.PostRepublish{All: api.Flag(c.Options.On("all")), Cause: cause}
	if len(ids) > 0 {
		post.IDs = &ids
	}
	if elsewhere {
		post.Exchange = &exchange
	}
	if keyed {
		post.RoutingKey = &key
	}
	c.Banner("Republishing lost letters of vhost %s ...", c.VHost())
	var result api.Outcomes
	if err := c.Client.Post(c.Ctx, post, &result, "x", "lost-letters", c.VHost(), "republish"); err != nil {
		if command.Status(err) == http.StatusNotFound && !elsewhere {
			return c.NoVHost(c.VHost())
		}
		return err
	}
	if err := showOutcomes(c, &result); err != nil {
		return err
	}
	stay := 0
	for outcome, n := range result.Outcomes {
		if outcome != "redriven" {
			stay += n
		}
	}
	if stay > 0 {
		return command.Failf(command.ExitData, "Not republished: %d", stay)
	}
	return nil
}

// showOutcomes lists what became of each lost letter, or counts it, if there were too many for a list.
func showOutcomes(c *command.Call, o *api.Outcomes) error {
	var cells [][]output.Cell
	if o.LostLetters != nil {
		for _, l := range o.LostLetters {
			cells = append(cells, []output.Cell{output.Cell(strconv.FormatUint(l.ID, 10)), output.StringCell(l.Outcome)})
		}
		return c.Table([]string{"id", "outcome"}, cells)
	}
	for _, outcome := range slices.Sorted(maps.Keys(o.Outcomes)) {
		cells = append(cells, []output.Cell{output.StringCell(outcome), output.Cell(strconv.Itoa(o.Outcomes[outcome]))})
	}
	return c.Table([]string{"outcome", "letters"}, cells)
}

func purgeLostLetters(c *command.Call) error {
	cause, ofCause := c.Options.Get("cause")
	ids, err := messageIDs(c)
	if err != nil {
		return err
	}
	if ofCause && len(ids) > 0 {
		return c.Invalid("give either ids of lost letters or --cause.")
	}
	c.Banner("Deleting lost letters of vhost %s ...", c.VHost())
	if len(ids) > 0 {
		for _, id := range c.Args {
			switch err := c.Client.Delete(c.Ctx, "x", "lost-letters", c.VHost(), id); {
			case command.Status(err) == http.StatusNotFound:
				return noLostLetter(c, id)
			case err != nil:
				return err
			}
		}
		return c.Done("", nil)
	}
	path := api.Path("x", "lost-letters", c.VHost())
	if ofCause {
		path += "?" + url.Values{"cause": {cause}}.Encode()
	}
	var result api.Outcomes
	_, err = c.Client.Do(c.Ctx, http.MethodDelete, path, nil, &result)
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return err
	}
	n := strconv.Itoa(result.Outcomes["discarded"])
	return c.Done(n+" lost letters were deleted", output.Cell(n))
}
