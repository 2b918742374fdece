package ledger

import (
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Tally is what a copy's returns were counted to: whether a queue counts depends on its settings, which the log's
// facts about messages do not tell.
type Tally struct {
	Queue            fact.QueueID
	Seq              queue.Seq
	Acquired, Failed uint32
}

// Replay applies a fact of the log. What it cannot mean is void, as for the machine.
// Made is the copy that an Enqueued fact makes, and deaths are what a Held one tells of.
func (l *Ledger) Replay(f *fact.Fact, made func() *Entry, deaths []Death) {
	l.Structure(f)
	each := func(fn func(*Entry)) {
		for s := f.Seq; s < f.Seq+queue.Seq(max(f.N, 1)); s++ {
			if e := l.Find(f.Queue, s); e != nil {
				fn(e)
			}
		}
	}
	switch f.Kind {
	case fact.Enqueued:
		l.Add(f.Queue, made())
	case fact.Handed:
		each(func(e *Entry) {
			if e.State != queue.Held { // a lazy fact may come after what has become of it
				e.Redelivered, e.Handed = true, true
			}
		})
	case fact.Returned:
		each(func(e *Entry) { e.ComeBack(f.At) })
	case fact.Resumed:
		each((*Entry).Resume)
	case fact.Deferred:
		each(func(e *Entry) { e.Defer(f.At) })
	case fact.Arrived:
		each(func(e *Entry) { e.Arrived = f.At })
	case fact.Keyed:
		if e := l.Find(f.Queue, f.Seq); e != nil { // N is a hash
			e.Keyed = true
		}
	case fact.Held:
		each(func(e *Entry) { e.Hold(f, deaths) })
	case fact.Kept:
		each((*Entry).Keep)
	case fact.Ended:
		each(func(e *Entry) {
			e.Cause = f.Cause
			l.Remove(e)
		})
	}
}
