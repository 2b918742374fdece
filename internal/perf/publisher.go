package perf

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// publisher sends messages over a link of its own, from one goroutine, and takes confirms in another.
type publisher struct {
	link    *link
	shape   shape
	lane    lane
	count   int64     // how many to send; 0: until stopped
	pace    *pace     // nil: as fast as the gates allow
	backlog *gate     // of all publishers: messages published and not consumed
	window  *gate     // of its own: messages not confirmed
	answers *confirms // nil without confirms
	since   *atomic.Int64
	actual  bool // messages count from when they are written, not from when they were meant to be

	stop     atomic.Bool
	sent     atomic.Int64 // counted before they are written
	returned atomic.Int64
}

// newPublisher opens the link's channel for confirms if outstanding is above 0.
func newPublisher(l *link, outstanding int) (*publisher, error) {
	p := &publisher{link: l, window: newGate(outstanding)}
	if outstanding == 0 {
		return p, nil
	}
	p.answers = newConfirms(outstanding)
	_, err := call[*wire.ConfirmSelectOk](l, &wire.ConfirmSelect{})
	return p, err
}

// publish sends until the count is reached or halt is called.
func (p *publisher) publish() error {
	if p.pace != nil && p.pace.thread {
		runtime.LockOSThread() // its timer slack is this thread's
		defer runtime.UnlockOSThread()
		sharpen()
	}
	left := p.count
	if left == 0 {
		left = math.MaxInt64
	}
	for left > 0 && !p.stop.Load() {
		var due, at int64 = left, 0
		if p.pace != nil {
			n, instant := p.pace.next(&p.stop)
			due, at = min(int64(n), left), instant
		}
		for due > 0 && !p.stop.Load() {
			n, err := p.write(due, at)
			if err != nil {
				return err
			}
			due -= n
			left -= n
		}
	}
	return nil
}

// write sends one batch of at most due messages, meant for an instant, or for now if that is 0, and returns how many.
func (p *publisher) write(due, at int64) (int64, error) {
	first := p.sent.Load()
	n, open := p.window.acquire(int(min(due, int64(p.shape.most(first)))))
	if !open {
		return 0, nil
	}
	granted, open := p.backlog.acquire(n)
	p.window.release(n - granted)
	if !open {
		return 0, nil
	}
	instant := now()
	if at == 0 {
		at = instant
	} else if at >= p.since.Load() {
		record(p.pace.late, instant-at)
	}
	stamp := at
	if p.actual {
		stamp = instant
	}
	batch, err := p.shape.batch(first, granted, stamp)
	if err != nil {
		return 0, err
	}
	if p.answers != nil {
		p.answers.note(granted, at)
	}
	p.sent.Store(first + int64(granted))
	return int64(granted), p.link.send(batch)
}

// halt makes publish return, unless the broker does not read.
func (p *publisher) halt() {
	p.stop.Store(true)
	p.window.close()
}

// receive takes what the broker answers, until the link is interrupted.
func (p *publisher) receive() error {
	for {
		got, err := p.link.receive()
		if errors.Is(err, errInterrupted) {
			return nil
		}
		if err != nil {
			return err
		}
		p.returned.Add(int64(got.returned))
		if p.answers == nil {
			continue
		}
		at, since, n := now(), p.since.Load(), 0
		for _, s := range got.settled {
			n += p.answers.settle(s, at, since)
		}
		p.window.release(n)
	}
}

// sentTo returns how many messages went to a queue of its lane.
func (p *publisher) sentTo(queue int) int64 {
	queues := int64(len(p.lane.queues))
	return (p.sent.Load() + queues - 1 - int64(queue)) / queues
}

// settled reports whether the broker has answered all it owes an answer.
func (p *publisher) settled() bool { return p.answers == nil || p.window.held() == 0 }
