package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// officePatience is how long a command of the office may take, unless --timeout says otherwise: letters are many.
const officePatience = 24 * time.Hour

const (
	dlqColumns     = "name messages bytes consumers arrivals oldest_seconds"
	deathColumns   = "queue total rejected expired maxlen delivery_limit"
	groupColumns   = "value count first last note filter"
	letterColumns  = "id vhost place queue state exchange routing_keys redelivered returns persistent size due expires cause target at message_id deaths first_death last_death redrives redrive properties payload payload_encoding"
	redriveColumns = "id user action source ids filter max target options state why begun ended looked moved refused came_back total rate eta_ms"
)

func listDLQs(c *call) error {
	columns, err := c.choose(same(dlqColumns), dlqColumns)
	if err != nil {
		return err
	}
	c.banner("Listing queues of vhost %s that receive dead letters ...", c.vhost())
	var sum struct{ Queues []row }
	err = c.client.Get(c.ctx, &sum, "x", "letters", c.vhost(), "summary")
	if err != nil {
		return c.noOffice(err)
	}
	return c.show(columns, sum.Queues)
}

// listDeaths lists the queues in which most died, and last what died elsewhere, if anything did.
func listDeaths(c *call) error {
	columns, err := c.choose(deathsBy(), deathColumns)
	if err != nil {
		return err
	}
	of := c.words.or("range", "1h")
	c.banner("Listing queues of vhost %s in which messages died, within %s ...", c.vhost(), of)
	var sum struct {
		Recent struct {
			Sources []row
			Others  uint64
		}
	}
	path := api.Path("x", "letters", c.vhost(), "summary") + "?" + url.Values{"range": {of}}.Encode()
	if _, err := c.client.Do(c.ctx, http.MethodGet, path, nil, &sum); err != nil {
		return c.noOffice(err)
	}
	if n := sum.Recent.Others; n > 0 {
		fmt.Fprintf(c.stderr, "%d more died in other or deleted queues\n", n)
	}
	return c.show(columns, sum.Recent.Sources)
}

// deathsBy are deathColumns; reasons are within died.
func deathsBy() []column {
	known := same(deathColumns)
	for i := range known[2:] {
		known[2+i].path = "died." + known[2+i].name
	}
	return known
}

// noOffice says what of an address does not exist, if that is why the broker refused, or why else.
func (c *call) noOffice(err error) error {
	switch status(err) {
	case http.StatusNotFound:
		if kind := reasonOf(err); strings.HasSuffix(kind, "_not_found") {
			return failf(exitData, "%s", strings.ReplaceAll(kind, "_", " "))
		}
		return c.noVHost(c.vhost())
	case http.StatusBadRequest, http.StatusConflict:
		return failf(exitData, "%s", reasonOf(err))
	}
	return err
}

// groups shows letters by what they have in common.
func (c *call) groups(filter string, wanted []string) error {
	columns, err := c.pick(wanted, same(groupColumns), "value count first last note")
	if err != nil {
		return err
	}
	query := url.Values{"by": {c.words.or("by", "reason")}, "filter": {filter}}
	if limit, ok := c.words.get("limit"); ok {
		query.Set("limit", limit)
	}
	var all struct {
		Groups  []row
		Others  int64
		Without int64
		Partial bool
	}
	if _, err := c.client.Do(c.ctx, http.MethodGet, api.Path("x", "letters", c.vhost(), "groups")+"?"+query.Encode(), nil, &all); err != nil {
		return c.noOffice(err)
	}
	if err := c.show(columns, all.Groups); err != nil {
		return err
	}
	if all.Others > 0 {
		fmt.Fprintf(c.stderr, "%d more groups not shown\n", all.Others)
	}
	if all.Without > 0 {
		fmt.Fprintf(c.stderr, "%d dead letters have no %s\n", all.Without, query.Get("by"))
	}
	if all.Partial {
		fmt.Fprintln(c.stderr, "Not all dead letters were checked")
	}
	return nil
}

func groupLetters(c *call) error {
	c.banner("Grouping dead letters of vhost %s by %s ...", c.vhost(), c.words.or("by", "reason"))
	return c.groups(c.words.or("where", ""), c.args)
}

