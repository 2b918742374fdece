package sim

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// digest folds what a command has led to into the run's hash: two runs with the same hash had the same history.
func (w *world) digest(c *vhost.Command, refused *amqp.Error, facts []fact.Fact, effects []vhost.Effect) {
	b := append(w.scratch[:0], byte(c.Kind))
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	number(uint64(c.Channel))
	if refused != nil {
		text(refused.Text)
	}
	for i := range facts {
		f := &facts[i]
		b = append(b, byte(f.Kind), byte(f.Cause), byte(f.Entry.Flags))
		number(uint64(f.Queue))
		number(uint64(f.Seq))
		number(f.N)
		number(uint64(f.Entry.ExpireAt))
		number(uint64(f.At))
		for _, id := range f.Took {
			number(uint64(id))
		}
	}
	for i := range effects {
		e := &effects[i]
		b = append(b, byte(e.Kind))
		number(uint64(e.Channel))
		number(uint64(e.After))
		number(e.Tag)
		number(e.Count)
		number(uint64(e.Message.Acquired))
		number(uint64(e.Message.Count))
		text(e.ConsumerTag)
		text(e.Name)
		if e.Err != nil {
			text(e.Err.Text)
		}
	}
	w.hash.Write(b)
	w.scratch = b
}
