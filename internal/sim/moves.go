package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// moved checks that a copy which died has arrived wherever its letter was routed, with one death more. The letters
// come first in a step's facts, the end of the copy that they come from follows.
func (w *world) moved(st *step, e *entry, due bool) {
	var mine, rest []*entry
	for _, l := range st.letters {
		switch {
		case l.message == e.message && descends(l.deaths, e.deaths, e.line.name):
			mine = append(mine, l)
		default:
			rest = append(rest, l)
		}
	}
	st.letters = rest
	if len(mine) == 0 {
		for _, l := range rest {
			if l.message == e.message {
				w.violate(Deaths, "message %d came from %q with %v and has %v in %q", e.message, e.line.name, e.deaths, l.deaths, l.line.name)
				return
			}
		}
		w.violate(Moves, "message %d left %q as a dead letter and arrived nowhere", e.message, e.line.name)
		return
	}
	view, here := w.vhost.Queue(e.line.name)
	var targets []string
	sure := false
	if !here || st.structural {
		e.keys = nil // what it went by may have changed since
	} else {
		targets, e.keys, sure = w.route(e, &view)
	}
	arrived := map[string]bool{}
	w.note("message %d, %v in %q, dead-lettered by %+v with keys %q to %q", e.message, e.deaths, e.line.name, view.Settings, e.keys, targets)
	for _, l := range mine {
		if !slices.Equal(l.deaths, died(e.deaths, e.line.name, l.deaths[0].reason)) {
			continue // by way of a queue that refused it
		}
		l.keys = e.keys
		switch l.deaths[0].reason {
		case "expired":
			if !due {
				w.violate(Expiry, "message %d of %q expired at %d, it was due at %d", e.message, e.line.name, st.stamp.Now, e.expireAt)
			}
		case "maxlen":
			w.checkDropped(e)
		}
		if arrived[l.line.name] {
			w.violate(Moves, "message %d came twice from %q into %q", e.message, e.line.name, l.line.name)
		}
		arrived[l.line.name] = true
		if sure && !slices.Contains(targets, l.line.name) {
			w.violate(Moves, "message %d came from %q into %q, which is no target: %v", e.message, e.line.name, l.line.name, targets)
		}
	}
	if !sure {
		return
	}
	for _, name := range targets {
		if !arrived[name] && !w.mayRefuse(name) && !cycles(mine, name) {
			w.violate(Moves, "message %d left %q and did not arrive in %q: keys %q, headers %v", e.message, e.line.name, name, e.keys, w.messages[e.message].headers)
		}
	}
}

// route computes anew where a letter from a queue goes; ok is false if its keys are not known.
func (w *world) route(e *entry, from *vhost.QueueView) (targets, keys []string, ok bool) {
	keys = e.keys
	if k, has := from.Settings.DLRK(); has {
		keys = []string{k}
	}
	name, has := from.Settings.DLX()
	x := w.vhost.Topology().Exchange(name)
	if !has || x == nil || len(keys) == 0 {
		return nil, nil, false
	}
	m := topology.Message{Key: []byte(keys[0]), Headers: w.messages[e.message].rawHeaders()}
	for _, k := range keys[1:] {
		m.More = append(m.More, []byte(k))
	}
	ids, _ := w.vhost.Topology().Route(x, &m, nil)
	for _, id := range ids {
		if q := w.live.lines[id]; q != nil {
			targets = append(targets, q.name)
		}
	}
	return targets, keys, true
}

// mayRefuse reports whether a queue may keep a letter out.
func (w *world) mayRefuse(name string) bool {
	q, ok := w.vhost.Queue(name)
	return !ok || q.Settings.Overflow != vhost.DropHead && (q.Settings.MaxLength >= 0 || q.Settings.MaxLengthBytes >= 0)
}

// cycles reports whether a letter must not come to a queue again.
func cycles(letters []*entry, name string) bool {
	for _, l := range letters {
		for _, d := range l.deaths { // newest first, until the queue was left before
			if d.reason == "rejected" {
				break
			}
			if d.queue == name {
				return true
			}
		}
	}
	return false
}

// checkStrays finds letters whose source has not ended: only a publish that was refused by a queue makes some.
func (w *world) checkStrays(st *step) {
	for _, l := range st.letters {
		m := w.messages[l.message]
		publishes := st.command.Kind == vhost.Publish || st.command.Kind == vhost.CommitTx
		if w.violation == nil && (!publishes || m.step < w.step && st.command.Kind == vhost.Publish || l.deaths[len(l.deaths)-1].reason != "maxlen") {
			w.violate(Moves, "a letter of message %d arrived in %q, and no copy has ended for it", l.message, l.line.name)
		}
	}
}

// died is a history with one death more.
func died(before []death, queue, reason string) []death {
	n := death{queue, reason, 1}
	after := []death{n}
	for _, d := range before {
		if d.queue == queue && d.reason == reason {
			after[0].count = d.count + 1
			continue
		}
		after = append(after, d)
	}
	return after
}

var reasons = [...]string{"rejected", "expired", "maxlen", "delivery_limit"}

// refusalsMax is how many queues in a row that keep a letter out are followed.
const refusalsMax = 4

// descends reports whether a letter's history is that of a copy which died in a queue, directly or by way of
// queues that kept it out.
func descends(letter, before []death, queue string) bool {
	for _, r := range reasons {
		if passes(letter, died(before, queue, r), refusalsMax) {
			return true
		}
	}
	return false
}

// passes reports whether a history becomes that of the letter by refusals, so many at the most.
func passes(letter, history []death, refusals int) bool {
	if slices.Equal(letter, history) {
		return true
	}
	if refusals == 0 || len(history) > len(letter) {
		return false
	}
	for _, d := range letter {
		if d.reason == "maxlen" && passes(letter, died(history, d.queue, "maxlen"), refusals-1) {
			return true
		}
	}
	return false
}