func showDLQ(c *call) error {
	queue := c.args[0]
	c.banner("Grouping dead letters of queue '%s' in vhost '%s' by %s ...", queue, c.vhost(), c.words.or("by", "reason"))
	return c.groups(strings.TrimSpace("queue:"+quoted(queue)+" "+c.words.or("where", "")), c.args[1:])
}

// quoted writes a value as a filter reads it to the letter.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// place reads which letters are meant: those of the queue that is named first, or the lost ones. What else was named is rest.
func (c *call) place() (queue string, rest []string, err error) {
	switch {
	case c.words.on("lost"):
		return "", c.args, nil
	case len(c.args) == 0:
		return "", nil, c.tooFew()
	}
	return c.args[0], c.args[1:], nil
}

func (c *call) messagesAt(queue string) []string {
	if c.words.on("lost") {
		return []string{"x", "lost-letters", c.vhost(), "messages"}
	}
	return []string{"x", "queues", c.vhost(), queue, "messages"}
}

// noMessages says that a queue is not there, if that is why the broker refused.
func (c *call) noMessages(err error, queue string) error {
	if status(err) == http.StatusNotFound && queue != "" {
		return c.noQueue(queue, "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", exitData)
	}
	return c.noOffice(err)
}

// letters lists letters in columns.
func (c *call) letters(wanted []string, usual string, path []string) error {
	columns, err := c.pick(wanted, same(letterColumns), usual)
	if err != nil {
		return err
	}
	query := url.Values{}
	if where, ok := c.words.get("where"); ok {
		query.Set("filter", where)
	}
	if c.words.on("newest") {
		query.Set("order", "newest")
	}
	if slices.ContainsFunc(columns, func(k column) bool {
		return k.name == "payload" || k.name == "payload_encoding" || k.name == "properties"
	}) {
		query.Set("payload", "true")
	}
	rows, err := c.portions(query, "letters", path...)
	if err != nil {
		return err
	}
	return c.showLetters(rows, columns)
}

func peekDLQ(c *call) error {
	queue, rest, err := c.place()
	if err != nil {
		return err
	}
	path := c.messagesAt(queue)
	if id, ok := c.words.get("id"); ok {
		var raw json.RawMessage
		err := c.client.Get(c.ctx, &raw, append(path, id)...)
		if status(err) == http.StatusNotFound {
			return failf(exitData, "Message %s does not exist there", id)
		}
		if err != nil {
			return c.noMessages(err, queue)
		}
		return c.showWhole(raw, "id state at cause target exchange routing_keys message_id redelivered returns persistent size due expires deaths redrives redrive properties payload_encoding")
	}
	c.banner("Listing messages of %s in vhost '%s' ...", c.placeName(queue), c.vhost())
	err = c.letters(rest, "id state at message_id exchange routing_keys size redrives", path)
	return c.noMessages(err, queue)
}

func (c *call) placeName(queue string) string {
	if queue == "" {
		return "the lost letters"
	}
	return "queue '" + queue + "'"
}

func searchLetters(c *call) error {
	c.banner("Searching dead letters of vhost %s ...", c.vhost())
	return c.noOffice(c.letters(c.args, "id place queue state at message_id size", []string{"x", "letters", c.vhost()}))
}

func listNotes(c *call) error {
	columns, err := c.choose(same("by value text user at"), "by value text user at")
	if err != nil {
		return err
	}
	c.banner("Listing notes on dead letters of vhost %s ...", c.vhost())
	rows, err := c.vhostRows("x", "notes", c.vhost())
	if err != nil {
		return err
	}
	return c.show(columns, rows)
}

func setNote(c *call) error {
	by := c.words.or("by", "reason")
	c.banner("Setting a note on dead letters of vhost %s ...", c.vhost())
	if _, err := c.client.Put(c.ctx, api.PutNote{Text: c.args[1]}, "x", "notes", c.vhost(), by, c.args[0]); err != nil {
		return c.noOffice(err)
	}
	return c.done("", nil)
}

// numberOf reads an option that is a number, 0 if it is not given.
func (c *call) numberOf(name string) (api.Integer, error) {
	text, ok := c.words.get(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, c.invalid(fmt.Sprintf("--%s must be a number, not '%s'", name, text))
	}
	return api.Integer(n), nil
}
