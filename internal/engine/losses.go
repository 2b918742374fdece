package engine

import "github.com/bartleby-mq/bartleby/internal/vhost/fact"

// tellLosses logs dead letters and direct replies that found no place: nothing vanishes silently.
func (r *runner) tellLosses() {
	for _, l := range r.vhost.TakeLosses() {
		now, _, _ := r.time.read()
		if last, ok := r.told[l]; ok && now < last+lossEvery {
			continue
		}
		if len(r.told) >= toldMax {
			clear(r.told)
		}
		r.told[l] = now
		switch {
		case l.SlowConnection != "":
			r.slog.Warn("direct replies dropped: the client reads too slowly", "vhost", r.name, "connection", l.SlowConnection)
		case l.Cause == fact.GoneEvicted:
			r.slog.Warn("lost letter deleted: size or age limit reached", "vhost", r.name)
		case l.Kept:
			r.slog.Warn("dead letter could not be delivered: kept as a lost letter", "vhost", r.name, "queue", l.Queue, "cause", l.Cause.String())
		default:
			r.slog.Warn("dead letter could not be delivered and was deleted: the vhost keeps no lost letters", "vhost", r.name, "queue", l.Queue, "cause", l.Cause.String())
		}
	}
}

const (
	// lossEvery is how often a loss of the same queue and cause is logged, ms.
	lossEvery = 60_000
	// toldMax bounds what is remembered of that.
	toldMax = 1024
)
