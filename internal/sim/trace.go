package sim

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// trace tells what a command has led to.
func (w *world) trace(st *step, facts []fact.Fact) {
	if w.o.Trace == nil {
		return
	}
	c := st.command
	w.o.Trace(fmt.Sprintf("step %d, batch %d, now %d: command %d on %d/%d tag=%d multiple=%t requeue=%t %q %q refused=%v",
		w.step, st.stamp.Index, st.stamp.Now, c.Kind, c.Conn, c.Channel, c.Tag, c.Multiple, c.Requeue, c.Exchange, c.Key, st.refused))
	if c.Definition != nil {
		w.o.Trace(fmt.Sprintf("    %+v", *c.Definition))
	}
	if c.Policy != nil {
		w.o.Trace(fmt.Sprintf("    %+v", *c.Policy))
	}
	for i := range facts {
		f := &facts[i]
		w.o.Trace(fmt.Sprintf("  fact %d durable=%t queue=%d seq=%d n=%d cause=%v expires=%d flags=%b index=%d failed=%t until=%d took=%v",
			f.Kind, f.Durable, f.Queue, f.Seq, f.N, f.Cause, f.Entry.ExpireAt, f.Entry.Flags, f.Entry.Index, f.Failed, f.At, f.Took))
		if f.Object != nil {
			w.o.Trace(fmt.Sprintf("    %+v", *f.Object))
		}
	}
	for i := range st.effects {
		e := &st.effects[i]
		w.o.Trace(fmt.Sprintf("  effect %d of %d on %d after=%d tag=%d %q %q count=%d %v",
			e.Kind, e.Command, e.Channel, e.After, e.Tag, e.ConsumerTag, e.Name, e.Count, e.Err))
	}
}

// note tells of something else.
func (w *world) note(format string, args ...any) {
	if w.o.Trace != nil {
		w.o.Trace(fmt.Sprintf("step %d: ", w.step) + fmt.Sprintf(format, args...))
	}
}
