package deadletter

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// number reads an option that is a number, 0 if it is not given.
func number(c *command.Call, name string) (api.Integer, error) {
	text, ok := c.Options.Get(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, c.Invalid(fmt.Sprintf("--%s must be a number, not '%s'", name, text))
	}
	return api.Integer(n), nil
}

// firstLook is how long after its start a job has tried its first message.
const firstLook = 200 * time.Millisecond

// askFrom is from how many dead letters on a discard asks for confirmation.
const askFrom = 1000

func redriveHelp() string {
	return `Select dead letters by their ids or with --where; without either, all of the queue are selected. Each goes to
the queue where it first died, and to no other, unless --to names another target. --dry-run changes nothing: it shows
how many are selected, where they would go, and which would stay and why. A message does not go to the queue where it
is now unless --force is given. The job runs in the broker and survives a restart: list_redrives shows it, and
pause_redrive, resume_redrive, cancel_redrive and rate_redrive control it. With --wait the command ends with the job;
the exit code is 0 if the job succeeded.`
}

// readJob reads what is to be done with which dead letters.
func readJob(c *command.Call, action string) (*api.PostRedrive, error) {
	queue, ids, err := source(c)
	if err != nil {
		return nil, err
	}
	p := &api.PostRedrive{
		Source: api.RedriveSource{Queue: queue, Lost: api.Flag(c.Options.On("lost"))}, Filter: c.Options.Or("where", ""), Action: action,
		Options: api.RedriveOptions{
			Ramp: api.Flag(c.Options.On("ramp")), StopNoConsumer: api.Flag(c.Options.On("stop-without-consumer")),
			StripDeaths: api.Flag(c.Options.On("strip-deaths")), DropExpiration: api.Flag(c.Options.On("drop-expiration")),
		},
		DryRun: api.Flag(c.Options.On("dry-run")), Force: api.Flag(c.Options.On("force")),
	}
	for _, id := range ids {
		p.IDs = append(p.IDs, api.MessageID(id))
	}
	if len(ids) > 0 {
		if p.Filter != "" {
			return nil, c.Invalid("give either ids or --where, not both.")
		}
	}
	if c.Options.On("newest") {
		p.Options.Order = "newest"
	}
	for name, to := range map[string]*api.Integer{
		"max": &p.Max, "rate": &p.Options.Rate, "canary": &p.Options.Canary, "stop-percent": &p.Options.StopShare,
	} {
		if *to, err = number(c, name); err != nil {
			return nil, err
		}
	}
	if text, ok := c.Options.Get("watch"); ok {
		d, err := command.ParseTime("watch", text)
		if err != nil {
			return nil, err
		}
		p.Options.WatchMS = api.Integer(d.Milliseconds())
	}
	p.Target, err = targetOf(c)
	return p, err
}

// targetOf reads where messages go: --to, or an exchange and perhaps a key.
func targetOf(c *command.Call) (api.RedriveTarget, error) {
	text, ok := c.Options.Get("to")
	exchange, named := c.Options.Get("exchange")
	key, keyed := c.Options.Get("routing-key")
	switch {
	case ok && (named || keyed):
		return api.RedriveTarget{}, eitherToOrExchange(c)
	case keyed && !named:
		return api.RedriveTarget{}, c.Invalid("--routing-key needs --exchange.")
	case !named:
		return readTarget(c, text)
	}
	to := api.RedriveTarget{To: "elsewhere", Exchange: &exchange}
	if keyed {
		to.RoutingKey = &key
	}
	return to, nil
}

func eitherToOrExchange(c *command.Call) error {
	return c.Invalid("give either --to, or --exchange and --routing-key.")
}

// readTarget reads --to. In exchange:NAME/KEY there is one slash: with more of them nobody knows which ends the name.
func readTarget(c *command.Call, text string) (to api.RedriveTarget, err error) {
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
		if strings.Contains(key, "/") {
			return to, c.Invalid(fmt.Sprintf("'%s' has several slashes, and any of them may end the name of the exchange: "+
				"write --exchange NAME --routing-key KEY instead of --to", text))
		}
		to = api.RedriveTarget{To: "elsewhere", Exchange: &exchange}
		if keyed {
			to.RoutingKey = &key
		}
		return to, nil
	}
	const known = "queue, origin, queue:NAME, exchange:NAME, exchange:NAME/KEY or on"
	return to, c.Invalid(fmt.Sprintf("--to must be %s, not '%s'", known, text))
}

func redriveDLQ(c *command.Call) error { return runJob(c, "redrive") }

func discardDLQ(c *command.Call) error { return runJob(c, "discard") }

// runJob begins a job, or tries it.
func runJob(c *command.Call, action string) error {
	order, err := readJob(c, action)
	if err != nil {
		return err
	}
	doing := map[string]string{"redrive": "Redriving messages of", "discard": "Discarding messages of"}[action]
	if action == "discard" && bool(order.Source.Lost) {
		doing = "Permanently deleting messages of"
	}
	c.Banner("%s %s in vhost '%s' ...", doing, sourceName(c, order.Source.Queue), c.VHost())
	if order.DryRun {
		t, err := dryRun(c, order)
		if err != nil {
			return err
		}
		return showDryRun(c, t)
	}
	if action == "discard" && !c.Options.On("yes") {
		if err := confirm(c, order); err != nil {
			return err
		}
	}
	var j api.Redrive
	if err := c.Client.Post(c.Ctx, order, &j, "x", "redrives", c.VHost()); err != nil {
		return notFound(c, err)
	}
	id := strconv.FormatInt(j.ID, 10)
	if c.Options.On("wait") {
		return waitForJob(c, id)
	}
	if order.Options.StopNoConsumer {
		if err := noteStop(c, id); err != nil {
			return err
		}
	}
	return c.Done("Job "+id+" started: show_redrive "+id, output.Cell(id))
}

