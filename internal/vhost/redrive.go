package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A JobChange is what ChangeRedrive does to a job.
type JobChange struct {
	Job    fact.JobID
	Action JobAction
	Rate   uint64 // of JobRate: messages per second from now on, 0: as fast as may be
	Note   string // of JobPause: by whom
}

// A JobAction is one of what may be done to a job.
type JobAction uint8

// The actions. A job that has ended can only be forgotten, one that has not cannot be.
const (
	JobPause JobAction = iota + 1
	JobResume
	JobCancel
	JobRate
	JobForget
)

// beginRedrive decides BeginRedrive: the job begins with the next tick. Done.Count is its number.
func (s *step) beginRedrive(ch *channel, c *Command) *amqp.Error {
	o := *c.JobSpec
	if err := o.check(); err != nil {
		return err
	}
	if _, err := filter.Parse(o.Filter, int64(s.Wall)); err != nil {
		return amqp.PreconditionFailed("filter: %v", err)
	}
	q := s.whereabouts(o.Source)
	if q == nil {
		return amqp.NotFound("no queue '%s' in vhost '%s'", o.Source.Queue, s.name)
	}
	switch all, own := s.jobs.open(o.User); {
	case all >= jobsOpenMax:
		return amqp.ResourceError("%d redrives are unfinished: wait until one ends", jobsOpenMax)
	case own >= jobsUserMax:
		return amqp.ResourceError("%d redrives of user '%s' are unfinished: wait until one ends", jobsUserMax, o.User)
	}
	switch {
	case o.Discard:
		o.Watch, o.Canary, o.StopPercent = 0, 0, 0
	case o.Watch == 0:
		o.Watch = watchUsual
	}
	p := Progress{State: JobRunning, Begun: s.Wall, Rate: o.Rate, Quota: o.Canary, Total: uint64(len(o.IDs))}
	if o.IDs == nil {
		p.bound(q.messages, o.Newest)
		p.Total = uint64(q.messages.Ready())
	}
	for len(s.jobs.all) >= jobsMax && s.forgetOldest() {
	}
	id := s.jobs.last + 1
	s.emit(&fact.Fact{Kind: fact.JobBegun, Durable: true, N: uint64(id), Bytes: appendProgress(appendJobSpec(nil, &o), &p)})
	s.wakeJob(s.jobs.find(id), s.Now)
	s.done(ch, c, Effect{Count: uint64(id)})
	return nil
}

// bound notes which messages are there, and where to begin among them.
func (p *Progress) bound(m *queue.Messages, newest bool) {
	for _, end := range m.Ends() {
		p.Bounds = append(p.Bounds, uint64(end))
	}
	if newest {
		p.Cursor = p.Bounds[len(p.Bounds)-1] + 1
	}
}

// forgetOldest makes space for a job.
func (s *step) forgetOldest() bool {
	for _, j := range s.jobs.all {
		if j.State.Ended() {
			s.emit(&fact.Fact{Kind: fact.JobForgotten, Durable: true, N: uint64(j.ID)})
			return true
		}
	}
	return false
}

// changeRedrive decides ChangeRedrive.
func (s *step) changeRedrive(ch *channel, c *Command) *amqp.Error {
	x := c.JobChange
	j := s.jobs.find(x.Job)
	if j == nil {
		return amqp.NotFound("no redrive %d in vhost '%s'", x.Job, s.name)
	}
	if j.State.Ended() != (x.Action == JobForget) {
		return amqp.PreconditionFailed("redrive %d is %s", j.ID, j.State)
	}
	p := j.Progress
	switch x.Action {
	case JobPause:
		p.State, p.Note = JobPaused, x.Note
	case JobResume:
		if p.State.active() {
			break
		}
		p.State, p.Note = JobRunning, ""
		p.MidSent, p.MidBack = p.Moved, p.CameBack+j.back
		p.BaseSent, p.BaseBack = p.MidSent, p.MidBack
		if p.Finished {
			p.State, p.Until = JobWatching, s.From+deadline.Instant(j.Watch)
		}
		j.since = 0
	case JobCancel:
		p.State, p.Note, p.Ended = JobCancelled, x.Note, s.Wall
	case JobRate:
		if x.Rate > rateMax {
			return amqp.PreconditionFailed("a rate of %d exceeds the limit of %d messages per second", x.Rate, rateMax)
		}
		p.Rate, j.since = x.Rate, 0
	case JobForget:
		s.emit(&fact.Fact{Kind: fact.JobForgotten, Durable: true, N: uint64(j.ID)})
		s.done(ch, c, Effect{Count: uint64(j.ID)})
		return nil
	default:
		return amqp.NotImplemented("change %d of a redrive", x.Action)
	}
	s.progress(j, &p)
	s.wakeJob(j, s.Now)
	s.done(ch, c, Effect{Count: uint64(j.ID)})
	return nil
}

