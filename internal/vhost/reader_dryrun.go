package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A RedriveDryRun is what an order would do to the messages that were looked at.
type RedriveDryRun struct {
	Looked, Matches uint64
	Refused         [skipReasons]uint64
	Queues          map[string]uint64 // how many would go into each
	NeverDied       map[string]uint64 // of Queues, by exchange: messages that never died there
	PushedOut       map[string]uint64 // in how many cases another message would have to go for them, likewise
	Bytes           int64             // of the records that match
	There           int               // messages in the source, at the last look
	Sample          []RedriveSample
	Rights          Rights // of the user of the order; nil: the user may do everything

	bodies map[string]int64 // octets that would go into each
}

// A RedriveSample says where one message would go.
type RedriveSample struct {
	ID      MessageID
	Queues  []string
	Skipped SkipReason // it would stay; 0: it would not
}

// samplesMax bounds a RedriveDryRun's samples.
const samplesMax = 20

// DryRunRedrive looks at messages as a job of that order would, up to so many from the cursor on, and adds what would
// become of them to t. It changes nothing. Next is the cursor to go on with, more tells whether there is anything left.
func (r Reader) DryRunRedrive(o *JobSpec, wall int64, cursor uint64, looks int, t *RedriveDryRun) (next uint64, more bool, err *amqp.Error) {
	source, j, err := r.dryRunOf(o, wall)
	if err != nil {
		return 0, false, err
	}
	p := &j.Progress
	if o.IDs == nil {
		p.bound(source.messages, o.Newest)
	}
	if cursor > 0 {
		p.Cursor = cursor
	}
	for _, seq := range r.dryRunAll(j, source, r.v.candidates(source, j, p, min(looks, jobLooksMax)), wall, t) {
		p.pass(j, seq)
	}
	return p.Cursor, r.v.more(source, j, p) && t.wants(o), nil
}

// DryRunRedriveOf is DryRunRedrive for messages that a search has found for the filter of an order, in the order in
// which the job would come to them. Those that are gone meanwhile, or that the filter does not match, count as looked
// at. It returns how many of them were; the caller goes on with the others.
func (r Reader) DryRunRedriveOf(o *JobSpec, wall int64, ids []uint64, t *RedriveDryRun) (looked int, err *amqp.Error) {
	source, j, err := r.dryRunOf(o, wall)
	if err != nil {
		return 0, err
	}
	some := make([]queue.Seq, min(len(ids), jobLooksMax))
	for i := range some {
		some[i] = queue.Seq(ids[i] - 1)
	}
	return len(r.dryRunAll(j, source, some, wall, t)), nil
}

// dryRunOf is a job that is only tried, and where it takes messages.
func (r Reader) dryRunOf(o *JobSpec, wall int64) (*queueState, *job, *amqp.Error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	source := r.v.whereabouts(o.Source)
	if source == nil {
		return nil, nil, amqp.NotFound("no queue '%s' in vhost '%s'", o.Source.Queue, r.v.name)
	}
	filter, err := filter.Parse(o.Filter, wall)
	if err != nil {
		return nil, nil, amqp.PreconditionFailed("filter: %v", err)
	}
	return source, &job{Job: Job{JobSpec: *o}, filter: filter}, nil
}

// dryRunAll tries messages, until the dry run has what it wants or they are too heavy for one look, and returns those
// that it has tried.
func (r Reader) dryRunAll(j *job, source *queueState, all []queue.Seq, wall int64, t *RedriveDryRun) []queue.Seq {
	st := Stamp{Wall: Instant(wall), Now: r.v.logged, From: r.v.logged}
	defer r.keepDraws()()
	heavy := 0
	r.v.work = 0 // no step is under way
	t.There = source.messages.Len()
	for i, seq := range all {
		if !t.wants(&j.JobSpec) || heavy > jobBytesMax || r.v.full() {
			return all[:i]
		}
		heavy += r.v.weight(j, source, seq)
		t.Looked++
		r.dryRunOne(st, j, source, seq, t)
	}
	return all
}

