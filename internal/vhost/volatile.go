package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/memory"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// volatileStore holds the records of transient messages: in memory, and, of long backlogs, in pages that a restart
// forgets. A chunk is forgotten when no copy refers to it; its bytes are never written again, so effects that still
// bufferInTx them stay good.
type volatileStore struct {
	pages  storage.Pages
	chunks map[storage.Index]*volatileChunk
	open   *volatileChunk
	last   storage.Index
	idle   []*volatileChunk // closed before anything referred to them: looked at when the step ends

	offered []byte // Owned of the Publish that is being decided, until it is adopted; nil if there is none

	bytesMax int             // that may be in memory, of closed chunks
	bytes    int             // in memory, of closed chunks
	closed   []storage.Index // in the order of their making, from oldest on; some may be gone
	oldest   int
	spilled  int // chunks
}

type volatileChunk struct {
	index storage.Index
	bytes []byte
	page  storage.Ref // where the bytes are if they are not in memory
	refs  int         // copies and histories that lie in it
	new   bool        // made in this step: the message may go to more queues
}

func newVolatileStore(pages storage.Pages) volatileStore {
	return volatileStore{pages: pages, bytesMax: volatileBytesMax, chunks: map[storage.Index]*volatileChunk{}}
}

// store appends what fill writes, about size bytes, and names it.
func (v *volatileStore) store(size int, fill func([]byte) []byte) storage.Ref {
	c := v.open
	if c == nil || len(c.bytes)+size > cap(c.bytes) {
		v.close()
		v.last++
		c = &volatileChunk{index: v.last, bytes: memory.Uncleared(max(size, volatileChunkBytes))[:0]}
		v.chunks[c.index] = c
		v.open = c
	}
	at := len(c.bytes)
	c.bytes = fill(c.bytes)
	return storage.Ref{Index: c.index, Offset: uint32(at), Size: uint32(len(c.bytes) - at)}
}

// alone stores a copy of a record in a chunk of its own: what stays for long must not hold what it came with.
func (v *volatileStore) alone(record []byte) storage.Ref {
	return v.own(append([]byte(nil), record...))
}

// own makes a chunk of one record.
func (v *volatileStore) own(record []byte) storage.Ref {
	v.last++
	c := &volatileChunk{index: v.last, bytes: record, new: true}
	v.chunks[c.index] = c
	v.idle = append(v.idle, c) // until something refers to it
	v.ended(c)
	return storage.Ref{Index: c.index, Size: uint32(len(record))}
}

// isOffered reports whether a body lies in the memory that is offered.
func (v *volatileStore) isOffered(body []byte) bool {
	return len(v.offered) > 0 && len(body) > 0 && &v.offered[len(v.offered)-1] == &body[len(body)-1]
}

// adopt makes a chunk of the memory that is offered, in which body lies: a record that begins with head. It returns
// zero if head has no space there.
func (v *volatileStore) adopt(head, body []byte) storage.Ref {
	start := len(v.offered) - len(body) - len(head)
	if start < 0 {
		return storage.Ref{}
	}
	record := v.offered[start:]
	v.offered = nil
	copy(record, head)
	return v.own(record)
}

// close ends the open chunk: no record will be added to it.
func (v *volatileStore) close() {
	if v.open != nil {
		if v.open.refs == 0 {
			v.idle = append(v.idle, v.open)
		}
		v.ended(v.open)
	}
	v.open = nil
}

// ended counts a chunk that will not grow.
func (v *volatileStore) ended(c *volatileChunk) {
	v.bytes += cap(c.bytes)
	v.closed = append(v.closed, c.index)
}

// sweep forgets the closed chunks that nothing refers to, and spills the oldest others if they are too many. Between
// storing a record and making a copy of it no sweep may come.
func (v *volatileStore) sweep() {
	v.offered = nil
	for _, c := range v.idle {
		if c.new = false; c.refs == 0 {
			v.forget(c)
		}
	}
	clear(v.idle) // else their bytes stay
	v.idle = v.idle[:0]
	for v.bytes > v.bytesMax && v.oldest < len(v.closed) {
		if c := v.chunks[v.closed[v.oldest]]; c != nil && c.page.IsZero() {
			if c.page = v.pages.Put(c.bytes, true); c.page.IsZero() {
				return // no space: it stays in memory
			}
			v.bytes -= cap(c.bytes)
			v.spilled++
			c.bytes = nil
		}
		v.oldest++
	}
	if len(v.closed) > 1024 && len(v.closed) > 4*len(v.chunks) { // most of them are gone
		kept := v.closed[:0]
		for _, i := range v.closed[v.oldest:] {
			if v.chunks[i] != nil {
				kept = append(kept, i)
			}
		}
		v.closed, v.oldest = kept, 0
	}
	if v.oldest > 64 && 2*v.oldest > len(v.closed) {
		v.closed = append(v.closed[:0], v.closed[v.oldest:]...)
		v.oldest = 0
	}
}

// forget lets go of a closed chunk.
func (v *volatileStore) forget(c *volatileChunk) {
	if _, there := v.chunks[c.index]; !there {
		return
	}
	delete(v.chunks, c.index)
	if c.page.IsZero() {
		v.bytes -= cap(c.bytes)
		return
	}
	v.spilled--
	v.pages.Drop(c.page)
}

func (v *volatileStore) chunk(i storage.Index) *volatileChunk {
	if v.open != nil && v.open.index == i {
		return v.open
	}
	return v.chunks[i]
}

func (v *volatileStore) read(r storage.Ref) []byte {
	c := v.chunk(r.Index)
	if !c.page.IsZero() {
		return v.pages.Get(c.page.Part(r))
	}
	return c.bytes[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

func (v *volatileStore) retain(i storage.Index) { v.chunk(i).refs++ }

func (v *volatileStore) release(i storage.Index) {
	c := v.chunk(i)
	c.refs--
	if c.refs == 0 && c != v.open && !c.new {
		v.forget(c)
	}
}
