package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// askFrom is from how many letters on a discard asks whether it is meant.
const askFrom = 1000

func redriveHelp() string {
	return `Select dead letters by their ids or with --where; without either, all of the queue are selected. --dry-run changes nothing: it
shows how many are selected, where they would go, and which would stay and why. The job runs in the broker and survives
a restart: list_redrives shows it, and pause_redrive, resume_redrive, cancel_redrive and rate_redrive control it. With --wait
the command ends with the job; the exit code is 0 if the job succeeded.`
}

// order reads what is to be done with which letters.
func (c *call) order(action string) (*api.PostRedrive, error) {
	queue, ids, err := c.place()
	if err != nil {
		return nil, err
	}
	p := &api.PostRedrive{
		Source: api.RedriveSource{Queue: queue, Lost: api.Flag(c.words.on("lost"))}, Filter: c.words.or("where", ""), Action: action,
		Options: api.RedriveOptions{
			Ramp: api.Flag(c.words.on("ramp")), StopNoConsumer: api.Flag(c.words.on("stop-without-consumer")),
			StripDeaths: api.Flag(c.words.on("strip-deaths")), DropExpiration: api.Flag(c.words.on("drop-expiration")),
		},
		DryRun: api.Flag(c.words.on("dry-run")),
	}
	for _, id := range ids {
		p.IDs = append(p.IDs, api.LetterID(id))
	}
	if len(ids) > 0 {
		if p.Filter != "" {
			return nil, c.invalid("give either ids or --where, not both.")
		}
	}
	if c.words.on("newest") {
		p.Options.Order = "newest"
	}
	for name, to := range map[string]*api.Integer{
		"max": &p.Max, "rate": &p.Options.Rate, "canary": &p.Options.Canary, "stop-percent": &p.Options.StopShare,
	} {
		if *to, err = c.numberOf(name); err != nil {
			return nil, err
		}
	}
	if text, ok := c.words.get("watch"); ok {
		d, err := readTime(text)
		if err != nil {
			return nil, err
		}
		p.Options.WatchMS = api.Integer(d.Milliseconds())
	}
	p.Target, err = c.target(c.words.or("to", ""))
	return p, err
}

// target reads --to.
func (c *call) target(text string) (to api.RedriveTarget, err error) {
	kind, name, named := strings.Cut(text, ":")
	switch {
	case !named && slices.Contains([]string{"", "origin", "queue", "on"}, kind):
		return api.RedriveTarget{To: kind}, nil
	case !named && kind == "original":
		return api.RedriveTarget{To: "origin"}, nil
	case named && kind == "queue" && name != "":
		return api.RedriveTarget{To: "queue", Queue: name}, nil
	case named && kind == "exchange":
		exchange, key, keyed := strings.Cut(name, "/")
		to = api.RedriveTarget{To: "elsewhere", Exchange: &exchange}
		if keyed {
			to.RoutingKey = &key
		}
		return to, nil
	}
	return to, c.invalid(fmt.Sprintf("--to must be origin, queue, queue:NAME, exchange:NAME, exchange:NAME/KEY or on, not '%s'", text))
}

func redriveDLQ(c *call) error { return c.runJob("redrive") }

func discardDLQ(c *call) error { return c.runJob("discard") }

// runJob begins a job, or tries it.
func (c *call) runJob(action string) error {
	order, err := c.order(action)
	if err != nil {
		return err
	}
	doing := map[string]string{"redrive": "Redriving messages of", "discard": "Discarding messages of"}[action]
	c.banner("%s %s in vhost '%s' ...", doing, c.placeName(order.Source.Queue), c.vhost())
	if order.DryRun {
		t, err := c.tryJob(order)
		if err != nil {
			return err
		}
		return c.showRedriveTrial(t)
	}
	if action == "discard" && !c.words.on("yes") {
		if err := c.askWhether(order); err != nil {
			return err
		}
	}
	var j api.Redrive
	if err := c.client.Post(c.ctx, order, &j, "x", "redrives", c.vhost()); err != nil {
		return c.noOffice(err)
	}
	if c.words.on("wait") {
		return c.follow(j.ID)
	}
	id := strconv.FormatInt(j.ID, 10)
	return c.done("Job "+id+" started: show_redrive "+id, cell(id))
}

func (c *call) tryJob(order *api.PostRedrive) (*api.RedriveTrial, error) {
	trial := *order
	trial.DryRun = true
	var t api.RedriveTrial
	if err := c.client.Post(c.ctx, trial, &t, "x", "redrives", c.vhost()); err != nil {
		return nil, c.noOffice(err)
	}
	return &t, nil
}

func (c *call) showRedriveTrial(t *api.RedriveTrial) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showJSON(t)
	}
	rows := [][]cell{{textCell("letters"), cell(strconv.FormatInt(t.Matches, 10))}}
	for _, name := range slices.Sorted(maps.Keys(t.Queues)) {
		rows = append(rows, []cell{textCell("to queue " + name), cell(strconv.FormatInt(t.Queues[name], 10))})
	}
	for _, why := range slices.Sorted(maps.Keys(t.Refused)) {
		rows = append(rows, []cell{textCell("stay: " + why), cell(strconv.FormatInt(t.Refused[why], 10))})
	}
	if err := c.table([]string{"what", "count"}, rows); err != nil {
		return err
	}
	switch {
	case t.Partial && t.Found != nil:
		fmt.Fprintf(c.stderr, "%d dead letters match; only %d were checked\n", *t.Found, t.Looked)
	case t.Partial:
		fmt.Fprintf(c.stderr, "Only the first %d dead letters were checked\n", t.Looked)
	}
	if !t.Fits {
		fmt.Fprintln(c.stderr, "There is not enough room for more lost letters: the oldest would be deleted")
	}
	return nil
}

