package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// checkStoredLost checks what a lost letter that came to the lost store says of itself.
func (w *world) checkStoredLost(st *step, e *ledger.Entry) {
	w.result.StoredLost[e.Lost]++
	said := func(target string) bool {
		slip := binary.AppendVarint([]byte{byte(e.Lost)}, int64(st.stamp.Wall))
		slip = append(binary.AppendUvarint(slip, uint64(len(target))), target...)
		return bytes.HasSuffix(st.remembered, slip)
	}
	known := said("")
	for _, q := range w.live.Lines {
		if said(q.Name) {
			e.Way, known = ledger.Way{Target: q.Name}, true
		}
	}
	w.ways[e.History] = e.Way
	if !known && !st.structural {
		w.violate(LostStore, "the slip of message %d does not say that it is there as %q since %d", e.Message, e.Lost, st.stamp.Wall)
	}
	if from := w.diedLast(e); !st.structural && e.Origin != originOf(from) {
		w.violate(LostStore, "message %d came to the lost store as one of %x, it is from %q", e.Message, e.Origin, from)
	}
	if want := st.stamp.From + deadline.Instant(w.live.Number("lost-letters-max-age")); e.ExpireAt != want {
		w.violate(LostStore, "message %d may stay in the lost store until %d, expected %d", e.Message, e.ExpireAt, want)
	}
	if w.live.Number("lost-letters-max-bytes") == 0 {
		w.violate(LostStore, "message %d came to the lost store, and there is none", e.Message)
	}
	if !e.HasHistory {
		w.violate(LostStore, "message %d came to the lost store and is no dead letter", e.Message)
	}
}

// checkAllStored makes sure that exactly what found no place has come to the lost store, if there is one.
func (w *world) checkAllStored(d *departure, p *hop) {
	var got []lostSlot
	for _, l := range d.deadLetters {
		if l.Line == w.live.LostStore {
			got = append(got, lostSlot{l.Lost, l.Way.Target})
		}
	}
	want := slices.Clone(p.lost)
	if w.live.Number("lost-letters-max-bytes") == 0 {
		want = nil
	}
	order := func(a, b lostSlot) int { return bytes.Compare([]byte(a.target), []byte(b.target)) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		w.violate(LostStore, "message %d died of %v in %q, and the lost store has %v, expected %v", d.from.Message, d.deaths, d.from.Line.Name, got, want)
	}
}

// checkEvicted makes sure that the one whose turn it is goes if there is no space, or one whose time is over.
func (w *world) checkEvicted(st *step, e *ledger.Entry) {
	most := w.live.Number("lost-letters-max-bytes")
	due := e.ExpireAt <= st.stamp.Now
	switch {
	case e.Line != w.live.LostStore:
		w.violate(LostStore, "message %d of %q was evicted", e.Message, e.Line.Name)
	case !due && e.Line.Bytes[queue.Ready] <= most:
		w.violate(LostStore, "lost letter %d was evicted at %d: its time ends at %d, and there are %d bytes of %d",
			e.Seq+1, st.stamp.Now, e.ExpireAt, e.Line.Bytes[queue.Ready], most)
	case !due:
		if loser := nextEvicted(e.Line); loser != e {
			w.violate(LostStore, "lost letter %d was evicted before lost letter %d", e.Seq+1, loser.Seq+1)
		}
	}
}

// diedLast names the queue whose share of the lost store a lost letter takes.
func (w *world) diedLast(e *ledger.Entry) string {
	switch {
	case e.Lost == fact.Discarded:
		return e.Way.Target
	case len(e.Deaths) == 0:
		return ""
	}
	return e.Deaths[0].Queue
}

func originOf(name string) uint32 {
	if name == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint32(sum[:])
}

// nextEvicted is the lost letter that has to go when the lost store is full: the oldest of the queue that has the
// most bytes there.
func nextEvicted(lost *ledger.Line) (loser *ledger.Entry) {
	bytes, oldest := map[uint32]int64{}, map[uint32]*ledger.Entry{}
	for _, e := range lost.Copies {
		bytes[e.Origin] += e.Bytes
		if o := oldest[e.Origin]; o == nil || e.Seq < o.Seq {
			oldest[e.Origin] = e
		}
	}
	for origin, e := range oldest {
		if loser == nil || bytes[origin] > bytes[loser.Origin] || bytes[origin] == bytes[loser.Origin] && e.Seq < loser.Seq {
			loser = e
		}
	}
	return loser
}

