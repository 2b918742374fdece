package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// death is what x-death says, as far as it is compared. Reasons are in the words of the dialect that has most.
type death struct {
	queue, reason string
	count         int64
}

// cycles reports whether a letter was in a queue since somebody rejected it last.
func cycles(deaths []death, name string) bool {
	for _, d := range deaths { // newest first
		if d.reason == "reject" || d.reason == "nack" {
			return false
		}
		if d.queue == name {
			return true
		}
	}
	return false
}

// died is a history with one death more. Where the dialect does not tell nack from reject, the history does not.
func (w *world) died(before []death, queue, reason string) []death {
	if !w.live.truth("reject-reasons") {
		before = unite(before)
	}
	after := []death{{queue, reason, 1}}
	for _, d := range before {
		if d.queue == queue && d.reason == reason {
			after[0].count = d.count + 1
			continue
		}
		after = append(after, d)
	}
	return after
}

// unite makes rejects of nacks; of two entries by the same queue the newer one stays.
func unite(deaths []death) (all []death) {
	for _, d := range deaths {
		if d.reason == "nack" {
			d.reason = "reject"
		}
		i := slices.IndexFunc(all, func(o death) bool { return o.queue == d.queue && o.reason == d.reason })
		if i < 0 {
			all = append(all, d)
			continue
		}
		all[i].count += d.count
	}
	return all
}

// limitReason is the reason of a delivery limit, in the words of the dialect that has most.
const limitReason = "Consumption limit exceeded"

var reasons = [...]string{"reject", "nack", "expired", "maxlen", limitReason}

// passes reports whether a history becomes that of the letter by refusals: of several queues in a row, each of which
// keeps it out and sends it on. No two of them are the same, that would be a cycle.
func (w *world) passes(letter, history []death) bool {
	for n := 0; ; n++ {
		passed := history
		for i := n - 1; i >= 0; i-- {
			passed = w.died(passed, letter[i].queue, "maxlen")
		}
		if slices.Equal(letter, passed) {
			return true
		}
		if n == len(letter) || letter[n].reason != "maxlen" {
			return false
		}
	}
}

// total counts the deaths.
func total(deaths []death) (n int64) {
	for _, d := range deaths {
		n += d.count
	}
	return n
}

// speak is how a reason is told to a client.
func speak(reason string, d vhost.Dialect) string {
	if d&vhost.DialectReasons == 0 {
		switch reason {
		case "reject", "nack":
			return "rejected"
		case limitReason:
			return "delivery_limit"
		}
	}
	return reason
}
