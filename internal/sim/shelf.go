package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// shelved checks what a letter that came to the shelf says of itself.
func (w *world) shelved(st *step, e *entry) {
	w.result.Shelved[e.lost]++
	said := func(target string) bool {
		slip := binary.AppendVarint([]byte{byte(e.lost)}, int64(st.stamp.Wall))
		slip = append(binary.AppendUvarint(slip, uint64(len(target))), target...)
		return bytes.HasSuffix(st.remembered, slip)
	}
	known := said("")
	for _, q := range w.live.lines {
		if said(q.name) {
			e.way, known = way{target: q.name}, true
		}
	}
	w.ways[e.history] = e.way
	if !known && !st.structural {
		w.violate(Shelf, "the slip of message %d does not say that it is there as %q since %d", e.message, e.lost, st.stamp.Wall)
	}
	if from := w.diedLast(e); !st.structural && e.origin != originOf(from) {
		w.violate(Shelf, "message %d came to the shelf as one of %x, it is from %q", e.message, e.origin, from)
	}
	if want := st.stamp.From + deadline.Instant(w.live.number("lost-letters-max-age")); e.expireAt != want {
		w.violate(Shelf, "message %d may stay on the shelf until %d, expected %d", e.message, e.expireAt, want)
	}
	if w.live.number("lost-letters-max-bytes") == 0 {
		w.violate(Shelf, "message %d came to the shelf, and there is none", e.message)
	}
	if !e.letter {
		w.violate(Shelf, "message %d came to the shelf and is no letter", e.message)
	}
}

// checkShelved makes sure that exactly what found no place has come to the shelf, if there is one.
func (w *world) checkShelved(d *departure, p *passage) {
	var got []slot
	for _, l := range d.letters {
		if l.line == w.live.shelf {
			got = append(got, slot{l.lost, l.way.target})
		}
	}
	want := slices.Clone(p.shelf)
	if w.live.number("lost-letters-max-bytes") == 0 {
		want = nil
	}
	order := func(a, b slot) int { return bytes.Compare([]byte(a.target), []byte(b.target)) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		w.violate(Shelf, "message %d died of %v in %q, and the shelf has %v, expected %v", d.from.message, d.deaths, d.from.line.name, got, want)
	}
}

// checkEvicted makes sure that the one whose turn it is goes if there is no room, or one whose time is over.
func (w *world) checkEvicted(st *step, e *entry) {
	most := w.live.number("lost-letters-max-bytes")
	due := e.expireAt <= st.stamp.Now
	switch {
	case e.line != w.live.shelf:
		w.violate(Shelf, "message %d of %q was evicted", e.message, e.line.name)
	case !due && e.line.bytes[queue.Ready] <= most:
		w.violate(Shelf, "letter %d was evicted at %d: its time ends at %d, and there are %d bytes of %d",
			e.seq+1, st.stamp.Now, e.expireAt, e.line.bytes[queue.Ready], most)
	case !due:
		if loser := shelfLoser(e.line); loser != e {
			w.violate(Shelf, "letter %d was evicted before letter %d", e.seq+1, loser.seq+1)
		}
	}
}

// diedLast names the queue whose share of the shelf a letter takes.
func (w *world) diedLast(e *entry) string {
	switch {
	case e.lost == vhost.Discarded:
		return e.way.target
	case len(e.deaths) == 0:
		return ""
	}
	return e.deaths[0].queue
}

func originOf(name string) uint32 {
	if name == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint32(sum[:])
}

// shelfLoser is the letter that has to go when the shelf is full: the oldest of the queue that has the most bytes
// there.
func shelfLoser(shelf *line) (loser *entry) {
	bytes, oldest := map[uint32]int64{}, map[uint32]*entry{}
	for _, e := range shelf.copies {
		bytes[e.origin] += e.bytes
		if o := oldest[e.origin]; o == nil || e.seq < o.seq {
			oldest[e.origin] = e
		}
	}
	for origin, e := range oldest {
		if loser == nil || bytes[origin] > bytes[loser.origin] || bytes[origin] == bytes[loser.origin] && e.seq < loser.seq {
			loser = e
		}
	}
	return loser
}

