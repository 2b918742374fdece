package vhost

import "github.com/bartleby-mq/bartleby/internal/place"

// volatileStore holds the records of transient messages in memory. A chunk is forgotten when no copy refers
// to it; its bytes are never written again, so effects that still hold them stay good.
type volatileStore struct {
	chunks map[place.Index]*volatileChunk
	open   *volatileChunk
	last   place.Index
	idle   []*volatileChunk // closed before anything referred to them: looked at when the step ends
}

type volatileChunk struct {
	index place.Index
	bytes []byte
	refs  int // copies and histories that lie in it
}

// store appends what fill writes, about size bytes, and names it.
func (v *volatileStore) store(size int, fill func([]byte) []byte) place.Ref {
	c := v.open
	if c == nil || len(c.bytes)+size > cap(c.bytes) {
		v.close()
		v.last++
		c = &volatileChunk{index: v.last, bytes: make([]byte, 0, max(size, volatileChunkBytes))}
		v.chunks[c.index] = c
		v.open = c
	}
	at := len(c.bytes)
	c.bytes = fill(c.bytes)
	return place.Ref{Index: c.index, Offset: uint32(at), Size: uint32(len(c.bytes) - at)}
}

// alone stores a copy of a record in a chunk of its own: what stays for long must not hold what it came with.
func (v *volatileStore) alone(record []byte) place.Ref {
	v.last++
	c := &volatileChunk{index: v.last, bytes: append([]byte(nil), record...)}
	v.chunks[c.index] = c
	v.idle = append(v.idle, c) // until something refers to it
	return place.Ref{Index: c.index, Size: uint32(len(record))}
}

// close ends the open chunk: no record will be added to it.
func (v *volatileStore) close() {
	if v.open != nil && v.open.refs == 0 {
		v.idle = append(v.idle, v.open)
	}
	v.open = nil
}

// sweep forgets the closed chunks that nothing refers to. Between storing a record and making a copy of it
// no sweep may come.
func (v *volatileStore) sweep() {
	for _, c := range v.idle {
		if c.refs == 0 {
			delete(v.chunks, c.index)
		}
	}
	v.idle = v.idle[:0]
}

func (v *volatileStore) chunk(i place.Index) *volatileChunk {
	if v.open != nil && v.open.index == i {
		return v.open
	}
	return v.chunks[i]
}

func (v *volatileStore) read(r place.Ref) []byte {
	return v.chunk(r.Index).bytes[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

func (v *volatileStore) retain(i place.Index) { v.chunk(i).refs++ }

func (v *volatileStore) release(i place.Index) {
	c := v.chunk(i)
	c.refs--
	if c.refs == 0 && c != v.open {
		delete(v.chunks, i)
	}
}
