package schedule

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
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

// carryOut changes messages, portion by portion, and shows what became of them. It is a failure if one is not as
// wanted. Those that a filter names are listed first: one that is moved would be found again.
func carryOut(c *command.Call, t *task) error {
	ids := c.Args[1:]
	filter, err := readFilter(c)
	key, named := c.Options.Get("key")
	switch {
	case err != nil:
		return err
	case len(filter) > 0 && (len(ids) > 0 || t.all) || t.all && len(ids) > 0 || named && len(ids)+len(filter) > 0:
		return eitherWay(c)
	case named:
		return carryOutByKey(c, t, key)
	case len(filter) > 0:
		if ids, err = idsOf(c, filter, t.place); err != nil {
			return err
		}
	case len(ids) == 0 && !t.all:
		return c.TooFew()
	}
	const portion = 1000
	for more := t.all || len(ids) > 0; more; more = len(ids) > 0 {
		some := ids[:min(portion, len(ids))]
		ids = ids[len(some):]
		var part api.Changed
		if err := c.Client.Post(c.Ctx, t.post(some), &part, append(slices.Clone(t.place), t.verb)...); err != nil {
			return err
		}
		t.add(&part)
	}
	if err := showChanged(c, &t.result); err != nil {
		return err
	}
	if others := t.others(); others > 0 {
		return command.Failf(command.ExitData, "Not %s: %d", t.word, others)
	}
	return nil
}

func eitherWay(c *command.Call) error {
	return c.Invalid("give either ids or options, not both.")
}

// carryOutByKey changes what waits under a key, and shows what became of it.
func carryOutByKey(c *command.Call, t *task, key string) error {
	path := append(slices.Clone(t.place), "key", key)
	var body any
	switch t.method {
	case http.MethodPost:
		path = append(path, t.verb)
	case http.MethodPatch:
		body = t.instant
	}
	var one api.WaitingOutcome
	if _, err := c.Client.Do(c.Ctx, t.method, api.Path(path...), body, &one); err != nil {
		return noKey(c, err, key)
	}
	return showChanged(c, &api.Changed{Results: api.List[api.WaitingOutcome]{one}, Outcomes: api.Object[int]{one.Outcome: 1}})
}