// progress emits how far a job has come.
func (s *step) progress(j *job, p *Progress) {
	p.CameBack += j.back
	j.back = 0
	if p.State.Ended() && !j.State.Ended() {
		s.traffic.Redrives.Took.note(int64(p.Ended) - int64(p.Begun))
	}
	bounds := p.Bounds
	p.Bounds = nil
	s.emit(&fact.Fact{Kind: fact.JobProgressed, Durable: true, N: uint64(j.ID), Bytes: appendProgress(nil, p)})
	p.Bounds = bounds
}

// wakeJob has a job go on at an instant, or sooner.
func (v *VHost) wakeJob(j *job, at deadline.Instant) {
	if j.next != 0 {
		if j.next <= at {
			return
		}
		v.deadlines.Remove(deadline.Entry{At: j.next, Owner: j.owner()})
	}
	j.next = at
	v.deadlines.Add(deadline.Entry{At: at, Owner: j.owner()})
}

// resumeJobs lets go on what a restart has interrupted.
func (s *step) resumeJobs() {
	for _, j := range s.jobs.all {
		if j.State.active() {
			s.wakeJob(j, s.Now)
		}
	}
}

// countDiedAgain counts a message that was sent back by a job, 0 for none, and has died again.
func (s *step) countDiedAgain(by fact.JobID) {
	if j := s.jobs.find(by); j != nil {
		j.back++
		s.traffic.Redrives.CameBack++
		if source := s.whereabouts(j.Source); source != nil {
			s.fatesOf(source).CameBack++
		}
		s.wakeJob(j, s.From+backDelay)
	}
}

// countDiedAgainAtEnd is countDiedAgain for a message that dies where there is no dead-letter exchange.
func (s *step) countDiedAgainAtEnd(q *queueState, seq queue.Seq) {
	if len(s.jobs.all) == 0 || q.messages.Entry(seq).Flags&queue.HasHistory == 0 {
		return
	}
	h := s.historyAt(q.messages.Side(seq).History)
	s.countDiedAgain(h.Redrive.SentBy())
}

// republished counts a message that was sent back before, and that a client has published anew where failures
// go: into queues from which jobs send. Which job had sent it is not in its headers: the newest one from
// there is taken.
func (s *step) republished(targets []*queueState) {
	for _, q := range targets {
		var by fact.JobID
		for _, j := range s.jobs.all {
			if s.whereabouts(j.Source) == q && j.Moved > 0 {
				by = max(by, j.ID)
			}
		}
		s.countDiedAgain(by)
	}
}

// runJob does the next portion of a job, and tells how much work that was, counted as deadlines.
func (s *step) runJob(j *job) (n int) {
	if j == nil {
		return 1
	}
	j.next = 0
	p := j.Progress
	switch {
	case !p.State.active():
		if j.back > 0 {
			s.progress(j, &p)
		}
		return 1
	case s.tooManyDiedAgain(j, &p):
		p.State, p.Note = JobStopped, "came_back"
		s.progress(j, &p)
		return 1
	case p.State == JobWatching && s.Now < p.Until:
		if j.back > 0 {
			s.progress(j, &p)
		}
		s.wakeJob(j, p.Until)
		return 1
	case p.State == JobWatching && p.Finished:
		p.State, p.Ended = JobDone, s.Wall
		s.progress(j, &p)
		return 1
	case p.State == JobWatching:
		p.State, j.since = JobRunning, 0
		if p.Quota *= 10; !j.Ramp {
			p.Quota = 0
		}
	}
	return s.portion(j, &p)
}

