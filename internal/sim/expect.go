package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// expectation is what a command must lead to, worked out before it is stepped.
type expectation struct {
	targets     []fact.QueueID           // of a publish, that take it
	keepers     []string                 // delayed exchanges that keep it
	invalid     bool                     // it must be refused: its delay is none
	refused     bool                     // a queue keeps it out
	unsure      bool                     // a dead letter of the one it keeps out may change what the others do
	ready       uint64                   // in the queue that is declared, purged or deleted
	known       bool                     // that queue is there
	queue       fact.QueueID             // what it is
	lostLetters map[uint64]*ledger.Entry // dead letters that a command names
	waiting     []*ledger.Entry          // messages that it names, nil: nothing waits there
	gone        []string                 // what became of these
	named       *ledger.Entry            // the message that is sent anew
}

// foresee works out where a publish goes and whom it finds full, and what answers must count.
func (w *world) foresee(c *vhost.Command) (x expectation) {
	switch c.Kind {
	case vhost.DeclareQueue, vhost.PurgeQueue, vhost.DeleteQueue:
		w.foreseeQueue(c, &x)
	case vhost.Republish, vhost.Discard:
		x.lostLetters = map[uint64]*ledger.Entry{}
		for _, id := range c.Selection.IDs {
			x.lostLetters[id] = w.live.Find(ledger.LostStoreID, queue.Seq(id-1))
		}
	case vhost.Resend:
		x.named = w.CopyAt(c.Edit.Source, c.Edit.ID)
	case vhost.Unschedule, vhost.Reschedule, vhost.FireNow:
		for _, id := range c.Selection.Scheduled {
			e, gone := w.live.Waits(id)
			x.waiting, x.gone = append(x.waiting, e), append(x.gone, gone)
		}
	case vhost.PurgeSchedule:
		if q := w.live.ScheduleOf(c.Definition.Name); q != nil {
			x.ready = uint64(len(q.Copies))
		}
	case vhost.Publish:
		w.foreseePublish(c, &x)
	}
	return x
}

// foreseeQueue works out what a command on a queue counts.
func (w *world) foreseeQueue(c *vhost.Command, x *expectation) {
	if c.Kind == vhost.DeclareQueue && c.Definition.Name == "" {
		return // a new one
	}
	q := w.live.Lines[w.QueueID(c.Definition.Name, w.Channels[c.Channel])]
	if q == nil {
		return
	}
	x.ready, x.known, x.queue = uint64(q.Ready()), true, q.ID
	if c.Kind == vhost.PurgeQueue {
		for _, e := range q.Copies {
			x.known = x.known && !e.Off // it goes, too, unless it is about to die
		}
		x.ready += uint64(q.Counts[queue.Waiting] + q.Counts[queue.Held])
	}
}

// foreseePublish works out where a message goes, and whom it finds full.
func (w *world) foreseePublish(c *vhost.Command, x *expectation) {
	from := w.vhost.Topology().Exchange(string(c.Exchange))
	if from == nil {
		return
	}
	m := w.Messages[w.Published]
	route := topology.Message{Key: c.Key, Headers: m.RawHeaders(), Early: m.Delay > 0 || m.Nonsense}
	for _, k := range m.Keys[1:] {
		route.More = append(route.More, []byte(k))
	}
	found := w.vhost.Topology().Route(from, &route, nil)
	for _, k := range found.Delayed {
		x.invalid = m.Nonsense
		if w.keeps(k, m.Key) {
			x.keepers = append(x.keepers, k.Name)
		} else {
			x.refused = true
		}
	}
	for _, id := range found.Queues {
		q, _ := w.vhost.Reader().Queue(w.live.Lines[id].Name)
		if !full(&q, w.live.Lines[id], int64(len(c.Body)), false) {
			x.targets = append(x.targets, id)
			continue
		}
		x.refused = true
		x.unsure = x.unsure || q.Settings.Overflow == vhost.RejectPublishDLX
	}
}