// wants reports whether an order would take another message.
func (t *RedriveDryRun) wants(o *JobSpec) bool { return o.Max == 0 || t.Matches < o.Max }

func (r Reader) dryRunOne(st Stamp, j *job, source *queueState, seq queue.Seq, t *RedriveDryRun) {
	x, why := r.v.chosen(t.Rights, j, source, seq)
	switch {
	case why != 0:
		t.note(RedriveSample{ID: idOf(seq), Skipped: why})
		return
	case x == nil:
		return
	}
	t.Matches++
	t.Bytes += int64(x.Size)
	sample := RedriveSample{ID: x.ID}
	if !j.Discard {
		m := r.v.loadMessage(source, seq)
		w, why := r.v.try(st).redriveRoute(j.For(x), source, seq, &m)
		if why == 0 && slices.ContainsFunc(w.targets, func(q *queueState) bool { return q != source && t.refuses(q, &m) }) {
			why = SkipRefused
		}
		if sample.Skipped = why; why == 0 {
			for _, q := range w.targets {
				sample.Queues = append(sample.Queues, q.object.Name)
				t.put(q, &m)
			}
			if j.Target == TargetOrigin {
				t.noteCopies(&m, sample.Queues)
			}
		}
	}
	t.note(sample)
}

// with is how much would come into a queue with a message, and with what goes there before it: messages, and octets of
// bodies.
func (t *RedriveDryRun) with(q *queueState, m *message) (n, octets int64) {
	name := q.object.Name
	return int64(t.Queues[name]) + 1, t.bodies[name] + int64(m.body.size())
}

// refuses is queueState.refuses, if all went that would.
func (t *RedriveDryRun) refuses(q *queueState, m *message) bool {
	n, octets := t.with(q, m)
	return q.refusesMore(n, octets, m.history != nil)
}

// put counts a message that would go into a queue. It is not noted yet.
func (t *RedriveDryRun) put(q *queueState, m *message) {
	name := q.object.Name
	n, octets := t.with(q, m)
	if q.settings.Overflow.DropsHead() && q.overWith(q.settings, queue.Gone, n, octets) {
		if t.PushedOut == nil {
			t.PushedOut = map[string]uint64{}
		}
		t.PushedOut[name]++
	}
	if t.bodies == nil {
		t.bodies = map[string]int64{}
	}
	t.bodies[name] = octets
}

// noteCopies counts the queues to which a message would go though it never died there. Of one of which nobody
// knows where it failed that is not known either.
func (t *RedriveDryRun) noteCopies(m *message, queues []string) {
	failed := m.cameFrom().Queue
	if failed == "" {
		return
	}
	h := m.past()
	for _, name := range queues {
		if name == failed || slices.ContainsFunc(h.Deaths, func(d fact.Death) bool { return d.Queue == name }) {
			continue
		}
		if t.NeverDied == nil {
			t.NeverDied = map[string]uint64{}
		}
		t.NeverDied[name]++
	}
}

func (t *RedriveDryRun) note(x RedriveSample) {
	if x.Skipped != 0 {
		t.Refused[x.Skipped]++
	}
	if t.Queues == nil {
		t.Queues = map[string]uint64{}
	}
	for _, q := range x.Queues {
		t.Queues[q]++
	}
	if len(t.Sample) < samplesMax {
		t.Sample = append(t.Sample, x)
	}
}

// A ResendDryRun is what an Edit would do.
type ResendDryRun struct {
	Skipped SkipReason // the original stays; 0: it goes
	From    Origin     // of the edited message: with its CC now, and the BCC that the original had
	Queues  []string
}

// DryRunResend tells what a Resend would do now. It changes nothing.
func (r Reader) DryRunResend(c *Command, wall int64) (t ResendDryRun, err *amqp.Error) {
	defer r.keepDraws()()
	e, err := r.v.try(Stamp{Wall: Instant(wall), Now: r.v.logged, From: r.v.logged}).edited(c)
	if err != nil {
		return t, err
	}
	t = ResendDryRun{Skipped: e.skipped, From: e.from}
	for _, q := range e.targets {
		t.Queues = append(t.Queues, q.object.Name)
	}
	return t, nil
}
