package management

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// deadLetterMetrics counts the deaths of all virtual hosts by reason, queue type and strategy, in RabbitMQ's words,
// and what is beyond its.
// Source: RabbitMQ prometheus; reference dead-lettering 14, metrics 3.
func deadLetterMetrics(x *exposition, all *tally) {
	strategies := []vhost.Strategy{vhost.Disabled, vhost.AtMostOnce, vhost.AtLeastOnce}
	types := []struct {
		label string
		stats vhost.QueueStats
	}{
		{"rabbit_classic_queue", all.stats["classic"]},
		{"rabbit_quorum_queue", all.stats["quorum"]},
	}
	const prefix = "rabbitmq_global_messages_dead_lettered_"
	for _, d := range []struct {
		word    string
		reasons []vhost.Reason
	}{
		{"expired", []vhost.Reason{vhost.Expired}},
		{"rejected", []vhost.Reason{vhost.Rejected, vhost.Nacked}},
		{"maxlen", []vhost.Reason{vhost.MaxLen}},
		{"delivery_limit", []vhost.Reason{vhost.DeliveryLimit}},
	} {
		name := prefix + d.word + "_total"
		x.family(name, counter, "Messages that died, reason "+d.word)
		for _, t := range types {
			for _, s := range strategies {
				n := uint64(0)
				for _, reason := range d.reasons {
					n += t.stats.Died[s][reason]
				}
				x.add(name, n, "queue_type", t.label, "dead_letter_strategy", s.String())
			}
		}
	}
	x.family(prefix+"confirmed_total", counter, "Dead letters that all their targets have taken, of queues that hold them until then")
	for _, t := range types {
		x.add(prefix+"confirmed_total", t.stats.Confirmed, "queue_type", t.label, "dead_letter_strategy", vhost.AtLeastOnce.String())
	}
	discardMetrics(x, all.stats.sum())
	x.family("bartleby_copies_ended_total", counter, "Copies of messages that left their queues, by cause")
	for _, c := range []vhost.Cause{vhost.Acked, vhost.Moved, vhost.GonePurged, vhost.GoneDeleted, vhost.Redriven} {
		x.add("bartleby_copies_ended_total", all.books.Ended[c], "cause", c.String())
	}
}

// discardMetrics counts what RabbitMQ would have dropped. Source: ours, reference dead-lettering 14.
func discardMetrics(x *exposition, all vhost.QueueStats) {
	const name = "rabbitmq_global_messages_dead_lettered_discarded_total"
	x.family(name, counter, "Dead letters that no queue took; all but those of a queue without a dead-letter exchange are lost letters")
	unset := uint64(0)
	for _, n := range all.Died[vhost.Disabled] {
		unset += n
	}
	x.add(name, unset, "cause", "no_dlx") // not set, or not there
	for _, d := range []struct {
		word  string
		cause vhost.Cause
	}{{"no_route", vhost.LostRoute}, {"cycle", vhost.LostCycle}, {"target_full", vhost.LostRefused}, {"hops", vhost.LostHops}} {
		x.add(name, all.Lost[d.cause], "cause", d.word)
	}
}

// letterMetrics shows what became of the dead letters of each virtual host. Source: ours, reference metrics 6.
func letterMetrics(x *exposition, all map[string]tally) {
	names := slices.Sorted(maps.Keys(all))
	each := func(name, kind, help string, value func(t *tally) any) {
		x.family(name, kind, help)
		for _, h := range names {
			t := all[h]
			x.add(name, value(&t), "vhost", h)
		}
	}
	eachCause := func(name, kind, help, label string, causes []vhost.Cause, value func(t *tally, c vhost.Cause) any) {
		x.family(name, kind, help)
		for _, h := range names {
			t := all[h]
			for _, c := range causes {
				x.add(name, value(&t, c), "vhost", h, label, c.String())
			}
		}
	}
	eachCause("bartleby_lost_letters", gauge, "Lost letters that are kept, by cause", "cause", vhost.LossCauses(),
		func(t *tally, c vhost.Cause) any { return t.shelf.ByCause[c] })
	each("bartleby_lost_letters_bytes", gauge, "What the lost letters that are kept take, against lost-letters-max-bytes",
		func(t *tally) any { return t.shelf.Bytes })
	lost := map[string]vhost.QueueStats{}
	for h, t := range all {
		lost[h] = t.stats.sum()
	}
	x.family("bartleby_lost_letters_total", counter, "Dead letters that found no place, by cause")
	for _, h := range names {
		for _, c := range vhost.LossCauses() {
			x.add("bartleby_lost_letters_total", lost[h].Lost[c], "vhost", h, "cause", c.String())
		}
	}
	each("bartleby_lost_letters_evicted_total", counter, "Lost letters gone for good because there was no room or time for them",
		func(t *tally) any { return t.books.Ended[vhost.GoneShelf] })
	eachCause("bartleby_held_messages", gauge, "Dead letters that their queues hold, by why", "reason",
		[]vhost.Cause{vhost.LostExchange, vhost.LostRoute, vhost.LostRefused},
		func(t *tally, c vhost.Cause) any { return t.held[c] })
	each("bartleby_retry_waiting_messages", gauge, "Returned messages that wait for their retry",
		func(t *tally) any { return t.waiting })
	for _, m := range []struct {
		name, help string
		value      func(vhost.QueueStats) uint64
	}{
		{"bartleby_dead_letters_held_total", "Dead letters that their queues had to hold", func(n vhost.QueueStats) uint64 { return n.Held }},
		{"bartleby_cycles_kept_total", "Expired messages that stayed, without TTL, because they would have come round in a cycle", func(n vhost.QueueStats) uint64 { return n.Kept }},
		{"bartleby_consumer_timeouts_total", "Consumers cancelled because they did not settle a delivery in time", func(n vhost.QueueStats) uint64 { return n.TimedOut }},
	} {
		x.family(m.name, counter, m.help)
		for _, h := range names {
			x.add(m.name, m.value(lost[h]), "vhost", h)
		}
	}
}