// tooManyDiedAgain reports whether more messages died again than may, of those that were sent lately, since
// somebody let the job go on.
func (v *VHost) tooManyDiedAgain(j *job, p *Progress) bool {
	sent, back := p.Moved-p.BaseSent, p.CameBack+j.back-p.BaseBack
	return j.StopPercent > 0 && back*100 > j.StopPercent*max(sent, j.Sample(p))
}

// Sample is of how many messages at least the share is taken that came back: a single one that fails first is
// none.
func (o *JobSpec) Sample(p *Progress) uint64 {
	if o.Canary > 0 {
		return o.Canary
	}
	return min(jobStretch, max(p.Total, 1))
}

// portion moves some messages of a running job.
func (s *step) portion(j *job, p *Progress) int {
	if s.denied(j) {
		p.State, p.Note = JobStopped, noteAccess
		s.progress(j, p)
		return 1
	}
	source := s.whereabouts(j.Source)
	if source == nil {
		p.State, p.Note, p.Ended = JobFailed, SkipNoQueue.String(), s.Wall
		s.progress(j, p)
		return 1
	}
	may := s.allowance(j, p)
	looked, moved, heavy := p.Looked, p.Moved, 0
	goOn := func() bool {
		return p.Moved-moved < may && !s.full() && p.State == JobRunning && heavy <= jobBytesMax && p.Looked-looked < jobLooksMax
	}
	for more := true; more && goOn(); {
		some := s.candidates(source, j, p, min(int(may-(p.Moved-moved))+jobSpare, jobLooksMax-int(p.Looked-looked)))
		more = len(some) > 0
		for _, seq := range some {
			if !goOn() {
				break
			}
			heavy += s.weight(j, source, seq)
			if s.tryOne(j, p, source, seq); p.State == JobRunning {
				p.pass(j, seq)
			}
		}
	}
	if p.Moved-p.MidSent >= max(jobStretch, j.Canary) { // so that a job of a million notices that everything fails now
		p.BaseSent, p.BaseBack = p.MidSent, p.MidBack
		p.MidSent, p.MidBack = p.Moved, p.CameBack+j.back
	}
	p.Finished = p.Finished || !s.more(source, j, p)
	if j.Max > 0 && p.Moved >= j.Max {
		p.Finished = true
	}
	if p.State == JobRunning && (p.Finished || p.Quota > 0 && p.Moved >= p.Quota) {
		p.State, p.Until = JobWatching, s.From+deadline.Instant(j.Watch)
		if j.Discard || p.Finished && p.Moved == 0 {
			p.State, p.Ended = JobDone, s.Wall
		}
	}
	s.progress(j, p)
	s.markDirty(source, 0)
	switch {
	case p.State == JobWatching:
		s.wakeJob(j, p.Until)
	case p.State == JobRunning:
		s.wakeJob(j, s.nextPortion(j, p))
	}
	return 1 + int(p.Moved-moved)/2 + int(p.Looked-looked)/8
}

// noteAccess is why a job stops whose user may not have it any more.
const noteAccess = "access"

// denied reports whether the user of a job may not have it any more.
func (s *step) denied(j *job) bool {
	return s.Rights != nil && s.Rights.Job(&j.JobSpec) != nil
}

// allowance is how many messages a job may move now.
func (s *step) allowance(j *job, p *Progress) uint64 {
	may := uint64(jobMovesMax)
	if j.Max > 0 {
		may = min(may, j.Max-min(j.Max, p.Moved))
	}
	if p.Quota > 0 {
		may = min(may, p.Quota-min(p.Quota, p.Moved))
	}
	if p.Rate == 0 {
		return may
	}
	if j.since == 0 {
		j.since, j.sent = s.Now, p.Moved
	}
	due := uint64(s.Now-j.since)*p.Rate/1000 + 1
	sent := p.Moved - j.sent
	if due > sent+p.Rate { // it was held up for more than a second: what was missed is not made up for
		j.since, j.sent = s.Now, p.Moved
		due, sent = 1, 0
	}
	return min(may, due-min(due, sent))
}

