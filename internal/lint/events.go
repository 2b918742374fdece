package lint

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// The texts of paths: when something happens, and what follows. {queue} is where the message is; for {fate} stands one
// of phrases.
var pathTexts = map[string]string{
	"on_reject":            "A consumer rejects or nacks a message with requeue=false.",
	"on_expire":            "A message is ready for {ms}, or until its own expiration, if that is shorter.",
	"on_expiration":        "The queue has no message TTL: only messages published with an expiration expire.",
	"on_drop_head":         "The queue is full ({limit}) and another message arrives: the oldest message dies.",
	"on_drop_lowest":       "The queue is full ({limit}) and another message arrives: the oldest message of the lowest priority dies.",
	"on_reject_publish":    "The queue is full ({limit}) and another message arrives: the new message is rejected.",
	"on_reject_dlx":        "The queue is full ({limit}) and another message arrives: the new message dies, and its publisher gets a basic.nack.",
	"on_no_limit":          "The queue has no length limit.",
	"on_delivery_limit":    "A message is returned, unacknowledged or with requeue=true, more than {limit} times.",
	"on_no_delivery_limit": "The queue has no delivery limit.",
	"on_consumer_timeout":  "A consumer does not acknowledge a message within {ms}.",
	"on_no_timeout":        "The queue has no consumer timeout.",
	"on_crash":             "The broker crashes and restarts.",
	"on_target_missing":    "The dead-letter exchange is deleted, routes to no queue, or the target is full.",
	"on_no_dlx":            "The queue has no dead-letter exchange.",

	"no_dlx":            "Queue '{queue}' has no dead-letter exchange: the message is lost.",
	"no_dlx_limit":      "Queue '{queue}' has no dead-letter exchange: the message becomes a lost letter.",
	"no_exchange":       "Exchange '{exchange}' does not exist: dead letters of queue '{queue}' {fate}.",
	"no_route":          "Exchange '{exchange}' routes to no queue: dead letters of queue '{queue}' {fate}.",
	"hop":               "The message moves through exchange '{exchange}' to {queues} in one batch: a crash neither loses nor duplicates it.",
	"hop_at_least_once": "The message moves through exchange '{exchange}' to {queues} in one batch. The queue holds it for targets that cannot take it.",
	"hop_delayed":       "The message moves through exchange '{exchange}' to {queues}. With an x-delay header, it first waits in the delayed exchange.",
	"hop_by_name":       "The message moves through the default exchange to the queue named by its routing key, if it exists.",
	"cycle":             "The message was in queue '{queue}' before and was not rejected since: such dead letters {fate}.",
	"cycle_kept":        "The message would return to queue '{target}' without a rejection: it stays in queue '{queue}' and does not expire any more.",
	"goes_round":        "The message is in queue '{queue}' again because it was rejected on the way: this can go on forever.",
	"target_full":       "Queue '{queue}' is full and rejects it: such dead letters {fate}.",
	"waits_ttl":         "The message is in queue '{queue}'. If it is not consumed within {ms}, it dies.",
	"rests":             "The message is in queue '{queue}' until one of {consumers} consumers takes it.",
	"rests_alone":       "The message is in queue '{queue}', which has no consumers.",
	"rests_bounded":     "The message is in queue '{queue}' until it is consumed or the limit pushes it out ({limit}).",
	"refused":           "The message is not queued. A publisher with confirms gets a basic.nack.",
	"returns":           "The message is ready again at its old position in queue '{queue}', marked as redelivered.",
	"waits_retry":       "The message waits in queue '{queue}', {ms} the first time, and is then ready again.",
	"taken_back":        "The message is requeued, and the consumer is cancelled.",
	"shelf_keeps":       "Lost letters are kept for {ms}, up to {bytes} in total. republish_lost_letters publishes them again.",
	"held_retries":      "Held dead letters are retried when exchanges, bindings or policies change, when the target has space, and periodically.",

	"restart_persistent": "Confirmed persistent messages of queue '{queue}' are kept, each once and in order.",
	"restart_unacked":    "Unacknowledged messages are ready again, marked as redelivered.",
	"restart_transient":  "Messages with delivery mode 1 are lost.",
	"restart_quorum":     "Messages with delivery mode 1 are kept too, since this is a quorum queue.",
	"restart_queue":      "Queue '{queue}' is not durable: it is deleted with all its messages.",
	"restart_hop":        "A dead letter in transit is in queue '{queue}' or in all its targets, never in both and never lost.",
	"restart_held":       "Held dead letters stay held.",
	"restart_power":      "A power failure can lose the most recent writes: the option sync is {sync}.",
	"more":               "More steps follow that are not shown.",
	"more_queues":        "The message goes to {count} more queues.",
}

