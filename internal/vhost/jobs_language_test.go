package vhost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ways are the words for where messages go; EXCHANGE:KEY is elsewhere, EXCHANGE: with their own keys.
var wayWords = map[string]Target{"origin": TargetOrigin, "queue": TargetQueue, "on": TargetOnward}

// where reads QUEUE, or lost.
func where(name string) Where {
	if name == "lost" {
		return Where{Lost: true}
	}
	return Where{Queue: name}
}

// way reads the option way, and to-queue.
func (l *line) way() (w Target, queue, exchange, key string, own bool, err error) {
	queue = l.text("to-queue")
	text, has := l.option("way")
	w, known := wayWords[text]
	switch {
	case queue != "":
		w = TargetQueue
	case has && !known:
		var elsewhere bool
		if exchange, key, elsewhere = strings.Cut(text, ":"); !elsewhere {
			return w, "", "", "", false, fmt.Errorf("%q is no way", text)
		}
		w, own = TargetExchange, key == ""
	}
	return w, queue, exchange, key, own, nil
}

// order reads what a job is to do.
func (l *line) order() (o *JobSpec, err error) {
	o = &JobSpec{
		Source: where(l.operand(0)), Discard: l.has("discard"), Newest: l.has("newest"), Ramp: l.has("ramp"), Filter: l.text("filter"),
		StopNoConsumer: l.has("stop-no-consumer"), StripDeaths: l.has("strip"), DropExpiration: l.has("drop-expiration"),
		Force: l.has("force"),
		Max:   uint64(l.number("most")), Rate: uint64(l.number("rate")), Canary: uint64(l.number("canary")),
		Watch: uint64(l.number("watch")), StopPercent: uint64(l.number("percent")), User: "guest",
	}
	if ids, has := l.option("ids"); has {
		for s := range strings.SplitSeq(ids, ",") {
			id, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				return nil, err
			}
			o.IDs = append(o.IDs, id)
		}
	}
	o.Target, o.Queue, o.Exchange, o.Key, o.Keys, err = l.way()
	return o, err
}

// jobChange reads ID ACTION.
func (l *line) jobChange() (*JobChange, error) {
	id, err := strconv.ParseUint(l.operand(0), 10, 64)
	x := &JobChange{Job: fact.JobID(id)}
	x.Action = map[string]JobAction{"pause": JobPause, "resume": JobResume, "cancel": JobCancel, "rate": JobRate, "forget": JobForget}[l.operand(1)]
	if rate := l.operand(2); rate != "" && err == nil {
		x.Rate, err = strconv.ParseUint(rate, 10, 64)
	}
	return x, err
}

// edit reads QUEUE ID BODY, and what a publish has.
func (l *line) edit(c *Command) error {
	id, err := strconv.ParseUint(l.operand(1), 10, 64)
	if err != nil {
		return err
	}
	x := &Edit{Source: where(l.operand(0)), ID: id, Keep: l.has("keep"), Force: l.has("force")}
	body := l.operand(2)
	if x.Way, x.Queue, x.Exchange, x.Key, _, err = l.way(); err != nil {
		return err
	}
	if err := l.publish(c); err != nil {
		return err
	}
	c.Exchange, c.Key, c.Body, c.Edit = nil, nil, []byte(body), x
	return nil
}

// showJobs prints the jobs, the oldest first.
func (sc *scenario) showJobs() {
	all := sc.world.v.Reader().Redrives()
	for i := range all {
		j := &all[len(all)-1-i]
		fmt.Fprintf(&sc.out, "job %d %s looked=%d moved=%d back=%d of=%d", j.ID, j.State, j.Looked, j.Moved, j.CameBack, j.Total)
		if j.Note != "" {
			fmt.Fprintf(&sc.out, " note=%s", j.Note)
		}
		for _, w := range SkipReasons() {
			if n := j.Refused[w]; n > 0 {
				fmt.Fprintf(&sc.out, " %s=%d", w, n)
			}
		}
		sc.out.WriteString("\n")
	}
}

// jobFact renders a fact about a job.
func jobFact(f *fact.Fact) string {
	r := fact.Decoder{Rest: f.Bytes}
	switch f.Kind {
	case fact.JobBegun:
		o := readJobSpec(&r)
		return fmt.Sprintf("job %d begun by %s", f.N, o.User)
	case fact.JobForgotten:
		return fmt.Sprintf("job %d forgotten", f.N)
	}
	p := readProgress(&r)
	return fmt.Sprintf("job %d %s looked=%d moved=%d back=%d", f.N, p.State, p.Looked, p.Moved, p.CameBack)
}
