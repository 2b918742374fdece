package web

import (
	"errors"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
)

// largeDocument is from how many bytes on documents are decoded in turn: the largest take some tens of milliseconds.
const largeDocument = 64 << 10

// decoders are those that decode large documents. A decoder does not rest, so few work at a time.
type decoders struct {
	slots chan struct{}
	waits atomic.Uint64
}

// DecodingWaits counts how often a document has waited for others.
func (s *Shared) DecodingWaits() uint64 { return s.decoders.waits.Load() }

// DecodeText decodes a document, and counts what it makes of it. All that comes by HTTP is decoded here. A large one is
// decoded in its user's turn; a task that the request has already is the one.
func (r *Request) DecodeText(text []byte, into any, known bool) error {
	d := &decoding{request: r}
	if len(text) > largeDocument {
		if err := d.begin(); err != nil {
			return err
		}
		defer d.end()
	}
	err := api.DecodeWithin(text, into, api.Bounds{Known: known, Admit: func(bytes int64) error {
		if most := r.Memory.Each; bytes > most {
			return BadRequest("the decoded request body would use %d bytes of memory; the limit is %d", bytes, most)
		}
		return d.aside(func() error { return r.Take(bytes) })
	}})
	var refused *api.Error
	if err == nil || errors.As(err, &refused) || errors.Is(err, ErrNoMemory) || r.Context().Err() != nil {
		return err
	}
	return BadRequest("%v", err)
}

// A decoding is of one document. Its zero slot and task are those of a small one, which takes neither.
type decoding struct {
	request *Request
	own     *fairshare.Task // that ends with it
	holds   bool            // a slot
}

// begin waits for the task, then for a slot.
func (d *decoding) begin() error {
	r := d.request
	if !r.Task.Lasts() {
		_, task, err := r.Share.BeginPatiently(r.Context(), r.Caller.Name(), r.Memory.Patience)
		if err != nil {
			return err
		}
		d.own, r.Task = task, task
	}
	if err := d.enter(); err != nil {
		d.end()
		return err
	}
	return nil
}

func (d *decoding) enter() error {
	all, r := &d.request.decoders, d.request
	select {
	case all.slots <- struct{}{}:
		d.holds = true
		return nil
	default:
	}
	all.waits.Add(1)
	return r.Task.Idle(func() error {
		select {
		case all.slots <- struct{}{}:
			d.holds = true
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	})
}

// aside runs what may wait for other requests. Meanwhile others decode.
func (d *decoding) aside(fn func() error) error {
	if !d.holds {
		return fn()
	}
	d.leave()
	if err := d.request.Task.Away(fn); err != nil {
		return err
	}
	return d.enter()
}

func (d *decoding) leave() {
	if d.holds {
		d.holds = false
		<-d.request.decoders.slots
	}
}

// end gives back what the decoding holds.
func (d *decoding) end() {
	d.leave()
	if d.own != nil {
		d.own.End()
		d.request.Task = nil
	}
}