// redriven checks that a letter of the shelf has come to each queue that it was sent to, once.
func (w *world) redriven(st *step, e *entry) {
	var came []vhost.QueueID
	var rest []*entry
	to := w.wayOn(st, e)
	for _, l := range st.letters {
		if l.message != e.message || !slices.Equal(l.deaths, e.deaths) {
			rest = append(rest, l)
			continue
		}
		came = append(came, l.line.id)
		w.went(l, to)
	}
	st.letters = rest
	if len(e.deaths) == 0 && !st.command.Selection.Elsewhere { // it was published, and lost when it was due
		for _, l := range st.arrivals {
			came = append(came, l.line.id)
		}
		st.arrivals = nil
	}
	if st.command.Kind != vhost.Republish || len(came) == 0 {
		w.violate(Shelf, "letter %d was sent on by command %d, and came to %v", e.seq+1, st.command.Kind, came)
		return
	}
	if to.keys == nil && to.target == "" {
		return
	}
	want, keepers, _ := w.route(to, e)
	for _, name := range keepers {
		if q := w.live.scheduleOf(name); q != nil && (slices.Contains(came, q.id) || w.keeps(w.vhost.Topology().Exchange(name), "")) {
			want = append(want, q.id)
		}
	}
	slices.Sort(came)
	slices.Sort(want)
	if !slices.Equal(came, want) {
		w.violate(Shelf, "letter %d, sent to %+v, came to queues %v, expected %v", e.seq+1, to, came, want)
	}
}

// onward is where a letter of the shelf is sent.
func (w *world) wayOn(st *step, e *entry) way {
	if s := st.command.Selection; s != nil && s.Elsewhere {
		return way{exchange: s.Exchange, keys: []string{s.RoutingKey}}
	}
	to := e.way
	if to.target != "" || len(e.deaths) == 0 {
		return to
	}
	if q, there := w.vhost.Reader().Queue(e.deaths[0].queue); there { // as its queue is set now
		if name, has := q.Settings.DLX(); has {
			to.exchange = name
			if k, has := q.Settings.DLRK(); has {
				to.keys = []string{k}
			}
		}
	}
	return to
}

// checkAnswered compares the answers for lost letters with what has become of them.
func (w *world) checkAnswered(st *step) {
	if w.violation != nil || st.refused != nil || st.channel == nil || st.channel.dead && st.command.Kind != vhost.CloseChannel {
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
		w.violate(Shelf, "%d letters were named, %d answers", len(ids), len(answers))
		return
	}
	left := map[uint64]bool{}
	for i, id := range st.command.Selection.IDs {
		e, want := st.expected.shelf[id], ""
		switch {
		case e == nil || left[id]:
			want = "unknown"
		case st.command.Kind == vhost.Discard:
			want = "discarded"
		case e.cause == vhost.Redriven:
			want = "redriven"
		}
		got := answers[i]
		w.result.Answered[got.Name]++
		stays := got.Name == "no_exchange" || got.Name == "no_route" || got.Name == "refused"
		switch {
		case got.Tag != id || want != "" && got.Name != want || want == "" && !stays:
			w.violate(Shelf, "letter %d: the answer is %q for %d, expected %q", id, got.Name, got.Tag, want)
		case want == "discarded" && e.cause != vhost.GonePurged:
			w.violate(Shelf, "letter %d was discarded, and ended as %q", id, e.cause)
		case want == "":
			w.checkStayed(st, e, got.Name)
		}
		left[id] = left[id] || want == "redriven" || want == "discarded"
	}
}

// checkStayed makes sure that a letter of the shelf could not be sent on.
func (w *world) checkStayed(st *step, e *entry, why string) {
	to := w.wayOn(st, e)
	if to.keys == nil && to.target == "" {
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
		w.violate(Shelf, "letter %d stayed (%s), expected %s", e.seq+1, why, want)
	}
}

// checkShelf compares what the shelf says of itself with the ledger, and with its bounds.
func (w *world) checkShelf(excess bool) {
	got, q := w.vhost.Reader().LostStore(), w.live.shelf
	if got.Messages != len(q.copies) || got.Bytes != q.bytes[queue.Ready] || got.Evicted != w.live.evicted {
		w.violate(Shelf, "the shelf counts %d letters, %d bytes, %d evicted; expected %d, %d, %d",
			got.Messages, got.Bytes, got.Evicted, len(q.copies), q.bytes[queue.Ready], w.live.evicted)
	}
	byCause := got.ByCause
	for _, e := range q.copies {
		byCause[e.lost]--
	}
	for cause, n := range byCause {
		if n != 0 {
			w.violate(Shelf, "the shelf counts wrongly what is there as %q, by %d", vhost.Cause(cause), int64(n))
		}
	}
	if most := w.live.number("lost-letters-max-bytes"); !excess && got.Bytes > most {
		w.violate(Shelf, "there are %d bytes on the shelf, of %d", got.Bytes, most)
	}
}
