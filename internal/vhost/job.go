package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Rights tell what the users of jobs may do now. A job is decided by them and not by those of when it began. They are
// not in the log: what was decided is.
type Rights interface {
	// Job is why the user of a job may not have it carried out, nil if the user may.
	Job(o *JobSpec) error
	// Message tells whether the user of a job sees a message of its source, and may have it taken.
	Message(o *JobSpec, x *Seen) (sees, may bool)
}

// A Job sends messages back, or discards them: many, one after the other, at its pace. It is durable state:
// what it has done is in the log together with the messages that it moved, so that a restart goes on where it
// was, and no message goes twice. Source: ours, decision 16.
type Job struct {
	ID fact.JobID
	JobSpec
	Progress
}

// A JobSpec is what a job is to do.
type JobSpec struct {
	User     string
	Discard  bool        // messages go to the lost store, or are gone if they are there
	Source   Where       // a queue or the lost store
	IDs      []MessageID // these, at most JobIDsMax; else
	Filter   string      // those that it lets through, as package filter reads it
	Max      uint64      // at most so many; 0: no limit
	Newest   bool        // the newest first
	Target   Target
	Keys     bool   // of TargetExchange: with their own keys
	Exchange string // of TargetExchange
	Key      string // of TargetExchange
	Queue    string // of TargetQueue: this one for all of them; "": each to the queue where it failed
	Force    bool   // messages may go to the source

	Rate           uint64 // messages per second, 0: as fast as may be
	Canary         uint64 // so many first, 0: none
	Watch          uint64 // ms that are waited after the canary, each step of the ramp, and the last message
	Ramp           bool   // ten times as many after each watch
	StopPercent    uint64 // that may come back of those that were sent lately; 0: any number
	StopNoConsumer bool   // stop before a queue without consumers
	StripDeaths    bool
	DropExpiration bool
}

// Where names where messages are: a queue, the lost letters, or a delayed exchange, of which a job takes none.
type Where struct {
	Queue    string
	Lost     bool
	Schedule string
}

// A Target is where a message is sent.
type Target uint8

// The targets. TargetOnward is for lost letters alone: where they were going.
const (
	TargetOrigin   Target = iota // the exchange and keys that it was published with first
	TargetQueue                  // a queue, past all exchanges: the one where it failed, see For, or one that the job names
	TargetExchange               // an exchange that the job names
	TargetOnward
	targetKinds
)

// JobState is how a job stands.
type JobState uint8

// The states. A job that is paused or stopped may go on; the last three are the end.
const (
	JobRunning JobState = iota + 1
	JobWatching
	JobPaused
	JobStopped // by itself
	JobDone
	JobCancelled
	JobFailed
	jobStates
)

// String names the state as lists show it.
func (s JobState) String() string {
	if s >= jobStates {
		return "unknown"
	}
	return [jobStates]string{"", "running", "watching", "paused", "stopped", "done", "cancelled", "failed"}[s]
}

// active reports whether time makes the job go on.
func (s JobState) active() bool { return s == JobRunning || s == JobWatching }

// Ended reports whether it never will.
func (s JobState) Ended() bool { return s >= JobDone }

// SkipReason is why a job leaves a message where it is.
type SkipReason uint8

// The reasons.
const (
	SkipNoExchange SkipReason = iota + 1 // the exchange is not there
	SkipNoRoute                          // it leads to no queue
	SkipRefused                          // a queue has no space
	SkipNoQueue                          // the queue is not there
	SkipUnknown                          // there is no such message
	SkipBusy                             // a consumer has it, it waits, or it is held
	SkipAccess                           // the user of the job may not see it, or not publish it where it would go
	SkipNoOrigin                         // nobody knows where it failed
	SkipSameQueue                        // it would come to the queue where it is, which nobody has forced
	skipReasons
)

// String names the reason as lists show it.
func (w SkipReason) String() string {
	if w >= skipReasons {
		return "unknown"
	}
	return [skipReasons]string{
		"", "no_exchange", "no_route", "refused", "no_queue", "unknown", "busy", "access", "no_origin", "same_queue",
	}[w]
}

// SkipReasons lists the reasons.
func SkipReasons() []SkipReason {
	all := make([]SkipReason, 0, skipReasons-1)
	for w := SkipNoExchange; w < skipReasons; w++ {
		all = append(all, w)
	}
	return all
}

// Progress is how far a job has come.
type Progress struct {
	State    JobState
	Note     string           // why it stopped, failed, or was paused
	Begun    deadline.Instant // wall clock
	Ended    deadline.Instant // wall clock, 0: it goes on
	Cursor   uint64           // messages before it were looked at: the number behind the last one, or how many of IDs
	Bounds   []uint64         // by priority: what came later is none of its business
	Total    uint64           // messages that were there when it began, or IDs
	Looked   uint64
	Moved    uint64
	Refused  [skipReasons]uint64
	CameBack uint64
	Rate     uint64           // messages per second now, 0: as fast as may be
	Quota    uint64           // of Moved, after which it watches; 0: there is none
	Until    deadline.Instant // vhost time: while it watches
	Finished bool             // there is nothing left to look at
	BaseSent uint64           // Moved when what is counted for StopPercent began: one or two stretches ago
	BaseBack uint64           // CameBack at that time
	MidSent  uint64           // Moved when the last stretch began
	MidBack  uint64           // CameBack at that time
}

