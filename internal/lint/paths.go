package lint

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Path is what follows if something happens to a message of a queue.
type Path struct {
	Event   string // reject, expire, overflow, delivery_limit, consumer_timeout, crash, target_missing
	Happens bool   // it can, as the queue is set
	Code    string // one of PathCodes: when it does
	Params  []Param
	Steps   []Step
}

// When tells in English when the event happens.
func (p *Path) When() string { return fill(pathTexts[p.Code], p.Params) }

// A Guarantee is what is certain about a message after a step.
type Guarantee string

// The guarantees.
const (
	KeptThere   Guarantee = "kept"    // it is where it was
	MovedOn     Guarantee = "moved"   // in one batch: it is in its queue or in all of the next ones, whatever crashes
	HeldBack    Guarantee = "held"    // in its queue, for consumers not to see, until its targets take it
	InLostStore Guarantee = "shelf"   // among the lost letters
	LostThere   Guarantee = "lost"    // nowhere
	Refused     Guarantee = "refused" // it never came in, and its publisher is told
)

// A Step is one thing that happens to a message, or to a copy of it.
type Step struct {
	After       int    // the place in Steps, and 1, of the step that it follows; 0: the event
	Queue       string // where the message is
	Reason      string // why it leaves: rejected, expired, maxlen, delivery_limit; "" if it stays
	HasExchange bool
	Exchange    string // through which it goes
	Keys        []string
	OwnKeys     bool // with the keys that it has
	Queues      []string
	Sure        bool // it does not depend on the message
	Code        string
	Guarantee   Guarantee
	Loop        bool     // it comes to a queue that it was in
	DeadEnd     bool     // nothing takes it on from there
	Full        []string // of Queues, those that have no space now
	Params      []Param
}

// Text tells the step in English.
func (s *Step) Text() string {
	return fill(pathTexts[s.Code], append(s.Params, Param{"queue", s.Queue}))
}

const (
	// PathStepsMax and pathHopsMax bound how far a message is followed, and pathFanMax into how many queues of one hop.
	PathStepsMax, pathHopsMax, pathFanMax = 64, 16, 8
	// pathQueuesMax is how many queues a step names.
	pathQueuesMax = 20
)

// Paths tells where a message of a queue goes on each event; ok is false if there is no such queue.
func (s *Analysis) Paths(queue string) (paths []Path, ok bool) {
	i, ok := s.queues[queue]
	if !ok {
		return nil, false
	}
	for _, of := range []func(*follower, int) Path{
		(*follower).onReject, (*follower).onExpire, (*follower).onOverflow, (*follower).onLimit, (*follower).onTimeout, (*follower).onCrash,
		(*follower).onMissing,
	} {
		f := &follower{Analysis: s}
		p := of(f, i)
		p.Steps = f.steps
		paths = append(paths, p)
	}
	return paths, true
}

// follower follows a message.
type follower struct {
	*Analysis
	steps []Step
}

// seen reports whether a message that has died so was in a queue.
func seen(deaths []fact.Death, queue string) bool {
	return slices.ContainsFunc(deaths, func(d fact.Death) bool { return d.Queue == queue })
}

// add adds a step and tells its number.
func (f *follower) add(s Step) int {
	if len(f.steps) == PathStepsMax-1 {
		s = Step{After: s.After, Queue: s.Queue, Code: "more", Guarantee: KeptThere}
	}
	if len(f.steps) < PathStepsMax {
		f.steps = append(f.steps, s)
	}
	return len(f.steps)
}

// full reports whether no more steps are taken.
func (f *follower) full() bool { return len(f.steps) >= PathStepsMax }

// nowhere is what becomes of a dead letter that finds no place.
func (f *follower) nowhere(set *vhost.Settings) (fate Param, g Guarantee) {
	fate = f.fate(set)
	return fate, map[string]Guarantee{"held": HeldBack, "shelf": InLostStore, "gone": LostThere}[fate.Value]
}

// die follows a message that dies in queue i, of whose keys that is known.
func (f *follower) die(after, i int, reason fact.Reason, keys []keyShape, before []fact.Death) {
	f.dieAs(after, i, reason, keys, before, &f.Queues[i].Settings)
}

// dieAtTheDoor follows one that queue i has no space for: it is never held there.
func (f *follower) dieAtTheDoor(after, i int, keys []keyShape, before []fact.Death) {
	set := f.Queues[i].Settings
	set.AtLeastOnce = false
	f.dieAs(after, i, fact.MaxLen, keys, before, &set)
}

func (f *follower) dieAs(after, i int, reason fact.Reason, keys []keyShape, before []fact.Death, set *vhost.Settings) {
	q := &f.Queues[i]
	step := Step{After: after, Queue: q.Name, Reason: reason.String(), Sure: true}
	if !hasDLX(set) {
		step.Code, step.Guarantee, step.DeadEnd = "no_dlx", LostThere, true
		if reason == fact.DeliveryLimit && f.options.LostLettersMaxBytes > 0 {
			step.Code, step.Guarantee = "no_dlx_limit", InLostStore
		}
		f.add(step)
		return
	}
	step.HasExchange, step.Exchange = true, set.DeadLetterExchange
	step.Params = append(step.Params, Param{"exchange", step.Exchange})
	if step.OwnKeys = !hasDLRK(set); !step.OwnKeys {
		keys = []keyShape{{text: set.DeadLetterRoutingKey}}
	}
	for _, k := range keys {
		if k.kind == shapeExact {
			step.Keys = append(step.Keys, k.text)
		}
	}
	fate, guarantee := f.nowhere(set)
	if f.topo.Exchange(set.DeadLetterExchange) == nil {
		step.Code, step.Guarantee, step.DeadEnd = "no_exchange", guarantee, true
		step.Params = append(step.Params, fate)
		f.add(step)
		return
	}
	way := f.onTheWay(set.DeadLetterExchange, keys)
	switch {
	case way.none() && way.unknown:
		step.Code, step.Guarantee, step.Sure = "hop_by_name", MovedOn, false
		f.add(step)
		return
	case way.none():
		step.Code, step.Guarantee, step.DeadEnd = "no_route", guarantee, true
		step.Params = append(step.Params, fate)
		f.add(step)
		return
	}
	f.hop(step, i, reason, keys, append([]fact.Death{{Queue: q.Name, Reason: reason}}, before...), way, set)
}

