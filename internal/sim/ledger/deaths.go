package ledger

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Death is what x-death says, as far as it is compared. Reasons are in the words of the dialect that has most.
type Death struct {
	Queue, Reason string
	Count         int64
}

// Cycles reports whether a dead letter was in a queue since somebody rejected it last.
func Cycles(deaths []Death, name string) bool {
	for _, d := range deaths { // newest first
		if d.Reason == "reject" || d.Reason == "nack" {
			return false
		}
		if d.Queue == name {
			return true
		}
	}
	return false
}

// Died is a history with one death more. Where the dialect does not tell nack from reject, the history does not.
func (l *Ledger) Died(before []Death, queue, reason string) []Death {
	if !l.Truth("reject-reasons") {
		before = unite(before)
	}
	after := []Death{{queue, reason, 1}}
	for _, d := range before {
		if d.Queue == queue && d.Reason == reason {
			after[0].Count = d.Count + 1
			continue
		}
		after = append(after, d)
	}
	return after
}

// unite makes rejects of nacks; of two entries by the same queue the newer one stays.
func unite(deaths []Death) (all []Death) {
	for _, d := range deaths {
		if d.Reason == "nack" {
			d.Reason = "reject"
		}
		i := slices.IndexFunc(all, func(o Death) bool { return o.Queue == d.Queue && o.Reason == d.Reason })
		if i < 0 {
			all = append(all, d)
			continue
		}
		all[i].Count += d.Count
	}
	return all
}

// LimitReason is the reason of a delivery limit, in the words of the dialect that has most.
const LimitReason = "Consumption limit exceeded"

// Reasons are those for which a message dies.
var Reasons = [...]string{"reject", "nack", "expired", "maxlen", LimitReason}

// Passes reports whether a history becomes that of the dead letter by refusals: of several queues in a row,
// each of which keeps it out and sends it on. No two of them are the same, that would be a cycle.
func (l *Ledger) Passes(deaths, history []Death) bool {
	for n := 0; ; n++ {
		passed := history
		for i := n - 1; i >= 0; i-- {
			passed = l.Died(passed, deaths[i].Queue, "maxlen")
		}
		if slices.Equal(deaths, passed) {
			return true
		}
		if n == len(deaths) || deaths[n].Reason != "maxlen" {
			return false
		}
	}
}

// Total counts the deaths.
func Total(deaths []Death) (n int64) {
	for _, d := range deaths {
		n += d.Count
	}
	return n
}

// Speak is how a reason is told to a client.
func Speak(reason string, d vhost.Dialect) string {
	if d&vhost.DialectReasons == 0 {
		switch reason {
		case "reject", "nack":
			return "rejected"
		case LimitReason:
			return "delivery_limit"
		}
	}
	return reason
}