// job is a Job with what is not in the log.
type job struct {
	Job
	filter *filter.Filter
	since  deadline.Instant // vhost time: from then on the rate counts, 0: not begun
	sent   uint64           // Moved at that time
	next   deadline.Instant // in the set of deadlines, 0: it is not
	back   uint64           // of CameBack: not in the log yet
}

// owner is whose deadline j.next is.
func (j *job) owner() uint64 { return uint64(j.ID)<<ownBits | ownJob }

func (j *job) shown() Job {
	shown := j.Job
	shown.CameBack += j.back
	return shown
}

// jobs are those of a vhost, by number.
type jobs struct {
	all  []*job
	last fact.JobID
}

func (x *jobs) find(id fact.JobID) *job {
	for _, j := range x.all {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// open counts the jobs that have not ended, and those of them that are a user's.
func (x *jobs) open(user string) (all, own int) {
	for _, j := range x.all {
		if j.State.Ended() {
			continue
		}
		if all++; j.User == user {
			own++
		}
	}
	return all, own
}

// check refuses a job that makes no sense.
func (o *JobSpec) check() *amqp.Error {
	switch {
	case o.Source.Lost == (o.Source.Queue != ""):
		return amqp.PreconditionFailed("a redrive needs a queue or the lost letters as its source")
	case o.Target >= targetKinds || o.Target == TargetOnward && !o.Source.Lost:
		return amqp.PreconditionFailed("a redrive has no valid target")
	case len(o.IDs) > JobIDsMax:
		return amqp.PreconditionFailed("%d ids exceed the limit of %d: use a filter", len(o.IDs), JobIDsMax)
	case o.Rate > rateMax:
		return amqp.PreconditionFailed("a rate of %d exceeds the limit of %d messages per second", o.Rate, rateMax)
	case o.Watch > watchMax:
		return amqp.PreconditionFailed("%d ms exceed the maximum watch time of one day", o.Watch)
	case o.StopPercent > 100:
		return amqp.PreconditionFailed("%d is not a percentage", o.StopPercent)
	case len(o.Filter) > jobTextMax:
		return amqp.PreconditionFailed("a filter has %d bytes: the maximum is %d", len(o.Filter), jobTextMax)
	}
	return nil
}

// A job spec as bytes: flags(1) flags(1) way(1), texts, numbers, IDs. Strings have their length before them, numbers
// are uvarints.
func appendJobSpec(b []byte, o *JobSpec) []byte {
	b = append(b, fact.Bits(o.Discard, o.Source.Lost, o.Newest, o.Keys, o.Ramp))
	b = append(b, fact.Bits(o.StopNoConsumer, o.StripDeaths, o.DropExpiration, o.Force), byte(o.Target))
	for _, text := range []string{o.User, o.Source.Queue, o.Filter, o.Exchange, o.Key, o.Queue} {
		b = fact.AppendText(b, text)
	}
	for _, n := range []uint64{o.Max, o.Rate, o.Canary, o.Watch, o.StopPercent} {
		b = binary.AppendUvarint(b, n)
	}
	return appendNumbers(b, o.IDs)
}

func readJobSpec(r *fact.Decoder) (o JobSpec) {
	one, two := r.Byte(), r.Byte()
	o.Discard, o.Source.Lost, o.Newest, o.Keys, o.Ramp = one&1 != 0, one&2 != 0, one&4 != 0, one&8 != 0, one&16 != 0
	o.StopNoConsumer, o.StripDeaths, o.DropExpiration, o.Force = two&1 != 0, two&2 != 0, two&4 != 0, two&8 != 0
	o.Target = Target(r.Byte())
	for _, to := range []*string{&o.User, &o.Source.Queue, &o.Filter, &o.Exchange, &o.Key, &o.Queue} {
		*to = r.Text()
	}
	for _, to := range []*uint64{&o.Max, &o.Rate, &o.Canary, &o.Watch, &o.StopPercent} {
		*to = r.Uint()
	}
	o.IDs = readNumbers(r)
	return o
}

// refusedFirst is how many refusals are in the log in any case, by reason; others up to the last one that is not zero.
const refusedFirst = int(SkipAccess) + 1

// Progress as bytes: state(1) finished(1) note, numbers, refusals, bounds.
func appendProgress(b []byte, p *Progress) []byte {
	b = append(b, byte(p.State), fact.Bits(p.Finished))
	b = fact.AppendText(b, p.Note)
	for _, n := range []uint64{uint64(p.Begun), uint64(p.Ended), p.Cursor, p.Total, p.Looked, p.Moved, p.CameBack, p.Rate, p.Quota, uint64(p.Until), p.BaseSent, p.BaseBack, p.MidSent, p.MidBack} {
		b = binary.AppendUvarint(b, n)
	}
	n := len(p.Refused)
	for n > refusedFirst && p.Refused[n-1] == 0 {
		n--
	}
	b = appendNumbers(b, p.Refused[:n])
	return appendNumbers(b, p.Bounds)
}

func readProgress(r *fact.Decoder) (p Progress) {
	p.State, p.Finished = JobState(r.Byte()), r.Byte() != 0
	p.Note = r.Text()
	var begun, ended, until uint64
	for _, to := range []*uint64{&begun, &ended, &p.Cursor, &p.Total, &p.Looked, &p.Moved, &p.CameBack, &p.Rate, &p.Quota, &until, &p.BaseSent, &p.BaseBack, &p.MidSent, &p.MidBack} {
		*to = r.Uint()
	}
	p.Begun, p.Ended, p.Until = deadline.Instant(begun), deadline.Instant(ended), deadline.Instant(until)
	copy(p.Refused[:], readNumbers(r))
	p.Bounds = readNumbers(r)
	return p
}

func appendNumbers(b []byte, all []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, n := range all {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func readNumbers(r *fact.Decoder) (all []uint64) {
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		all = append(all, r.Uint())
	}
	return all
}

// begun applies the beginning of a job.
func (v *VHost) begun(f *fact.Fact) {
	r := fact.Decoder{Rest: f.Bytes}
	j := &job{Job: Job{ID: fact.JobID(f.N), JobSpec: readJobSpec(&r)}}
	j.Progress = readProgress(&r)
	j.filter, _ = filter.Parse(j.Filter, int64(j.Begun)) // it was read before it was accepted
	v.jobs.last = max(v.jobs.last, j.ID)
	v.jobs.all = append(v.jobs.all, j)
}

// JobOf reads what JobBegun and JobProgressed tell, for those who look at the log from outside; a JobProgressed has no
// spec.
func JobOf(f *fact.Fact) Job {
	r := fact.Decoder{Rest: f.Bytes}
	j := Job{ID: fact.JobID(f.N)}
	if f.Kind == fact.JobBegun {
		j.JobSpec = readJobSpec(&r)
	}
	j.Progress = readProgress(&r)
	return j
}

// progressed applies how far a job has come.
func (v *VHost) progressed(f *fact.Fact) {
	if j := v.jobs.find(fact.JobID(f.N)); j != nil {
		r := fact.Decoder{Rest: f.Bytes}
		bounds := j.Bounds
		j.Progress = readProgress(&r)
		j.Bounds = bounds
	}
}

// forgotten applies that a job is not remembered any more.
func (v *VHost) forgotten(id fact.JobID) {
	v.jobs.last = max(v.jobs.last, id)
	for i, j := range v.jobs.all {
		if j.ID == id {
			if j.next != 0 {
				v.deadlines.Remove(deadline.Entry{At: j.next, Owner: j.owner()})
			}
			v.jobs.all = append(v.jobs.all[:i:i], v.jobs.all[i+1:]...)
			return
		}
	}
}

// appendJobs adds the facts about all jobs.
func (v *VHost) appendJobs(b []byte) []byte {
	if v.jobs.last > 0 { // its number is not given again
		b = fact.Append(b, &fact.Fact{Kind: fact.JobForgotten, N: uint64(v.jobs.last)}, 0)
	}
	for _, j := range v.jobs.all {
		b = fact.Append(b, &fact.Fact{Kind: fact.JobBegun, N: uint64(j.ID), Bytes: appendProgress(appendJobSpec(nil, &j.JobSpec), &j.Progress)}, 0)
	}
	return b
}

// each visits the messages that a job about a whole queue has not looked at, until fn returns false.
func (j *job) each(source *queueState, p *Progress, fn func(queue.Seq) bool) {
	for i := range p.Bounds {
		lane := i
		if j.Newest {
			lane = len(p.Bounds) - 1 - i
		}
		more := true
		visit := func(seq queue.Seq, _ *queue.Entry) bool {
			if seq.Priority() != lane || uint64(seq) >= p.Bounds[lane] {
				return false
			}
			more = fn(seq)
			return more
		}
		switch first := uint64(queue.First(lane)); {
		case !j.Newest && p.Cursor < p.Bounds[lane]:
			source.messages.Each(queue.Seq(max(p.Cursor, first)), visit)
		case j.Newest && p.Cursor > first:
			source.messages.EachBack(queue.Seq(min(p.Cursor-1, p.Bounds[lane])), visit)
		}
		if !more {
			return
		}
	}
}