// deadLetterRoute is where a dead letter goes whose key is one of several.
type deadLetterRoute struct {
	reach
	unknown bool // to the queue that its key names, if there is one
}

func (f *follower) onTheWay(exchange string, keys []keyShape) deadLetterRoute {
	var w deadLetterRoute
	reached := map[int]int{} // by how many keys for sure; with none they are there, too
	for _, k := range keys {
		r := &f.reached[f.reachOf(exchange, k)]
		w.misses = w.misses || r.misses
		w.unknown = w.unknown || r.none() && exchange == "" && k.kind != shapeExact
		w.keepers = append(w.keepers, r.keepers...)
		for _, q := range r.sure {
			reached[q]++
		}
		for _, q := range r.maybe {
			reached[q] += 0
		}
	}
	for q, n := range reached {
		if n == len(keys) {
			w.sure = append(w.sure, q)
		} else {
			w.maybe = append(w.maybe, q)
		}
	}
	slices.Sort(w.sure)
	slices.Sort(w.maybe)
	return w
}

// hop follows a dead letter into its targets.
func (f *follower) hop(step Step, from int, reason fact.Reason, keys []keyShape, before []fact.Death, way deadLetterRoute, set *vhost.Settings) {
	targets := way.all()
	step.Code, step.Guarantee, step.Sure = "hop", MovedOn, len(way.maybe) == 0 && !way.misses
	switch {
	case len(way.keepers) > 0:
		step.Code = "hop_delayed"
	case set.AtLeastOnce:
		step.Code = "hop_at_least_once"
	}
	for _, t := range targets {
		if len(step.Queues) < pathQueuesMax {
			step.Queues = append(step.Queues, f.Queues[t].Name)
		}
		if f.Queues[t].Refuses && len(step.Full) < pathQueuesMax {
			step.Full = append(step.Full, f.Queues[t].Name)
		}
	}
	step.Params = append(step.Params, Param{"queues", named(step.Queues)})
	at := f.add(step)
	if reason == fact.Expired && set.CycleKeep && !slices.ContainsFunc(targets, func(t int) bool { return !fact.Cycles(before, f.Queues[t].Name) }) {
		f.add(Step{After: at, Queue: f.Queues[from].Name, Sure: step.Sure, Code: "cycle_kept", Guarantee: KeptThere, Loop: true, DeadEnd: true,
			Params: []Param{{"target", named(step.Queues)}}})
		return
	}
	for n, t := range targets {
		if n == pathFanMax {
			f.add(Step{After: at, Queue: f.Queues[from].Name, Code: "more_queues", Guarantee: MovedOn, Params: []Param{number("count", int64(len(targets)-n))}})
			return
		}
		if f.full() {
			return
		}
		f.arrive(at, t, keys, before, n < len(way.sure), set)
	}
}

// arrive follows a dead letter that came to queue t.
func (f *follower) arrive(after, t int, keys []keyShape, before []fact.Death, sure bool, source *vhost.Settings) {
	q := &f.Queues[t]
	step := Step{After: after, Queue: q.Name, Sure: sure}
	fate, guarantee := f.nowhere(source)
	switch {
	case fact.Cycles(before, q.Name):
		step.Code, step.Guarantee, step.Loop, step.DeadEnd = "cycle", guarantee, true, true
		step.Params = []Param{fate}
	case q.Refuses && q.Settings.PassesOn():
		f.dieAtTheDoor(after, t, keys, before)
		return
	case q.Refuses:
		step.Code, step.Guarantee, step.DeadEnd, step.Full = "target_full", guarantee, true, []string{q.Name}
		step.Params = []Param{fate}
	case seen(before, q.Name):
		step.Code, step.Guarantee, step.Loop = "goes_round", KeptThere, true
	default:
		f.rest(after, t, keys, before, sure)
		return
	}
	f.add(step)
}

// rest follows a dead letter that is in queue t and that nobody has consumed yet.
func (f *follower) rest(after, t int, keys []keyShape, before []fact.Death, sure bool) {
	q := &f.Queues[t]
	set := &q.Settings
	step := Step{After: after, Queue: q.Name, Sure: sure, Guarantee: KeptThere, Params: []Param{
		number("consumers", int64(q.Consumers)), number("messages", int64(q.Ready+q.Unacked+q.Waiting+q.Held)),
	}}
	switch {
	case f.ages(t, len(before)) && len(before) < pathHopsMax:
		step.Code = "waits_ttl"
		step.Params = append(step.Params, number("ms", set.TTL))
		f.die(f.add(step), t, fact.Expired, keys, before)
		return
	case f.ages(t, len(before)):
		step.Code = "more"
	case set.Limited() && set.Overflow.DropsHead():
		step.Code, step.DeadEnd = "rests_bounded", q.Consumers == 0
		step.Params = append(step.Params, limitOf(set))
	case q.Consumers > 0:
		step.Code = "rests"
	default:
		step.Code, step.DeadEnd = "rests_alone", true
	}
	f.add(step)
}
