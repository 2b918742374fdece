package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// departure is a copy that died, or a held dead letter that was tried again, and what is seen of it.
type departure struct {
	from        *ledger.Entry
	again       bool            // it was held before
	waited      bool            // for targets that lack it, and not only for the next portion
	deaths      []ledger.Death  // with its newest
	deadLetters []*ledger.Entry // that it has become
	astray      int             // dead letters that it has become by way of queues that kept it out
	noted       []fact.QueueID  // targets that have it, as the fact says that it is held

	set     *vhost.Settings // of the queue that it leaves; nil: where it goes is not known
	way     ledger.Way
	nowhere fact.Cause // why it leads to no queue, 0 if it does
	targets []*ledger.Line
	keepers []string // delayed exchanges that keep it
}

// reason is why it died.
func (d *departure) reason() string { return d.deaths[0].Reason }

// depart finds the dead letters of a copy that leaves: they come before the fact that tells so. deaths is
// what it has died of by then, if that is known.
func (w *world) depart(st *step, e *ledger.Entry, deaths []ledger.Death) *departure {
	d := &departure{from: e, again: e.State == queue.Held, deaths: deaths}
	if d.again {
		d.deaths, d.waited = e.Deaths, e.Lost != fact.Moved
	}
	var rest []*ledger.Entry
	for _, l := range st.deadLetters {
		switch direct, mine := w.became(d, l); {
		case direct:
			d.deadLetters = append(d.deadLetters, l)
		case mine:
			d.astray++
		default:
			rest = append(rest, l)
		}
	}
	st.deadLetters = rest
	if d.deaths == nil { // no dead letter tells
		d.deaths = w.live.Died(e.Deaths, e.Line.Name, w.guess(st, e))
	}
	w.foreknow(st, d)
	for _, l := range d.deadLetters {
		w.went(l, d.way)
	}
	w.note("message %d, %v in %q, died of %v: %d dead letters, %d astray, to %+v", e.Message, e.Deaths, e.Line.Name, d.deaths, len(d.deadLetters), d.astray, d.way)
	if !d.again {
		w.checkReason(st, d)
	}
	return d
}

// went notes by which way a dead letter came.
func (w *world) went(l *ledger.Entry, to ledger.Way) {
	to.Target = l.Way.Target
	l.Way, w.ways[l.History] = to, to
}

// became reports whether l is a dead letter that the copy has become, and whether directly.
func (w *world) became(d *departure, l *ledger.Entry) (direct, mine bool) {
	// something has become of it since
	if l.Message != d.from.Message || l.State != queue.Ready && l.Line.Kept == nil || l.Cause != 0 {
		return false, false
	}
	ways := [][]ledger.Death{d.deaths}
	if d.deaths == nil {
		ways = ways[:0]
		for _, r := range ledger.Reasons {
			ways = append(ways, w.live.Died(d.from.Deaths, d.from.Line.Name, r))
		}
	}
	for _, deaths := range ways {
		if slices.Equal(l.Deaths, deaths) {
			d.deaths = deaths
			return true, true
		}
	}
	for _, deaths := range ways {
		if w.live.Passes(l.Deaths, deaths) {
			d.deaths = deaths
			return false, true
		}
	}
	return false, false
}

// guess is why a copy must have died.
func (w *world) guess(st *step, e *ledger.Entry) string {
	switch {
	case slices.Contains(st.over, e):
		return ledger.LimitReason
	case e.State == queue.Unacked:
		return "reject"
	case e.ExpireAt != 0 && (e.ExpireAt <= st.stamp.Now || e.Zero == w.audits):
		return "expired"
	case st.back[e] && w.view(st, e.Line) == nil: // with its queue went what its limits were
		return ledger.LimitReason
	}
	return "maxlen"
}

