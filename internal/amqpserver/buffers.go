package amqpserver

import "github.com/bartleby-mq/bartleby/internal/engine"

// load is the buffer of one read, with the commands that point into it. From Submit to Free it is the engine's.
type load struct {
	engine.Batch
	buf  []byte
	conn *conn // told when the engine is done; nil until posted
	held int64 // octets that the server counts for bodies of its commands
	cost int64 // octets of the buffer and the commands, while the engine has them
	made int64 // octets of what was made for the commands beside these: definitions, with their arguments
}

// buffers keeps what reads and writes were done with for their next use, bounded, for all connections.
type buffers struct {
	tiny, small, large       chan *load
	chunksSmall, chunksLarge chan []byte
}

func newBuffers() buffers {
	return buffers{
		tiny:        make(chan *load, readBuffersKept),
		small:       make(chan *load, readBuffersKept),
		large:       make(chan *load, readBuffersKept),
		chunksSmall: make(chan []byte, chunksKeptSmall),
		chunksLarge: make(chan []byte, chunksKept),
	}
}

// load returns an empty load whose buffer has space for size octets at least.
func (b *buffers) load(size int) *load {
	var kept chan *load
	switch {
	case size <= readBufferTiny:
		kept, size = b.tiny, readBufferTiny
	case size <= readBufferSmall:
		kept, size = b.small, readBufferSmall
	case size <= 2*readBufferSmall: // the rest of the largest frame before a login
		size = 2 * readBufferSmall
	case size <= readBufferLarge:
		kept, size = b.large, readBufferLarge
	}
	select {
	case l := <-kept: // nil, and never ready, for a size that is not kept
		return l
	default:
	}
	l := &load{buf: make([]byte, size)}
	l.Free = func(*engine.Batch) {
		c, held := l.conn, l.held
		c.countUnderWay(-l.cost)
		l.conn, l.held = nil, 0
		b.recycle(l)
		if held > 0 {
			c.server.unfinished.free(c, held)
		}
		c.freed()
	}
	return l
}

// recycle takes l back. It does not block.
func (b *buffers) recycle(l *load) {
	l.made = 0
	clear(l.Commands) // bodies and arguments are not kept; add relies on it
	l.Commands = l.Commands[:0]
	if cap(l.Commands) > commandsKept {
		l.Commands = nil
	}
	var kept chan *load
	switch len(l.buf) {
	case readBufferTiny:
		kept = b.tiny
	case readBufferSmall:
		kept = b.small
	case readBufferLarge:
		kept = b.large
	}
	select {
	case kept <- l:
	default:
	}
}

// chunk returns an empty slice with space for size octets at least.
func (b *buffers) chunk(size int) []byte {
	kept := b.chunksLarge
	switch {
	case size <= chunkBytesSmall:
		kept, size = b.chunksSmall, chunkBytesSmall
	case size <= chunkBytes:
		size = chunkBytes
	default:
		return make([]byte, 0, size)
	}
	select {
	case c := <-kept:
		return c
	default:
		return make([]byte, 0, size)
	}
}

// letGo leaves half of what is kept to the garbage collector: after a burst, nearly all of it within half a minute.
// What is in use is made again at little cost. Any goroutine may call it.
func (b *buffers) letGo() {
	halve(b.tiny)
	halve(b.small)
	halve(b.large)
	halve(b.chunksSmall)
	halve(b.chunksLarge)
}

func halve[T any](kept chan T) {
	for range (len(kept) + 1) / 2 {
		select {
		case <-kept:
		default:
			return
		}
	}
}

// extend reports whether there is space for size more octets in a chunk. A small one becomes a large one for that: it
// is copied once.
func (b *buffers) extend(c []byte, size int) ([]byte, bool) {
	switch {
	case cap(c)-len(c) >= size:
		return c, true
	case cap(c) != chunkBytesSmall || len(c)+size > chunkBytes:
		return c, false
	}
	large := append(b.chunk(chunkBytes), c...)
	b.recycleChunk(c)
	return large, true
}

// recycleChunk takes a slice back that chunk returned, or any other. It does not block.
func (b *buffers) recycleChunk(c []byte) {
	var kept chan []byte
	switch cap(c) {
	case chunkBytesSmall:
		kept = b.chunksSmall
	case chunkBytes:
		kept = b.chunksLarge
	}
	select {
	case kept <- c[:0]: // never ready for one that is not kept
	default:
	}
}
