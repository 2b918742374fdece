package cli

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A task is a change of messages that wait, and how it went.
type task struct {
	place   []string // path of the list of what waits there
	method  string   // to change one by its key; POST: at a path that ends in verb
	verb    string   // last segment of the path to post to
	word    string   // the outcome that is wanted
	all     bool
	instant api.NewInstant
	result  api.Changed
}

// post is what is sent for some messages, or all: keys that are not given stand nowhere.
func (t *task) post(ids []string) any {
	var body struct {
		api.PostRetry
		api.NewInstant
	}
	if body.All, body.NewInstant = api.Flag(t.all), t.instant; !t.all {
		body.IDs = &ids
	}
	return body
}

// carryOut changes messages, portion by portion, and shows what became of them. It is a failure if one is not as wanted.
// Those that a filter names are listed first: one that is moved would be found again.
func (c *call) carryOut(t *task) error {
	ids := c.args[1:]
	filter, err := c.filter()
	key, named := c.words.get("key")
	switch {
	case err != nil:
		return err
	case len(filter) > 0 && (len(ids) > 0 || t.all) || t.all && len(ids) > 0 || named && len(ids)+len(filter) > 0:
		return c.eitherWay()
	case named:
		return c.carryOutByKey(t, key)
	case len(filter) > 0:
		if ids, err = c.idsOf(filter, t.place); err != nil {
			return err
		}
	case len(ids) == 0 && !t.all:
		return c.tooFew()
	}
	const portion = 1000
	for more := t.all || len(ids) > 0; more; more = len(ids) > 0 {
		some := ids[:min(portion, len(ids))]
		ids = ids[len(some):]
		var part api.Changed
		if err := c.client.Post(c.ctx, t.post(some), &part, append(slices.Clone(t.place), t.verb)...); err != nil {
			return err
		}
		t.add(&part)
	}
	if err := c.showChanged(&t.result); err != nil {
		return err
	}
	if others := t.others(); others > 0 {
		return failf(exitData, "Not %s: %d", t.word, others)
	}
	return nil
}

func (c *call) eitherWay() error {
	return c.invalid("give either ids or options, not both.")
}

// carryOutByKey changes what waits under a key, and shows what became of it.
func (c *call) carryOutByKey(t *task, key string) error {
	path := append(slices.Clone(t.place), "key", key)
	var body any
	switch t.method {
	case http.MethodPost:
		path = append(path, t.verb)
	case http.MethodPatch:
		body = t.instant
	}
	var one api.WaitingOutcome
	if _, err := c.client.Do(c.ctx, t.method, api.Path(path...), body, &one); err != nil {
		return c.noKey(err, key)
	}
	return c.showChanged(&api.Changed{Results: api.List[api.WaitingOutcome]{one}, Outcomes: api.Object[int]{one.Outcome: 1}})
}

// idsOf lists the messages that a filter lets through.
func (c *call) idsOf(filter url.Values, place []string) (ids []string, err error) {
	filter.Set("columns", "id")
	rows, err := c.portions(filter, "messages", place...)
	for _, r := range rows {
		ids = append(ids, text(r["id"]))
	}
	return ids, err
}

// add adds a portion to the result.
func (t *task) add(part *api.Changed) {
	if t.result.Outcomes == nil {
		t.result.Outcomes = api.Object[int]{}
	}
	before, now := 0, 0
	for _, n := range t.result.Outcomes {
		before += n
	}
	for outcome, n := range part.Outcomes {
		t.result.Outcomes[outcome] += n
		now += n
	}
	if len(t.result.Results) == before && len(part.Results) == now { // else not all are told of, and they are counted
		t.result.Results = append(t.result.Results, part.Results...)
	}
	t.result.Count += part.Count
}

func (t *task) others() (n int) {
	for outcome, k := range t.result.Outcomes {
		if outcome != t.word {
			n += k
		}
	}
	return n
}

// showChanged lists what became of each message, or counts it, if there were too many for a list.
func (c *call) showChanged(r *api.Changed) error {
	total := 0
	for _, n := range r.Outcomes {
		total += n
	}
	var cells [][]cell
	if len(r.Results) == total {
		for _, m := range r.Results {
			cells = append(cells, []cell{textCell(m.ID), textCell(m.Outcome)})
		}
		return c.table([]string{"id", "outcome"}, cells)
	}
	for _, outcome := range slices.Sorted(maps.Keys(r.Outcomes)) {
		cells = append(cells, []cell{textCell(outcome), cell(strconv.Itoa(r.Outcomes[outcome]))})
	}
	return c.table([]string{"outcome", "messages"}, cells)
}