// foreknow computes anew where a dead letter goes. What has changed on the way is not known.
func (w *world) foreknow(st *step, d *departure) {
	view := w.view(st, d.from.Line)
	settings := st.command.Kind == vhost.SetPolicy || st.command.Kind == vhost.ClearPolicy || st.command.Kind == vhost.SetOptions
	if view == nil || st.structural && (!settings || st.refused != nil) {
		return
	}
	d.way = d.from.Way
	if k, has := view.Settings.DLRK(); has {
		d.way.Keys = []string{k}
	} else if w.contents[d.from.Ref].edited {
		d.way = ledger.Way{} // it has the keys with which somebody sent it
		return
	}
	if d.way.Keys == nil {
		return
	}
	d.set = &view.Settings
	name, has := d.set.DLX()
	if !has {
		d.way, d.nowhere = d.from.Way, fact.GoneLimit // where it was going when it came here
		if d.again {
			d.nowhere = fact.LostExchange
		}
		return
	}
	d.way.Exchange, d.way.Target = name, ""
	ids, keepers, there := w.route(d.way, d.from)
	d.keepers = keepers
	switch {
	case !there:
		d.nowhere = fact.LostExchange
	case len(ids)+len(keepers) == 0:
		d.nowhere = fact.LostRoute
	}
	for _, id := range ids {
		q := w.live.Lines[id]
		if q == nil {
			continue
		}
		d.targets = append(d.targets, q)
		if w.view(st, q) == nil && !d.came(q) && !d.cycles(q) && !slices.Contains(d.from.Took, id) {
			// it goes with its connection in a later portion: nobody knows whether it had space
			d.set = nil
			return
		}
	}
}

// route computes anew where a way leads a copy, and which delayed exchanges keep it there; ok is false if the way's
// exchange is not there.
func (w *world) route(to ledger.Way, e *ledger.Entry) (ids []fact.QueueID, keepers []string, ok bool) {
	if to.Target != "" {
		if id, there := w.vhost.Topology().Queue(to.Target); there {
			ids = append(ids, id)
		}
		return ids, nil, true
	}
	x := w.vhost.Topology().Exchange(to.Exchange)
	if x == nil {
		return nil, nil, false
	}
	m := topology.Message{Key: []byte(to.Keys[0]), Headers: w.Messages[e.Message].RawHeaders(), Early: w.early(e)}
	for _, k := range to.Keys[1:] {
		m.More = append(m.More, []byte(k))
	}
	route := w.vhost.Topology().Route(x, &m, nil)
	for _, k := range route.Delayed {
		keepers = append(keepers, k.Name)
	}
	return route.Queues, keepers, true
}

// moved checks that a copy which is gone for its dead letters has arrived wherever these were routed, with
// one death more; cause tells why it is nowhere, if it is not Moved.
func (w *world) moved(st *step, e *ledger.Entry, cause fact.Cause) {
	d := w.depart(st, e, nil)
	if cause == fact.Moved && len(d.deadLetters)+d.astray+len(e.Took) == 0 {
		for _, l := range st.deadLetters {
			if l.Message == e.Message {
				w.violate(Deaths, "message %d came from %q with %v and has %v in %q", e.Message, e.Line.Name, e.Deaths, l.Deaths, l.Line.Name)
				return
			}
		}
		w.violate(Moves, "message %d left %q as a dead letter and arrived nowhere", e.Message, e.Line.Name)
		return
	}
	if d.again {
		w.result.Released++
	}
	w.checkHop(st, d, cause)
}

// checkGone makes sure that what dies without a dead letter has no dead-letter exchange.
func (w *world) checkGone(st *step, e *ledger.Entry, cause fact.Cause) {
	reason := map[fact.Cause]string{
		fact.GoneRejected: "reject", fact.GoneExpired: "expired", fact.GoneMaxLen: "maxlen", fact.GoneLimit: ledger.LimitReason,
	}[cause]
	w.checkReason(st, &departure{from: e, deaths: []ledger.Death{{Reason: reason}}})
	view := w.view(st, e.Line)
	if view == nil {
		return
	}
	if _, has := view.Settings.DLX(); has {
		w.violate(Moves, "message %d of %q is gone (%s), and there is a dead-letter exchange", e.Message, e.Line.Name, cause)
	}
	if e.State == queue.Held {
		w.violate(Held, "message %d was held in %q, and is gone (%s)", e.Message, e.Line.Name, cause)
	}
	if cause == fact.GoneLimit && w.live.Number("lost-letters-max-bytes") > 0 {
		w.violate(LostStore, "message %d of %q came back too often and is gone, and there is a lost store", e.Message, e.Line.Name)
	}
}