// diedFirst reports whether messages left the queue that a command is about for another reason, in a portion of it:
// the excess of its length, which earlier commands have left to ticks, goes before it is purged.
func (w *world) diedFirst(st *step) bool {
	return st.portions > 1 && slices.ContainsFunc(st.facts, func(f fact.Fact) bool {
		return f.Kind == fact.Ended && f.Queue == st.expected.queue && f.Cause != fact.GonePurged
	})
}

// checkExpected compares.
func (w *world) checkExpected(st *step, facts []fact.Fact) {
	c, ch := st.command, st.channel
	if ch == nil || ch.Dead || st.refused != nil {
		return
	}
	x := &st.expected
	if x.invalid && !ch.Tx {
		w.violate(Schedule, "message %d was taken by a delayed exchange, and its delay is none", w.Published)
	}
	switch c.Kind {
	case vhost.DeclareQueue, vhost.PurgeQueue, vhost.DeleteQueue:
		if got := answerTo(st).Count; !c.NoWait && x.known && got != x.ready && (got > x.ready || !w.diedFirst(st)) {
			w.violate(Answers, "command %d on %q counted %d messages, %d are ready", c.Kind, c.Definition.Name, got, x.ready)
		}
	case vhost.PurgeSchedule:
		if got := answerTo(st).Count; !c.NoWait && got != x.ready {
			w.violate(Schedule, "%d messages of %q were purged, %d waited", got, c.Definition.Name, x.ready)
		}
	case vhost.Announce:
		if w.vhost.Topology().Exchange(string(c.Exchange)) == nil || len(facts) > 0 {
			w.violate(Answers, "a message for exchange %q was announced: it is taken, and left %d facts", c.Exchange, len(facts))
		}
	case vhost.Publish:
		if !ch.Tx && !x.unsure {
			w.checkPublished(st, facts)
		}
	}
}

// checkPublished makes sure that a publish went where it must, once each, and that its publisher heard so.
func (w *world) checkPublished(st *step, facts []fact.Fact) {
	x := &st.expected
	var went []fact.QueueID
	var kept []string
	for i := range facts {
		f := &facts[i]
		if f.Kind != fact.Enqueued || f.Entry.Flags&queue.HasHistory != 0 || w.contents[f.Entry.Ref(logID)].message != w.Published {
			continue
		}
		if q := w.live.Line(f.Queue); q != nil && q.Kept != nil {
			kept = append(kept, q.Name)
			continue
		}
		went = append(went, f.Queue)
	}
	slices.Sort(kept)
	slices.Sort(x.keepers)
	if !slices.Equal(kept, x.keepers) {
		w.violate(Schedule, "message %d waits in %q, expected %q", w.Published, kept, x.keepers)
	}
	slices.Sort(went)
	slices.Sort(x.targets)
	if st.portions > 1 { // what it becomes may fill a queue that it has not come to yet
		for i, id := range went {
			if i > 0 && went[i-1] == id || !slices.Contains(x.targets, id) {
				w.violate(Moves, "message %d went into queues %v, each of %v at most once was expected", w.Published, went, x.targets)
			}
		}
		return
	}
	if !slices.Equal(went, x.targets) {
		w.violate(Moves, "message %d went into queues %v, expected %v", w.Published, went, x.targets)
	}
	sent, refused := false, false
	for i := range st.effects {
		switch e := &st.effects[i]; e.Kind {
		case vhost.SendBack:
			sent = true
		case vhost.Refuse:
			refused = true
		}
	}
	if want := st.command.Mandatory && len(x.targets)+len(x.keepers) == 0 && !x.refused; sent != want {
		w.violate(Answers, "message %d was sent back: %t, expected %t", w.Published, sent, want)
	}
	if st.channel.Confirms && refused != x.refused {
		w.violate(Answers, "message %d was refused: %t, expected %t", w.Published, refused, x.refused)
	}
}
