package amqpserver

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// outbox holds what is to be sent, in order, until the writer has sent it. Any goroutine may put something in; none
// waits. What it holds is bounded by others: deliveries by the window, the rest by the reader, which pauses. The
// writer's goroutine starts when the kernel does not take something at once: many connections end before that.
type outbox struct {
	socket  *socket
	buffers *buffers
	writer  func()        // the writer's goroutine: runs write; set before the first put
	wake    chan struct{} // to the writer: look again; one is enough
	eased   chan struct{} // to the reader: what it may pause for has changed
	sent    atomic.Uint64 // octets
	writes  atomic.Uint64 // that sent them

	// answers counts what is unsent of all connections and took no window; the reader pauses when that is more than
	// answersMax, and something of its own waits. Zero means no limit.
	answers    *atomic.Int64
	answersMax int64

	mu struct {
		sync.Mutex
		queue    []piece
		cost     int64         // window taken by what is in queue
		unsent   int           // octets in queue and with the writer
		answers  int64         // octets in queue that took no window
		sealed   bool          // connection.close or close-ok is in
		finished bool          // nothing more comes: the writer ends when the queue is empty
		ended    chan struct{} // closed when the writer has ended; nil: it has not started
		broken   bool          // the socket takes nothing more
	}
}

// piece is a part of what is to be sent.
type piece struct {
	octets []byte
	lent   bool // by what is sent: nothing is added to it, and it serves nothing else later
}

func newOutbox(b *buffers, s *socket, answers *atomic.Int64, answersMax int64) outbox {
	return outbox{socket: s, buffers: b, answers: answers, answersMax: answersMax, wake: make(chan struct{}, 1), eased: make(chan struct{}, 1)}
}

// pending is how many chunks wait for the writer.
func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.queue)
}

// put adds whole frames and takes chunk over; cost is the window that they took. What comes after the seal is dropped.
// If the writer is idle and the kernel takes a small chunk at once, there is no need to wake the writer: written is
// true, and the window is the caller's to give back.
func (o *outbox) put(chunk []byte, cost int64) (written bool) {
	o.mu.Lock()
	if o.mu.sealed || o.mu.broken {
		o.mu.Unlock()
		o.buffers.recycleChunk(chunk)
		return false
	}
	if n := o.sendAtOnce(chunk); n > 0 {
		if n == len(chunk) {
			o.mu.Unlock()
			o.buffers.recycleChunk(chunk)
			return true
		}
		chunk = chunk[n:]
	}
	o.mu.cost += cost
	if cost == 0 {
		o.mu.answers += int64(len(chunk))
		o.answers.Add(int64(len(chunk)))
	}
	o.add(chunk)
	o.mu.Unlock()
	signal(o.wake)
	return false
}

// sendAtOnce sends as much of a small chunk as the kernel takes, if nothing waits, and returns how much. mu is held.
func (o *outbox) sendAtOnce(chunk []byte) int {
	if o.mu.unsent > 0 || len(chunk) > directBytesMax {
		return 0
	}
	n := o.socket.tryWrite(chunk)
	o.sent.Add(uint64(n))
	o.writes.Add(uint64(min(n, 1)))
	return n
}

// lend is put of chunk and of pieces that follow it, which stay whose they are, and which nobody changes any more.
func (o *outbox) lend(chunk []byte, pieces [][]byte, cost int64) {
	o.mu.Lock()
	if o.mu.sealed || o.mu.broken {
		o.mu.Unlock()
		o.buffers.recycleChunk(chunk)
		return
	}
	o.mu.cost += cost
	o.add(chunk)
	for _, p := range pieces {
		o.mu.unsent += len(p)
		o.mu.queue = append(o.mu.queue, piece{octets: p, lent: true})
	}
	o.mu.Unlock()
	signal(o.wake)
}

// seal adds the last frames and reports true, unless something was the last already.
func (o *outbox) seal(last []byte) bool {
	o.mu.Lock()
	first := !o.mu.sealed
	if first && !o.mu.broken {
		o.addLast(last)
	}
	o.mu.sealed = true
	o.mu.Unlock()
	signal(o.wake)
	signal(o.eased)
	return first
}

// putSealed adds frames that may follow the seal: close-ok.
func (o *outbox) putSealed(frames []byte) {
	o.mu.Lock()
	if !o.mu.broken {
		o.addLast(frames)
	}
	o.mu.Unlock()
	signal(o.wake)
}