// noteStop says what to do if a job has stopped as soon as it began, because nothing consumes what it would move.
func noteStop(c *command.Call, id string) error {
	select {
	case <-c.Ctx.Done():
		return c.Ctx.Err()
	case <-time.After(firstLook):
	}
	j, err := jobNow(c, id)
	if err != nil {
		return err
	}
	advise(c, &j)
	return nil
}

func dryRun(c *command.Call, order *api.PostRedrive) (*api.RedriveTrial, error) {
	trial := *order
	trial.DryRun = true
	var t api.RedriveTrial
	if err := c.Client.Post(c.Ctx, trial, &t, "x", "redrives", c.VHost()); err != nil {
		return nil, notFound(c, err)
	}
	return &t, nil
}

func showDryRun(c *command.Call, t *api.RedriveTrial) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowJSON(t)
	}
	rows := [][]output.Cell{{output.StringCell("letters"), output.Cell(strconv.FormatInt(t.Matches, 10))}}
	for _, name := range slices.Sorted(maps.Keys(t.Queues)) {
		rows = append(rows, []output.Cell{output.StringCell("to queue " + name), output.Cell(strconv.FormatInt(t.Queues[name], 10))})
	}
	for _, why := range slices.Sorted(maps.Keys(t.Refused)) {
		rows = append(rows, []output.Cell{output.StringCell("stay: " + why), output.Cell(strconv.FormatInt(t.Refused[why], 10))})
	}
	if err := c.Table([]string{"what", "count"}, rows); err != nil {
		return err
	}
	switch {
	case t.Partial && t.Found != nil:
		fmt.Fprintf(c.Stderr, "%d dead letters match; only %d were checked\n", *t.Found, t.Looked)
	case t.Partial:
		fmt.Fprintf(c.Stderr, "Only the first %d dead letters were checked\n", t.Looked)
	}
	if !t.Fits {
		fmt.Fprintln(c.Stderr, "There is not enough space for more lost letters: the oldest would be deleted")
	}
	for _, name := range slices.Sorted(maps.Keys(t.NeverDied)) {
		fmt.Fprintf(c.Stderr, "%d would also go to %s, where they never died\n", t.NeverDied[name], name)
	}
	if names := wantConsumers(c, t); len(names) > 0 {
		warnNoConsumers(c, strings.Join(names, ", "))
	}
	if len(t.Expiring) > 0 {
		fmt.Fprintf(c.Stderr, "Messages return with their expiration and would expire again in %s: start a consumer, or "+
			"use --drop-expiration\n", strings.Join(t.Expiring, ", "))
	}
	if n := t.Refused["same_queue"]; n > 0 {
		fmt.Fprintf(c.Stderr, "%d would go to the queue where they are now: use --force, or another target\n", n)
	}
	if n := t.Refused["no_origin"]; n > 0 {
		fmt.Fprintf(c.Stderr, "Of %d it is not known where they died: choose a target with --to\n", n)
	}
	return nil
}

// wantConsumers lists the targets whose lack of consumers matters: not dead-letter queues, unless the job would stop
// at them.
func wantConsumers(c *command.Call, t *api.RedriveTrial) []string {
	if c.Options.On("stop-without-consumer") {
		return t.NoConsumers
	}
	return slices.DeleteFunc(slices.Clone(t.NoConsumers), func(name string) bool { return slices.Contains(t.DeadLetterQueues, name) })
}

// warnNoConsumers says what a careful redrive does at queues without consumers: it stops, or its canary shows nothing.
func warnNoConsumers(c *command.Call, queues string) {
	switch {
	case c.Options.On("stop-without-consumer"):
		fmt.Fprintf(c.Stderr, "No consumers: %s. The job would stop there and wait: start a consumer first, or "+
			"leave out --stop-without-consumer to move the messages at once\n", queues)
	case c.Options.Or("canary", "0") != "0" || c.Options.Or("stop-percent", "0") != "0":
		fmt.Fprintf(c.Stderr, "No consumers: %s. Messages cannot die again there until one comes: "+
			"--canary and --stop-percent check nothing\n", queues)
	default:
		fmt.Fprintf(c.Stderr, "No consumers: %s. Messages wait there, and expire if they have an expiration\n", queues)
	}
}

// confirm has somebody type what is to be emptied, if that is much.
func confirm(c *command.Call, order *api.PostRedrive) error {
	t, err := dryRun(c, order)
	if err != nil || t.Matches <= askFrom && !t.Partial {
		return err
	}
	name, what, done := order.Source.Queue, "dead letters will be discarded", "discarded"
	if name == "" {
		name, what, done = "lost", "lost letters will be deleted permanently", "deleted"
	}
	fmt.Fprintf(c.Stderr, "%d or more %s. Type '%s' to continue, or use --yes: ", t.Matches, what, name)
	line, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if strings.TrimSpace(line) != name {
		return command.Failf(command.ExitData, "nothing was %s", done)
	}
	_ = err // the end of the input after the name is as good as a line break
	return nil
}
