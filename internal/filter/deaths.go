package filter

import (
	"iter"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// deathsHeader is the header with the history of a dead letter. The broker writes it at a delivery. A client that
// publishes what it got with the same headers copies it.
const deathsHeader = "x-death"

// origin is a queue, and why a message died there; lent.
type origin struct{ queue, reason []byte }

// A death is an entry of the header; lent.
type death struct {
	origin
	exchange, key []byte
	time          int64 // seconds since the Unix epoch
	count         int64
}

// deathsIn lists the newest deaths in the header, the newest first. An entry without a queue or a reason is none.
func deathsIn(header value) iter.Seq[death] {
	return func(yield func(death) bool) {
		if header.kind != amqp.KindArray {
			return
		}
		rest := header.data
		for n := 0; n < deathsMax && len(rest) > 0; n++ {
			v, after, ok := cutTagged(rest)
			if !ok {
				return
			}
			rest = after
			if d := readDeath(v); len(d.queue) > 0 && len(d.reason) > 0 && !yield(d) {
				return
			}
		}
	}
}

// readDeath reads an entry, which is a table.
func readDeath(entry value) (d death) {
	if entry.kind != amqp.KindTable {
		return d
	}
	d.count = 1
	for rest := entry.data; len(rest) > 0; {
		name, v, after, ok := cutNamed(rest)
		if !ok {
			return d
		}
		rest = after
		switch string(name) {
		case "queue":
			d.queue = v.short()
		case "reason":
			d.reason = v.short()
		case "exchange":
			d.exchange = v.short()
		case "routing-keys":
			if v.kind == amqp.KindArray {
				first, _, _ := cutTagged(v.data)
				d.key = first.short()
			}
		case "count":
			d.count = v.within(1, deathCountMax)
		case "time":
			d.time = v.within(0, timestampMax)
		}
	}
	return d
}

// short is a text that may be a name; nil of any other value.
func (v value) short() []byte {
	if v.kind != amqp.KindString && v.kind != amqp.KindBinary || len(v.data) > amqp.ShortStringMax {
		return nil
	}
	return v.data
}

// within is an integer in a range, or the least one of it.
func (v value) within(least, most int64) int64 {
	if r, ok := v.real(); ok && r.exact {
		return min(max(r.n, least), most)
	}
	return least
}

// hasDeaths reports whether the header tells of a death.
func hasDeaths(header value) bool {
	for range deathsIn(header) {
		return true
	}
	return false
}

// queuesOfDeaths lists the queues in the header.
func queuesOfDeaths(header value) (queues []string) {
	for d := range deathsIn(header) {
		if !slices.Contains(queues, string(d.queue)) {
			queues = append(queues, string(d.queue))
		}
	}
	return queues
}

// copied notes what an x-death header tells; first is what other headers say of the first death. What those of
// libraries tell of the origin has precedence. It returns when the message died last.
func (f *Failure) copied(header value, first origin) (died int64) {
	var from death // the first death, or else the oldest entry
	found := false
	for d := range deathsIn(header) {
		if f.Deaths == 0 {
			f.LastQueue, died = string(d.queue), d.time
		}
		f.Deaths += d.count
		if !found {
			from = d
		}
		found = found || string(d.queue) == string(first.queue) && string(d.reason) == string(first.reason)
	}
	f.FirstReason = string(from.reason)
	if f.Exchange == "" && f.Key == "" && f.Queue == "" {
		f.Exchange, f.Key, f.Queue = string(from.exchange), string(from.key), string(from.queue)
	}
	return died
}