// askWhether has somebody type what is to be emptied, if that is much.
func (c *call) askWhether(order *api.PostRedrive) error {
	t, err := c.tryJob(order)
	if err != nil || t.Matches <= askFrom && !t.Partial {
		return err
	}
	name := order.Source.Queue
	if name == "" {
		name = "lost"
	}
	fmt.Fprintf(c.stderr, "%d or more dead letters will be discarded. Type '%s' to continue, or use --yes: ", t.Matches, name)
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if strings.TrimSpace(line) != name {
		return failf(exitData, "nothing was discarded")
	}
	_ = err // the end of the input after the name is as good as a line break
	return nil
}

// follow waits for the end of a job, and tells how it goes.
func (c *call) follow(id int64) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := ""; ; {
		var j api.Redrive
		if err := c.client.Get(c.ctx, &j, "x", "redrives", c.vhost(), strconv.FormatInt(id, 10)); err != nil {
			return c.noJob(err, strconv.FormatInt(id, 10))
		}
		told := fmt.Sprintf("%s: %d of %d checked, %d moved, %d died again", j.State, j.Looked, j.Total, j.Moved, j.CameBack)
		if told != last && !c.quiet() {
			fmt.Fprintln(c.stderr, told)
			last = told
		}
		switch j.State {
		case "done":
			n := strconv.FormatInt(j.Moved, 10)
			return c.done(n+" messages were moved", cell(n))
		case "paused", "stopped", "cancelled", "failed":
			return failf(exitData, "Job %d is %s (%s): %d messages were moved, %d died again", j.ID, j.State, j.Why, j.Moved, j.CameBack)
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-tick.C:
		}
	}
}

// noJob says that there is no such job, if that is why the broker refused.
func (c *call) noJob(err error, id string) error {
	if status(err) == http.StatusNotFound && status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) != http.StatusNotFound {
		return failf(exitData, "Job %s does not exist in virtual host '%s'", id, c.vhost())
	}
	return c.noOffice(err)
}

func listRedrives(c *call) error {
	columns, err := c.choose(same(redriveColumns), "id action source filter state why moved came_back total begun")
	if err != nil {
		return err
	}
	for i := range columns {
		if slices.Contains([]string{"source", "target", "options", "refused"}, columns[i].name) {
			columns[i].as = c.forPeople(asJSON)
		}
	}
	c.banner("Listing redrives of vhost %s ...", c.vhost())
	rows, err := c.vhostRows("x", "redrives", c.vhost())
	if err != nil {
		return err
	}
	return c.show(columns, rows)
}

func showRedrive(c *call) error {
	id := c.args[0]
	var raw json.RawMessage
	if err := c.client.Get(c.ctx, &raw, "x", "redrives", c.vhost(), id); err != nil {
		return c.noJob(err, id)
	}
	if c.words.on("wait") {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return c.invalid(fmt.Sprintf("'%s' is not a job id", id))
		}
		return c.follow(n)
	}
	return c.showJob(raw)
}

// showJob shows one job, a line for each of its values.
func (c *call) showJob(raw json.RawMessage) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showRaw(raw)
	}
	var shown row
	if err := json.Unmarshal(raw, &shown); err != nil {
		return err
	}
	for _, name := range strings.Fields(redriveColumns) {
		fmt.Fprintln(c.stdout, strings.TrimSpace(name+": "+text(shown[name])))
	}
	return nil
}

// changeRedrive does something to a job.
func changeRedrive(verb string) func(*call) error {
	return func(c *call) error {
		id := c.args[0]
		c.banner("Changing redrive %s of vhost '%s': %s ...", id, c.vhost(), verb)
		if err := c.client.Post(c.ctx, nil, nil, "x", "redrives", c.vhost(), id, verb); err != nil {
			return c.noJob(err, id)
		}
		return c.done("", nil)
	}
}

func rateRedrive(c *call) error {
	id := c.args[0]
	n, err := strconv.ParseInt(c.args[1], 10, 64)
	if err != nil || n < 0 {
		return c.invalid(fmt.Sprintf("'%s' is not a number of messages per second", c.args[1]))
	}
	rate := api.Integer(n)
	c.banner("Setting the rate of redrive %s of vhost '%s' to %d ...", id, c.vhost(), n)
	_, err = c.client.Do(c.ctx, http.MethodPatch, api.Path("x", "redrives", c.vhost(), id), api.PatchRedrive{Rate: &rate}, nil)
	if err != nil {
		return c.noJob(err, id)
	}
	return c.done("", nil)
}

func forgetRedrive(c *call) error {
	id := c.args[0]
	c.banner("Deleting redrive %s of vhost '%s' ...", id, c.vhost())
	if err := c.client.Delete(c.ctx, "x", "redrives", c.vhost(), id); err != nil {
		return c.noJob(err, id)
	}
	return c.done("", nil)
}
