package deadletter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// waitForJob waits for the end of a job, and tells how it goes.
func waitForJob(c *command.Call, id string) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := ""; ; {
		j, err := jobNow(c, id)
		if err != nil {
			return err
		}
		if told := progressOf(&j); told != last && !c.Quiet() {
			fmt.Fprintln(c.Stderr, told)
			last = told
		}
		switch j.State {
		case "done":
			n := strconv.FormatInt(j.Moved, 10)
			if j.Action == "discard" {
				return c.Done(n+" messages were discarded", output.Cell(n))
			}
			return c.Done(n+" messages were moved", output.Cell(n))
		case "paused", "stopped", "cancelled", "failed":
			return command.Failf(command.ExitData, "Job %d is %s (%s): %d messages were moved, %d died again%s",
				j.ID, j.State, j.Why, j.Moved, j.CameBack, after(". ", adviceFor(&j)))
		}
		select {
		case <-c.Ctx.Done():
			return c.Ctx.Err()
		case <-tick.C:
		}
	}
}

// adviceFor says what to do with a job that has stopped because nothing consumes what it moves, "" for any other job.
func adviceFor(j *api.Redrive) string {
	if j.State != "stopped" || j.Why != "no_consumer" {
		return ""
	}
	return fmt.Sprintf("A target queue has no consumers. The job continues when you start one and resume_redrive %d. "+
		"To move the messages without one: cancel_redrive %d, and redrive without --stop-without-consumer", j.ID, j.ID)
}

// advise prints what to do with a job, if there is anything.
func advise(c *command.Call, j *api.Redrive) {
	if advice := adviceFor(j); advice != "" {
		fmt.Fprintln(c.Stderr, advice)
	}
}

// jobNow reads a job.
func jobNow(c *command.Call, id string) (j api.Redrive, err error) {
	if err := c.Client.Get(c.Ctx, &j, "x", "redrives", c.VHost(), id); err != nil {
		return j, noJob(c, err, id)
	}
	return j, nil
}

// after puts a separator before a text that is not empty.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// leftUnknown stands for the messages left of a job that searches with a filter: nobody knows how many will match.
const leftUnknown = "not known while a filter runs"

// progressOf says how far a job is: by what matches, and, while nobody knows how much will match, by what was checked.
func progressOf(j *api.Redrive) string {
	text := fmt.Sprintf("%s: %d matched, %d moved, %d died again", j.State, j.Matched, j.Moved, j.CameBack)
	if j.Left != nil {
		return fmt.Sprintf("%s, %d left", text, *j.Left)
	}
	return fmt.Sprintf("%s, left: %s (%d of %d messages checked)", text, leftUnknown, j.Looked, j.Total)
}

// noJob says that there is no such job, if that is why the broker refused.
func noJob(c *command.Call, err error, id string) error {
	if command.Status(err) == http.StatusNotFound && command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) != http.StatusNotFound {
		return command.Failf(command.ExitData, "Job %s does not exist in virtual host '%s'; '%s list_redrives' lists those that exist",
			id, c.VHost(), c.Program)
	}
	return notFound(c, err)
}

// jobOf reads the number of a job, the first argument.
func jobOf(c *command.Call) (id string, err error) {
	id = c.Args[0]
	if n, err := strconv.ParseUint(id, 10, 63); err != nil || n == 0 {
		return "", c.Invalid(fmt.Sprintf("'%s' is not the number of a job; '%s list_redrives' lists the jobs", id, c.Program))
	}
	return id, nil
}

func listRedrives(c *command.Call) error {
	columns, err := c.Choose(command.Same(redriveColumns), "id action source filter state why matched moved came_back left begun")
	if err != nil {
		return err
	}
	c.Banner("Listing redrives of vhost %s ...", c.VHost())
	rows, err := c.VhostRows("x", "redrives", c.VHost())
	if err != nil {
		return err
	}
	if !strings.HasPrefix(c.Formatter(), "json") {
		for _, row := range rows {
			nameLeft(row)
		}
	}
	return c.Show(columns, rows)
}

// nameLeft shows words for the messages left if nobody knows how many there are.
func nameLeft(job command.Row) {
	if left, ok := job["left"]; ok && string(left) == "null" {
		job["left"] = output.StringCell(leftUnknown)
	}
}

func showRedrive(c *command.Call) error {
	id, err := jobOf(c)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Client.Get(c.Ctx, &raw, "x", "redrives", c.VHost(), id); err != nil {
		return noJob(c, err, id)
	}
	if c.Options.On("wait") {
		return waitForJob(c, id)
	}
	return showJob(c, raw)
}

// showJob shows one job, a line for each of its values.
func showJob(c *command.Call, raw json.RawMessage) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowRaw(raw)
	}
	var shown command.Row
	if err := json.Unmarshal(raw, &shown); err != nil {
		return err
	}
	nameLeft(shown)
	for _, name := range strings.Fields(redriveColumns) {
		c.Line(name, shown[name])
	}
	var j api.Redrive
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	advise(c, &j)
	return nil
}

// changeRedrive does something to a job.
func changeRedrive(verb string) func(*command.Call) error {
	return func(c *command.Call) error {
		id, err := jobOf(c)
		if err != nil {
			return err
		}
		c.Banner("Changing redrive %s of vhost '%s': %s ...", id, c.VHost(), verb)
		if err := c.Client.Post(c.Ctx, nil, nil, "x", "redrives", c.VHost(), id, verb); err != nil {
			return noJob(c, err, id)
		}
		return c.Done("", nil)
	}
}

func rateRedrive(c *command.Call) error {
	id, err := jobOf(c)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(c.Args[1], 10, 64)
	if err != nil || n < 0 {
		return c.Invalid(fmt.Sprintf("'%s' is not a number of messages per second", c.Args[1]))
	}
	rate := api.Integer(n)
	c.Banner("Setting the rate of redrive %s of vhost '%s' to %d ...", id, c.VHost(), n)
	_, err = c.Client.Do(c.Ctx, http.MethodPatch, api.Path("x", "redrives", c.VHost(), id), api.PatchRedrive{Rate: &rate}, nil)
	if err != nil {
		return noJob(c, err, id)
	}
	return c.Done("", nil)
}

func forgetRedrive(c *command.Call) error {
	id, err := jobOf(c)
	if err != nil {
		return err
	}
	c.Banner("Deleting redrive %s of vhost '%s' ...", id, c.VHost())
	if err := c.Client.Delete(c.Ctx, "x", "redrives", c.VHost(), id); err != nil {
		return noJob(c, err, id)
	}
	return c.Done("", nil)
}