// checkReason makes sure that a copy had to die for that reason.
func (w *world) checkReason(st *step, d *departure) {
	e := d.from
	switch d.reason() {
	case "expired":
		w.checkExpired(st, e)
	case "maxlen":
		w.checkDropped(st, e)
	case ledger.LimitReason:
		if !slices.Contains(st.over, e) && w.view(st, e.Line) != nil {
			w.violate(Counts, "message %d of %q died of its delivery limit after %d returns, %d failed",
				e.Message, e.Line.Name, e.Acquired, e.Failed)
		}
	case "reject", "nack":
		if k := st.command.Kind; k != vhost.Reject && k != vhost.Nack && k != vhost.CommitTx && !e.OffRejected || st.command.Requeue {
			w.violate(Answers, "message %d of %q died as rejected, and nobody rejected it", e.Message, e.Line.Name)
		}
	}
}

// checkExpired makes sure that a copy was due.
func (w *world) checkExpired(st *step, e *ledger.Entry) {
	switch {
	case e.Kept:
		w.violate(Kept, "message %d of %q was kept, and expired at %d", e.Message, e.Line.Name, st.stamp.Now)
	case e.ExpireAt == 0 || e.ExpireAt > st.stamp.Now && e.Zero != w.audits:
		w.violate(Expiry, "message %d of %q expired at %d, it was due at %d", e.Message, e.Line.Name, st.stamp.Now, e.ExpireAt)
	}
	asked := e.Zero == w.audits && e.ZeroIn == st.portions // else the portion in which it came has left it to this one
	if asked && e.State == queue.Ready && e.Line.Head() == e && !st.back[e] && !w.offFull(e.Line) {
		if x := w.takers()[e.Line.Name]; x != nil {
			w.violate(Served, "message %d came to %q and expired there at once, and consumer %q has space", e.Message,
				e.Line.Name, x.Tag)
		}
	}
	view := w.view(st, e.Line)
	if e.State == queue.Ready && view != nil && view.Settings.ExpiryHead && !st.back[e] && e.Line.Head() != e &&
		!w.returning(st, e.Line) {
		if view.Settings.Overflow != vhost.DropLowest || e.Line.Lowest() != e {
			w.violate(Expiry, "message %d of %q expired and was not its head", e.Message, e.Line.Name)
		}
	}
}

// full reports whether a queue has no space for one more.
func full(v *vhost.QueueView, q *ledger.Line, bytes int64, deadLetter bool) bool {
	set := &v.Settings
	if dropsHead(set.Overflow) || q.Quorum && deadLetter {
		return false
	}
	n, have := q.Queued(true)
	return set.MaxLength >= 0 && int64(n)+1 > set.MaxLength || set.MaxLengthBytes >= 0 && have+bytes > set.MaxLengthBytes
}

func dropsHead(o vhost.Overflow) bool { return o == vhost.DropHead || o == vhost.DropLowest }

// checkStrays finds dead letters whose source has not ended: only a publish that was refused by a queue makes
// some.
func (w *world) checkStrays(st *step) {
	if w.continues(st) {
		return
	}
	for _, l := range st.arrivals {
		w.violate(Schedule, "message %d arrived in %q, and nothing has fired for it", l.Message, l.Line.Name)
	}
	if st.command.Kind == vhost.Resend && st.command.Edit.Keep {
		return
	}
	for _, l := range st.deadLetters {
		m := w.Messages[l.Message]
		if w.violation == nil && (!st.publishes() || m.Step < w.step && st.command.Kind == vhost.Publish || len(l.Deaths) == 0 || l.Deaths[len(l.Deaths)-1].Reason != "maxlen") {
			checker := Moves
			if st.command.Kind == vhost.Republish {
				checker = LostStore
			}
			w.violate(checker, "a dead letter of message %d arrived in %q, and no copy has ended for it", l.Message, l.Line.Name)
		}
	}
}