// redriven checks that a lost letter has come to each queue that it was sent to, once.
func (w *world) redriven(st *step, e *ledger.Entry) {
	var came []fact.QueueID
	var rest []*ledger.Entry
	to := w.wayOn(st, e)
	for _, l := range st.deadLetters {
		if l.Message != e.Message || !slices.Equal(l.Deaths, e.Deaths) {
			rest = append(rest, l)
			continue
		}
		came = append(came, l.Line.ID)
		w.went(l, to)
	}
	st.deadLetters = rest
	if len(e.Deaths) == 0 && !st.command.Selection.Elsewhere { // it was published, and lost when it was due
		for _, l := range st.arrivals {
			came = append(came, l.Line.ID)
		}
		st.arrivals = nil
	}
	if st.command.Kind != vhost.Republish || len(came) == 0 {
		w.violate(LostStore, "lost letter %d was sent on by command %d, and came to %v", e.Seq+1, st.command.Kind, came)
		return
	}
	if to.Keys == nil && to.Target == "" {
		return
	}
	want, keepers, _ := w.route(to, e)
	for _, name := range keepers {
		if q := w.live.ScheduleOf(name); q != nil && (slices.Contains(came, q.ID) || w.keeps(w.vhost.Topology().Exchange(name), "")) {
			want = append(want, q.ID)
		}
	}
	slices.Sort(came)
	slices.Sort(want)
	if !slices.Equal(came, want) {
		w.violate(LostStore, "lost letter %d, sent to %+v, came to queues %v, expected %v", e.Seq+1, to, came, want)
	}
}

// wayOn is where a lost letter is sent; unknown if it has neither keys nor target.
func (w *world) wayOn(st *step, e *ledger.Entry) ledger.Way {
	if s := st.command.Selection; s != nil && s.Elsewhere {
		return ledger.Way{Exchange: s.Exchange, Keys: []string{s.RoutingKey}}
	}
	to := e.Way
	if to.Target != "" || len(e.Deaths) == 0 {
		return to
	}
	if st.structural {
		return ledger.Way{} // it went as its queue was set then, which may be gone at the end of the step
	}
	if q, there := w.vhost.Reader().Queue(e.Deaths[0].Queue); there { // as its queue is set now
		if name, has := q.Settings.DLX(); has {
			to.Exchange = name
			if k, has := q.Settings.DLRK(); has {
				to.Keys = []string{k}
			}
		}
	}
	return to
}

// checkAnswered compares the answers for lost letters with what has become of them.
func (w *world) checkAnswered(st *step) {
	if w.violation != nil || st.refused != nil || st.channel == nil || st.channel.Dead && st.command.Kind != vhost.CloseChannel {
		return
	}
	if k := st.command.Kind; k != vhost.Republish && k != vhost.Discard {
		return
	}
	var answers []*vhost.Effect
	for i := range st.effects {
		if st.effects[i].Kind == vhost.Answered {
			answers = append(answers, &st.effects[i])
		}
	}
	if ids := st.command.Selection.IDs; len(answers) != len(ids) {
		w.violate(LostStore, "%d lost letters were named, %d answers", len(ids), len(answers))
		return
	}
	left := map[uint64]bool{}
	for i, id := range st.command.Selection.IDs {
		e, want := st.expected.lostLetters[id], ""
		switch {
		case e == nil || left[id]:
			want = "unknown"
		case st.command.Kind == vhost.Discard:
			want = "discarded"
		case e.Cause == fact.Redriven:
			want = "redriven"
		}
		got := answers[i]
		w.result.Answered[got.Name]++
		stays := got.Name == "no_exchange" || got.Name == "no_route" || got.Name == "refused"
		switch {
		case got.Tag != id || want != "" && got.Name != want || want == "" && !stays:
			w.violate(LostStore, "lost letter %d: the answer is %q for %d, expected %q", id, got.Name, got.Tag, want)
		case want == "discarded" && e.Cause != fact.GonePurged:
			w.violate(LostStore, "lost letter %d was discarded, and ended as %q", id, e.Cause)
		case want == "":
			w.checkStayed(st, e, got.Name)
		}
		left[id] = left[id] || want == "redriven" || want == "discarded"
	}
}

// checkStayed makes sure that a lost letter could not be sent on.
func (w *world) checkStayed(st *step, e *ledger.Entry, why string) {
	to := w.wayOn(st, e)
	if to.Keys == nil && to.Target == "" {
		return
	}
	want := "refused"
	switch ids, keepers, there := w.route(to, e); {
	case !there:
		want = "no_exchange"
	case len(ids)+len(keepers) == 0:
		want = "no_route"
	}
	if why != want {
		w.violate(LostStore, "lost letter %d stayed (%s), expected %s", e.Seq+1, why, want)
	}
}

// checkLostStore compares what the lost store says of itself with the ledger, and with its bounds.
func (w *world) checkLostStore(excess bool) {
	got, q := w.vhost.Reader().LostStore(), w.live.LostStore
	if got.Messages != len(q.Copies) || got.Bytes != q.Bytes[queue.Ready] || got.Evicted != w.live.Evicted {
		w.violate(LostStore, "the lost store counts %d lost letters, %d bytes, %d evicted; expected %d, %d, %d",
			got.Messages, got.Bytes, got.Evicted, len(q.Copies), q.Bytes[queue.Ready], w.live.Evicted)
	}
	byCause := got.ByCause
	for _, e := range q.Copies {
		byCause[e.Lost]--
	}
	for cause, n := range byCause {
		if n != 0 {
			w.violate(LostStore, "the lost store counts wrongly what is there as %q, by %d", fact.Cause(cause), int64(n))
		}
	}
	if most := w.live.Number("lost-letters-max-bytes"); !excess && got.Bytes > most {
		w.violate(LostStore, "there are %d bytes in the lost store, of %d", got.Bytes, most)
	}
}
