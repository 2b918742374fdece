package sim

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

const (
	pagesLog = storage.LogID(1<<31) | logID
	// pageBatchBytes is how large a batch of pages grows: a few pages.
	pageBatchBytes = 3 << 10
)

// pages keeps the machine's pages, as the engine does: durable ones in a log of their own, transient ones where a
// restart forgets them.
type pages struct {
	w       *world
	next    storage.Index            // of the batch in the making
	batch   []byte                   //
	recent  map[storage.Index][]byte // still in memory
	safe    storage.Index            // batch, and those before it
	sums    map[storage.Ref]uint64   // of all durable ones ever put
	spilled map[storage.Index][]byte
	last    storage.Index // of the transient ones
}

// reopen begins anew with what the journal has: what was spilled is gone.
func (p *pages) reopen() {
	p.next, p.batch, p.recent, p.safe = p.w.journal.Next(pagesLog), nil, map[storage.Index][]byte{}, 0
	p.spilled = map[storage.Index][]byte{}
}

// Put implements storage.Pages.
func (p *pages) Put(b []byte, transient bool) storage.Ref {
	if transient {
		if p.w.tight && p.w.Chance(3) {
			return storage.Ref{} // there is no space
		}
		p.w.result.Spilled++
		p.last++
		r := storage.Ref{Log: storage.Volatile.Pages(), Index: p.last, Size: uint32(len(b))}
		p.spilled[r.Index] = bytes.Clone(b)
		return r
	}
	if len(p.batch) > 0 && len(p.batch)+len(b) > pageBatchBytes {
		p.flush()
	}
	p.w.result.Paged++
	r := storage.Ref{Log: pagesLog, Index: p.next, Offset: uint32(len(p.batch)), Size: uint32(len(b))}
	p.batch = append(p.batch, b...)
	p.sums[r] = maphash.Bytes(sumSeed, b)
	return r
}

// flush gives the batch in the making to the log.
func (p *pages) flush() {
	if len(p.batch) == 0 {
		return
	}
	p.w.pending = append(p.w.pending, journal.Batch{Log: pagesLog, Index: p.next, Data: p.batch})
	p.recent[p.next] = p.batch
	p.next++
	p.batch = nil
}

// written is the last batch of pages that the journal has.
func (p *pages) written() storage.Index {
	last := p.next - 1
	for _, b := range p.w.pending {
		if b.Log == pagesLog {
			last--
		}
	}
	return last
}

// Get implements storage.Pages.
func (p *pages) Get(r storage.Ref) []byte {
	if r.Log == storage.Volatile.Pages() {
		b := p.spilled[r.Index]
		if int(r.Offset+r.Size) > len(b) {
			p.w.violate(Readable, "the machine asks for spilled page %+v, which is not there", r)
			panic(storage.Fault{Err: errors.New("no such page")})
		}
		return b[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
	}
	in := p.batch
	if r.Index != p.next {
		in = p.recent[r.Index]
	}
	if in != nil {
		return in[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
	}
	p.w.result.Warmed++
	b := p.w.read(r)
	if sum, known := p.sums[r]; !known || sum != maphash.Bytes(sumSeed, b) {
		p.w.violate(p.w.unlike(), "page %+v has other bytes than were put there (known: %t)", r, known)
	}
	return b
}

// Drop implements storage.Pages.
func (p *pages) Drop(r storage.Ref) {
	if _, ok := p.spilled[r.Index]; !ok || r.Log != storage.Volatile.Pages() {
		p.w.violate(Readable, "page %+v is dropped, which is not there", r)
	}
	delete(p.spilled, r.Index)
}

// read reads what lies at a ref from the disk, or unwinds.
func (w *world) read(r storage.Ref) []byte {
	b, err := w.journal.Read(nil, r)
	if fault := new(journal.Fault); w.looking && errors.As(err, &fault) {
		w.checkNamed(fault)
		w.mend("look")
		b, err = w.journal.Read(nil, r)
	}
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	return b
}

// look lets checkers ask the machine for all that it holds: no call of the disk fails for them.
func (w *world) look(fn func()) {
	if w.violation != nil {
		return
	}
	before := w.looking
	w.looking = true
	if err := unwound(fn); err != nil {
		w.violate(Readable, "what the machine holds cannot be read: %v", err)
	}
	w.looking = before
}

// unwound runs fn, and returns the error of a read that failed in it.
func unwound(fn func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case storage.Fault:
			err = p.Err
		default:
			panic(p)
		}
	}()
	fn()
	return nil
}

// spare are the pages of a machine that only checkers know: in memory, or, those that it never put, the node's.
type spare struct {
	node  *pages // nil: it has all that it asks for
	last  storage.Index
	pages map[storage.Ref][]byte // by where they begin
}

// Put implements storage.Pages.
func (s *spare) Put(b []byte, transient bool) storage.Ref {
	if s.pages == nil {
		s.pages = map[storage.Ref][]byte{}
	}
	s.last++
	r := storage.Ref{Log: pagesLog, Index: 1<<60 + s.last, Size: uint32(len(b))}
	if transient {
		r.Log = storage.Volatile.Pages()
	}
	s.pages[r.First(0)] = bytes.Clone(b)
	return r
}

// Get implements storage.Pages.
func (s *spare) Get(r storage.Ref) []byte {
	if b, ok := s.pages[storage.Ref{Log: r.Log, Index: r.Index}]; ok {
		return b[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
	}
	if s.node == nil {
		panic(storage.Fault{Err: fmt.Errorf("no page %+v", r)})
	}
	return s.node.Get(r)
}

// Drop implements storage.Pages.
func (s *spare) Drop(r storage.Ref) { delete(s.pages, r.First(0)) }
