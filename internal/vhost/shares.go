package vhost

import (
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// shares say from which queues the lost letters are. When it is full, the queue that has the most bytes
// there loses its oldest lost letter: a flood from one queue pushes out its own lost letters, and not those
// of others. Of two queues with as much, the one with the older lost letter loses. Source: ours, decision 7.
//
// The origin of a lost letter is a number, made of the queue's name; it is in the log where other copies have
// their returns. Two queues whose numbers are the same share. Lost letters of earlier versions, and those
// that never died, have the origin 0.
type shares struct {
	byOrigin map[uint32]*share
	heap     shareHeap // the first loses next
}

// share is what one origin has in the lost store.
type share struct {
	origin      uint32
	bytes       int64
	lostLetters []queue.Seq // in order, never empty
	at          int         // in the heap
}

// originOf is the origin of lost letters from a queue.
func originOf(name string) uint32 {
	if name == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(name)) // so that nobody chooses a name to share with somebody else
	return binary.BigEndian.Uint32(sum[:])
}

// origin is that of a lost letter: the queue in which it died last, or that it was discarded from.
func (m *message) origin(cause fact.Cause, target string) uint32 {
	switch {
	case cause == fact.Discarded:
		return originOf(target)
	case m.history == nil || len(m.history.Deaths) == 0:
		return 0
	}
	return originOf(m.history.Last.Queue)
}

// loser is the lost letter that goes when the lost store is full; ok is false if it is empty.
func (x *shares) loser() (seq queue.Seq, ok bool) {
	if len(x.heap) == 0 {
		return 0, false
	}
	return x.heap[0].lostLetters[0], true
}

func (x *shares) add(origin uint32, seq queue.Seq, size uint32) {
	s := x.byOrigin[origin]
	if s == nil {
		s = &share{origin: origin, lostLetters: []queue.Seq{seq}, bytes: int64(size)}
		if x.byOrigin == nil {
			x.byOrigin = map[uint32]*share{}
		}
		x.byOrigin[origin] = s
		heap.Push(&x.heap, s)
		return
	}
	s.bytes += int64(size)
	if s.lostLetters[len(s.lostLetters)-1] < seq {
		s.lostLetters = append(s.lostLetters, seq)
	} else {
		i, _ := slices.BinarySearch(s.lostLetters, seq)
		s.lostLetters = slices.Insert(s.lostLetters, i, seq)
	}
	heap.Fix(&x.heap, s.at)
}

func (x *shares) remove(origin uint32, seq queue.Seq, size uint32) {
	s := x.byOrigin[origin]
	i, _ := slices.BinarySearch(s.lostLetters, seq)
	s.bytes -= int64(size)
	if len(s.lostLetters) == 1 {
		heap.Remove(&x.heap, s.at)
		delete(x.byOrigin, origin)
		return
	}
	copy(s.lostLetters[1:], s.lostLetters[:i]) // lost letters mostly go from the front
	s.lostLetters = s.lostLetters[1:]
	heap.Fix(&x.heap, s.at)
}

// check compares the shares with what is in the lost store.
func (x *shares) check(lost *queue.Messages) error {
	var all shares
	lost.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		all.add(lost.Side(seq).Acquired, seq, e.BodyBytes)
		return true
	})
	if len(all.byOrigin) != len(x.byOrigin) {
		return fmt.Errorf("vhost: the lost store has lost letters of %d queues, %d are counted", len(all.byOrigin), len(x.byOrigin))
	}
	for _, want := range all.heap {
		if got := x.byOrigin[want.origin]; got == nil || got.bytes != want.bytes || !slices.Equal(got.lostLetters, want.lostLetters) {
			return fmt.Errorf("vhost: the lost store counts wrongly what it has of queue %x: %d bytes", want.origin, want.bytes)
		}
	}
	if want, _ := all.loser(); len(all.heap) > 0 {
		if got, _ := x.loser(); got != want {
			return fmt.Errorf("vhost: lost letter %d would leave the lost store next, it is lost letter %d's turn", got+1, want+1)
		}
	}
	return nil
}

// shareHeap implements heap.Interface.
type shareHeap []*share

func (h shareHeap) Len() int { return len(h) }

func (h shareHeap) Less(i, j int) bool {
	if h[i].bytes != h[j].bytes {
		return h[i].bytes > h[j].bytes
	}
	return h[i].lostLetters[0] < h[j].lostLetters[0]
}

func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements heap.Interface.
func (h *shareHeap) Push(s any) {
	s.(*share).at = len(*h)
	*h = append(*h, s.(*share))
}

// Pop implements heap.Interface.
func (h *shareHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return s
}