// addLast queues what the kernel does not take at once. mu is held.
func (o *outbox) addLast(frames []byte) {
	if n := o.sendAtOnce(frames); n < len(frames) {
		o.add(frames[n:])
	}
}

// add queues chunk, in the space that the last one has left if it fits: a client that reads slowly must not hold a
// whole chunk for each small flush. mu is held.
func (o *outbox) add(chunk []byte) {
	o.start()
	o.mu.unsent += len(chunk)
	if n := len(o.mu.queue); n > 0 {
		if last := &o.mu.queue[n-1]; !last.lent {
			if c, ok := o.buffers.extend(last.octets, len(chunk)); ok {
				last.octets = append(c, chunk...)
				o.buffers.recycleChunk(chunk)
				return
			}
		}
	}
	o.mu.queue = append(o.mu.queue, piece{octets: chunk})
}

// start starts the writer if it has not started. mu is held.
func (o *outbox) start() {
	if o.mu.ended != nil || o.mu.finished {
		return
	}
	ended := make(chan struct{})
	o.mu.ended = ended
	go func() {
		defer close(ended)
		o.writer()
	}()
}

// finish says that nothing more comes. What it returns is closed when the writer has ended; nil: it has not started.
func (o *outbox) finish() (ended <-chan struct{}) {
	o.mu.Lock()
	o.mu.finished = true
	ended = o.mu.ended
	o.mu.Unlock()
	signal(o.wake)
	return ended
}

// isSealed reports whether connection.close or close-ok is in.
func (o *outbox) isSealed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.sealed
}

// isOver reports whether nothing more will be sent but what is in.
func (o *outbox) isOver() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.sealed || o.mu.broken
}

// isFull reports whether so much is unsent that the reader shall pause.
func (o *outbox) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	tight := o.answersMax > 0 && o.answers.Load() > o.answersMax
	return (o.mu.unsent > unsentBytesMax || tight && o.mu.unsent > unsentBytesLeast) && !o.mu.sealed && !o.mu.broken
}

// waiting is how many octets are unsent.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.unsent
}

// isIdle reports whether the writer has nothing to do.
func (o *outbox) isIdle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.unsent == 0
}

// write sends what is put in until the outbox is finished and empty, or the socket fails: the error. One system call
// sends all that waits. written is told the window to give back.
func (o *outbox) write(written func(cost int64)) error {
	var pieces []piece
	var iov net.Buffers
	for range o.wake {
		for {
			o.mu.Lock()
			pieces, o.mu.queue = o.mu.queue, pieces[:0]
			cost, answers := o.mu.cost, o.mu.answers
			o.mu.cost, o.mu.answers = 0, 0
			finished := o.mu.finished
			o.mu.Unlock()
			if len(pieces) == 0 {
				if finished {
					return nil
				}
				break
			}
			iov = iov[:0]
			for _, p := range pieces {
				iov = append(iov, p.octets)
			}
			n, err := o.send(iov)
			o.writes.Add(1)
			o.answers.Add(-answers)
			if err != nil {
				o.fail()
				return err
			}
			o.wrote(n)
			for _, p := range pieces {
				if !p.lent {
					o.buffers.recycleChunk(p.octets)
				}
			}
			clear(pieces)
			if cost > 0 {
				written(cost)
			}
		}
	}
	return nil
}

// send writes chunks, which it consumes, and counts what the socket has taken: at once for plain TCP, whose progress
// the kernel tells; piece by piece otherwise, so that the progress of a slow client is seen.
func (o *outbox) send(chunks net.Buffers) (n int, err error) {
	if o.socket.raw != nil {
		n, err := chunks.WriteTo(o.socket.Conn)
		o.sent.Add(uint64(n))
		return int(n), err
	}
	for _, chunk := range chunks {
		for piece := range slices.Chunk(chunk, sendPiece) {
			m, err := o.socket.Conn.Write(piece)
			o.sent.Add(uint64(m))
			n += m
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (o *outbox) wrote(n int) {
	o.mu.Lock()
	o.mu.unsent -= n
	o.mu.Unlock()
	signal(o.eased)
}

// fail drops what waits and what will come.
func (o *outbox) fail() {
	o.mu.Lock()
	o.mu.broken = true
	o.mu.unsent = 0
	o.answers.Add(-o.mu.answers)
	o.mu.answers = 0
	o.mu.queue = slices.Delete(o.mu.queue, 0, len(o.mu.queue))
	o.mu.Unlock()
	signal(o.eased)
}

// signal leaves a token in c unless one is there.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