func cancelScheduled(c *call) error {
	c.banner("Cancelling messages scheduled in exchange '%s' of vhost '%s' ...", c.args[0], c.vhost())
	return c.noSchedule(c.carryOut(c.scheduledTask(http.MethodDelete, "cancel", "cancelled")))
}

func fireScheduled(c *call) error {
	c.banner("Firing messages scheduled in exchange '%s' of vhost '%s' ...", c.args[0], c.vhost())
	return c.noSchedule(c.carryOut(c.scheduledTask(http.MethodPost, "fire", "fired")))
}

func (c *call) scheduledTask(method, verb, word string) *task {
	return &task{place: []string{"x", "scheduled", c.vhost(), c.args[0]}, method: method, verb: verb, word: word}
}

// newInstant reads the options that say when.
func (c *call) newInstant() (to api.NewInstant, err error) {
	in, after := c.words.get("in")
	at, named := c.words.get("at")
	switch {
	case after == named:
		return to, c.invalid("give a time: --in <time> or --at <instant>.")
	case after:
		d, err := readTime(in)
		if err != nil {
			return to, err
		}
		ms := api.Integer(d.Milliseconds())
		to.In = &ms
	default:
		instant, err := api.ParseInstant(at)
		if err != nil {
			return to, c.invalid(err.Error())
		}
		to.At = &instant
	}
	return to, nil
}

// putScheduled schedules a message under a key, in the place of what waits there, and tells its ID.
func putScheduled(c *call) error {
	exchange, routingKey, payload := c.args[0], c.args[1], c.args[2]
	key, named := c.words.get("key")
	if !named {
		return c.invalid("give a key: --key <key>.")
	}
	body := api.PutScheduled{PostPublish: api.PostPublish{RoutingKey: &routingKey, Payload: &payload}}
	var err error
	if body.NewInstant, err = c.newInstant(); err != nil {
		return err
	}
	if !utf8.ValidString(payload) {
		encoding := "base64"
		payload = base64.StdEncoding.EncodeToString([]byte(payload))
		body.PayloadEncoding = &encoding
	}
	c.banner("Scheduling a message under key '%s' in exchange '%s' of vhost '%s' ...", key, exchange, c.vhost())
	var p api.Published
	if _, err := c.client.Do(c.ctx, http.MethodPut, api.Path("x", "scheduled", c.vhost(), exchange, "key", key), &body, &p); err != nil {
		return c.noSchedule(err)
	}
	var cells [][]cell
	for _, id := range p.Scheduled {
		cells = append(cells, []cell{textCell(id)})
	}
	return c.table([]string{"id"}, cells)
}

func rescheduleScheduled(c *call) (err error) {
	t := c.scheduledTask(http.MethodPatch, "reschedule", "rescheduled")
	if t.instant, err = c.newInstant(); err != nil {
		return err
	}
	c.banner("Rescheduling messages of exchange '%s' in vhost '%s' ...", c.args[0], c.vhost())
	return c.noSchedule(c.carryOut(t))
}

func retryWaiting(c *call) error {
	c.banner("Retrying waiting messages of queue '%s' of vhost '%s' ...", c.args[0], c.vhost())
	t := &task{place: []string{"x", "waiting", c.vhost(), c.args[0]}, verb: "retry", word: "fired", all: c.words.on("all")}
	return c.noWaiting(c.carryOut(t))
}

func purgeScheduled(c *call) error {
	c.banner("Purging messages scheduled in exchange '%s' of vhost '%s' ...", c.args[0], c.vhost())
	var purged api.Purged
	_, err := c.client.Do(c.ctx, http.MethodDelete, api.Path("x", "scheduled", c.vhost(), c.args[0]), nil, &purged)
	if err != nil {
		return c.noSchedule(err)
	}
	n := strconv.FormatUint(purged.Purged, 10)
	return c.done(n+" scheduled messages were purged", cell(n))
}

func deleteExchange(c *call) error {
	name := c.args[0]
	c.banner("Deleting exchange '%s' in vhost '%s' ...", name, c.vhost())
	path := api.Path("exchanges", c.vhost(), name)
	if c.words.on("if-unused") {
		path += "?if-unused=true"
	}
	left, err := c.client.Remove(c.ctx, path)
	switch {
	case status(err) == http.StatusNotFound:
		return c.noQueue(name, "No such exchange was found: '%s' in virtual host '%s'", exitUsage)
	case status(err) == http.StatusBadRequest && strings.Contains(reasonOf(err), "in use"):
		return failf(exitUsage, "The exchange is in use")
	case err != nil:
		return err
	case left == 0:
		return c.done("Exchange was successfully deleted", nil)
	}
	n := strconv.Itoa(left)
	return c.done("Exchange was successfully deleted. "+n+" scheduled messages are kept: they are sent if the exchange is declared again "+
		"before they are due; purge_scheduled cancels them", cell(n))
}