// idsOf lists the messages that a filter lets through.
func idsOf(c *command.Call, filter url.Values, place []string) (ids []string, err error) {
	filter.Set("columns", "id")
	rows, err := c.Page(filter, "messages", place...)
	for _, r := range rows {
		ids = append(ids, output.Text(r["id"]))
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
func showChanged(c *command.Call, r *api.Changed) error {
	total := 0
	for _, n := range r.Outcomes {
		total += n
	}
	var cells [][]output.Cell
	if len(r.Results) == total {
		for _, m := range r.Results {
			cells = append(cells, []output.Cell{output.StringCell(m.ID), output.StringCell(m.Outcome)})
		}
		return c.Table([]string{"id", "outcome"}, cells)
	}
	for _, outcome := range slices.Sorted(maps.Keys(r.Outcomes)) {
		cells = append(cells, []output.Cell{output.StringCell(outcome), output.Cell(strconv.Itoa(r.Outcomes[outcome]))})
	}
	return c.Table([]string{"outcome", "messages"}, cells)
}

func cancelScheduled(c *command.Call) error {
	c.Banner("Cancelling messages scheduled in exchange '%s' of vhost '%s' ...", c.Args[0], c.VHost())
	return noSchedule(c, carryOut(c, scheduledTask(c, http.MethodDelete, "cancel", "cancelled")))
}

func fireScheduled(c *command.Call) error {
	c.Banner("Firing messages scheduled in exchange '%s' of vhost '%s' ...", c.Args[0], c.VHost())
	return noSchedule(c, carryOut(c, scheduledTask(c, http.MethodPost, "fire", "fired")))
}

func scheduledTask(c *command.Call, method, verb, word string) *task {
	return &task{place: []string{"x", "scheduled", c.VHost(), c.Args[0]}, method: method, verb: verb, word: word}
}

// newInstant reads the options that say when.
func newInstant(c *command.Call) (to api.NewInstant, err error) {
	in, after := c.Options.Get("in")
	at, named := c.Options.Get("at")
	switch {
	case after == named:
		return to, c.Invalid("give a time: --in <duration> or --at <time>.")
	case after:
		d, err := command.ParseTime("in", in)
		if err != nil {
			return to, err
		}
		ms := api.Duration(d.Milliseconds())
		to.In = &ms
	default:
		instant, err := api.ParseInstant(at)
		if err != nil {
			return to, c.Invalid(err.Error())
		}
		to.At = &instant
	}
	return to, nil
}

// putScheduled schedules a message under a key, in the place of what waits there, and tells its ID.
func putScheduled(c *command.Call) error {
	exchange, routingKey, payload := c.Args[0], c.Args[1], c.Args[2]
	key, named := c.Options.Get("key")
	if !named {
		return c.Invalid("give a key: --key <key>.")
	}
	body := api.PutScheduled{PostPublish: api.PostPublish{RoutingKey: &routingKey, Payload: &payload}}
	var err error
	if body.NewInstant, err = newInstant(c); err != nil {
		return err
	}
	if !utf8.ValidString(payload) {
		encoding := "base64"
		payload = base64.StdEncoding.EncodeToString([]byte(payload))
		body.PayloadEncoding = &encoding
	}
	c.Banner("Scheduling a message under key '%s' in exchange '%s' of vhost '%s' ...", key, exchange, c.VHost())
	var p api.Published
	if _, err := c.Client.Do(c.Ctx, http.MethodPut, api.Path("x", "scheduled", c.VHost(), exchange, "key", key), &body, &p); err != nil {
		return noSchedule(c, err)
	}
	var cells [][]output.Cell
	for _, id := range p.Scheduled {
		cells = append(cells, []output.Cell{output.StringCell(id)})
	}
	return c.Table([]string{"id"}, cells)
}

func rescheduleScheduled(c *command.Call) (err error) {
	t := scheduledTask(c, http.MethodPatch, "reschedule", "rescheduled")
	if t.instant, err = newInstant(c); err != nil {
		return err
	}
	c.Banner("Rescheduling messages of exchange '%s' in vhost '%s' ...", c.Args[0], c.VHost())
	return noSchedule(c, carryOut(c, t))
}

func retryWaiting(c *command.Call) error {
	c.Banner("Retrying waiting messages of queue '%s' of vhost '%s' ...", c.Args[0], c.VHost())
	t := waitingTask(c, "retry", "fired")
	t.all = c.Options.On("all")
	return noWaiting(c, carryOut(c, t))
}

func waitingTask(c *command.Call, verb, word string) *task {
	return &task{place: []string{"x", "waiting", c.VHost(), c.Args[0]}, verb: verb, word: word}
}

func rescheduleWaiting(c *command.Call) (err error) {
	t := waitingTask(c, "reschedule", "rescheduled")
	if t.instant, err = newInstant(c); err != nil {
		return err
	}
	c.Banner("Rescheduling waiting messages of queue '%s' in vhost '%s' ...", c.Args[0], c.VHost())
	return noWaiting(c, carryOut(c, t))
}

func cancelWaiting(c *command.Call) error {
	c.Banner("Cancelling waiting messages of queue '%s' of vhost '%s' ...", c.Args[0], c.VHost())
	return noWaiting(c, carryOut(c, waitingTask(c, "cancel", "cancelled")))
}

func cancelWaitingHelp() string {
	return filterHelp() + `

Messages that wait for a retry are not deleted.`
}

func purgeScheduled(c *command.Call) error {
	c.Banner("Purging messages scheduled in exchange '%s' of vhost '%s' ...", c.Args[0], c.VHost())
	var purged api.Purged
	_, err := c.Client.Do(c.Ctx, http.MethodDelete, api.Path("x", "scheduled", c.VHost(), c.Args[0]), nil, &purged)
	if err != nil {
		return noSchedule(c, err)
	}
	n := strconv.FormatUint(purged.Purged, 10)
	return c.Done(n+" scheduled messages were purged", output.Cell(n))
}