// nextPortion is when a running job goes on.
func (s *step) nextPortion(j *job, p *Progress) deadline.Instant {
	if p.Rate == 0 {
		return s.Now
	}
	if j.since == 0 {
		j.since, j.sent = s.Now, p.Moved
	}
	at := j.since + deadline.Instant(((p.Moved-j.sent)*1000+p.Rate-1)/p.Rate)
	return max(at, s.Now+jobPace)
}

// candidates lists the next messages that a job looks at, up to most.
func (v *VHost) candidates(source *queueState, j *job, p *Progress, most int) (found []queue.Seq) {
	found = make([]queue.Seq, 0, most)
	if j.IDs != nil {
		for _, id := range j.IDs[min(p.Cursor, uint64(len(j.IDs))):] {
			if len(found) == most {
				break
			}
			found = append(found, seqOf(id))
		}
		return found
	}
	j.each(source, p, func(seq queue.Seq) bool {
		found = append(found, seq)
		return len(found) < most
	})
	return found
}

// pass notes that a message was looked at.
func (p *Progress) pass(j *job, seq queue.Seq) {
	p.Looked++
	if p.Cursor++; j.IDs == nil {
		p.Cursor = idOf(seq)
	}
}

// more reports whether there is anything left to look at.
func (v *VHost) more(source *queueState, j *job, p *Progress) (more bool) {
	if j.IDs != nil {
		return p.Cursor < uint64(len(j.IDs))
	}
	j.each(source, p, func(queue.Seq) bool {
		more = true
		return false
	})
	return more
}

// tryOne moves one message, if it is one of those that the job is about.
func (s *step) tryOne(j *job, p *Progress, source *queueState, seq queue.Seq) {
	x, why := s.chosen(s.Rights, j, source, seq)
	switch {
	case why != 0:
		p.Refused[why]++
		return
	case x == nil:
		return
	case j.Discard:
		s.discardOne(source, seq)
		p.Moved++
		return
	}
	m, order := s.loadMessage(source, seq), j.For(x)
	w, why := s.redriveRoute(order, source, seq, &m)
	switch {
	case why != 0:
		p.Refused[why]++
		s.traffic.Redrives.Refused++
		s.fatesOf(source).RedrivesRefused++
	case j.StopNoConsumer && !order.undoes(&j.JobSpec) && !w.served():
		p.State, p.Note = JobStopped, "no_consumer"
	default:
		s.redriveOne(order, j.ID, w, source, seq, &m, false)
		p.Moved++
	}
}

// chosen shows a message that a job is about, nil if it is not, and why it stays if it was named, or seen.
func (v *VHost) chosen(rights Rights, j *job, source *queueState, seq queue.Seq) (*Seen, SkipReason) {
	e := source.messages.Entry(seq)
	switch {
	case e == nil && j.IDs != nil:
		return nil, SkipUnknown
	case e == nil:
		return nil, 0
	case e.State != queue.Ready && j.IDs != nil:
		return nil, SkipBusy
	case e.State != queue.Ready:
		return nil, 0
	}
	x := v.seen(source, seq, e)
	if h := x.History(); h != nil && h.Redrive.Job == j.ID && j.ID != 0 {
		return nil, 0 // it has come back
	}
	if j.IDs == nil && j.Filter != "" && !x.Passes(j.filter) {
		return nil, 0
	}
	if rights == nil {
		return &x, 0
	}
	switch sees, may := rights.Message(&j.JobSpec, &x); {
	case may:
		return &x, 0
	case sees || j.IDs != nil:
		return nil, SkipAccess
	}
	return nil, 0
}

// weight is about how many octets a filter looks through to know of a message.
func (v *VHost) weight(j *job, source *queueState, seq queue.Seq) int {
	if j.IDs != nil || j.filter == nil || j.filter.Needs()&(filter.Properties|filter.Body) == 0 {
		return 0
	}
	e := source.messages.Entry(seq)
	switch {
	case e == nil:
		return 0
	case j.filter.Needs()&filter.Body == 0:
		return min(int(e.Size), v.headBytes)
	}
	return int(e.Size)
}