// PathCodes lists the codes of paths and steps, by name.
func PathCodes() []string {
	codes := make([]string, 0, len(pathTexts))
	for code := range pathTexts {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

func (f *follower) onReject(i int) Path {
	f.die(0, i, fact.Rejected, f.keysOf(f.Queues[i].Name), nil)
	return Path{Event: "reject", Happens: true, Code: "on_reject"}
}

func (f *follower) onExpire(i int) Path {
	f.die(0, i, fact.Expired, f.keysOf(f.Queues[i].Name), nil)
	p := Path{Event: "expire", Happens: true, Code: "on_expiration"}
	if ttl := f.Queues[i].Settings.TTL; ttl >= 0 {
		p.Code, p.Params = "on_expire", []Param{number("ms", ttl)}
	}
	return p
}

func (f *follower) onOverflow(i int) Path {
	q := &f.Queues[i]
	set := &q.Settings
	p := Path{Event: "overflow", Happens: true, Params: []Param{limitOf(set)}}
	switch {
	case !set.Limited():
		p.Happens, p.Code, p.Params = false, "on_no_limit", nil
		return p
	case set.Overflow == vhost.DropLowest:
		p.Code = "on_drop_lowest"
	case set.Overflow == vhost.DropHead:
		p.Code = "on_drop_head"
	case set.PassesOn():
		p.Code = "on_reject_dlx"
		f.dieAtTheDoor(0, i, f.keysOf(q.Name), nil)
		return p
	default:
		p.Code = "on_reject_publish"
		f.add(Step{Queue: q.Name, Sure: true, Code: "refused", Guarantee: Refused})
		return p
	}
	f.die(0, i, fact.MaxLen, f.keysOf(q.Name), nil)
	return p
}

// returned follows a message that came back.
func (f *follower) returned(after, i int, failed bool) int {
	q := &f.Queues[i]
	set := &q.Settings
	step := Step{After: after, Queue: q.Name, Sure: true, Code: "returns", Guarantee: KeptThere}
	if at := set.RetryAt(0, failed, 1, 0); at != 0 {
		step.Code, step.Params = "waits_retry", []Param{number("ms", int64(at))}
	}
	return f.add(step)
}

func (f *follower) onLimit(i int) Path {
	q := &f.Queues[i]
	limit := q.Settings.ReturnLimit()
	if limit < 0 {
		f.returned(0, i, true)
		return Path{Event: "delivery_limit", Code: "on_no_delivery_limit"}
	}
	after := 0
	if limit > 0 {
		after = f.returned(0, i, true)
	}
	f.die(after, i, fact.DeliveryLimit, f.keysOf(q.Name), nil)
	return Path{Event: "delivery_limit", Happens: true, Code: "on_delivery_limit", Params: []Param{number("limit", limit)}}
}

func (f *follower) onTimeout(i int) Path {
	q := &f.Queues[i]
	set := &q.Settings
	if set.ConsumerTimeout == 0 {
		return Path{Event: "consumer_timeout", Code: "on_no_timeout"}
	}
	after := f.add(Step{Queue: q.Name, Sure: true, Code: "taken_back", Guarantee: KeptThere})
	if set.ReturnLimit() != 0 || set.CountFailed { // a timeout is a return, and no failure
		after = f.returned(after, i, false)
	}
	if set.ReturnLimit() >= 0 && !set.CountFailed {
		f.die(after, i, fact.DeliveryLimit, f.keysOf(q.Name), nil)
	}
	return Path{Event: "consumer_timeout", Happens: true, Code: "on_consumer_timeout", Params: []Param{number("ms", set.ConsumerTimeout)}}
}

func (f *follower) onCrash(i int) Path {
	q := &f.Queues[i]
	p := Path{Event: "crash", Happens: true, Code: "on_crash"}
	add := func(code string, g Guarantee, params ...Param) {
		f.add(Step{Queue: q.Name, Sure: true, Code: code, Guarantee: g, DeadEnd: g == LostThere, Params: params})
	}
	if !q.Durable {
		add("restart_queue", LostThere)
		return p
	}
	add("restart_persistent", KeptThere)
	add("restart_unacked", KeptThere)
	if q.Type == "quorum" {
		add("restart_quorum", KeptThere)
	} else {
		add("restart_transient", LostThere)
	}
	if hasDLX(&q.Settings) {
		add("restart_hop", MovedOn)
		if q.Settings.AtLeastOnce {
			add("restart_held", HeldBack)
		}
	}
	if sync := f.options.Sync; sync == vhost.SyncInterval || sync == vhost.SyncNever {
		add("restart_power", LostThere, Param{"sync", sync.String()})
	}
	return p
}

func (f *follower) onMissing(i int) Path {
	q := &f.Queues[i]
	set := &q.Settings
	if !hasDLX(set) {
		return Path{Event: "target_missing", Code: "on_no_dlx"}
	}
	fate, guarantee := f.nowhere(set)
	exchange := Param{"exchange", set.DeadLetterExchange}
	step := Step{Queue: q.Name, HasExchange: true, Exchange: set.DeadLetterExchange, Sure: true, DeadEnd: true, Guarantee: guarantee, Params: []Param{exchange, fate}}
	if set.DeadLetterExchange != "" {
		step.Code = "no_exchange"
		f.add(step)
	}
	step.Code = "no_route"
	last := f.add(step)
	o := &f.options
	switch guarantee {
	case HeldBack:
		f.add(Step{After: last, Queue: q.Name, Sure: true, Code: "held_retries", Guarantee: HeldBack})
	case InLostStore:
		f.add(Step{After: last, Queue: q.Name, Sure: true, Code: "shelf_keeps", Guarantee: InLostStore,
			Params: []Param{number("ms", o.LostLettersMaxAge), number("bytes", o.LostLettersMaxBytes)}})
	}
	return Path{Event: "target_missing", Happens: true, Code: "on_target_missing"}
}
