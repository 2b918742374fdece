//go:build linux

package crashtest

import (
	"fmt"
	"sync"
)

// diskBooks say what clients were told of each message of a trial on a small disk, and what they said themselves.
type diskBooks struct {
	mu struct {
		sync.Mutex
		all []diskEntry // by number
	}
}

// diskEntry is one message.
type diskEntry struct {
	confirmed bool
	settled   bool // it was acked, or rejected where nothing follows, and the ack may have arrived
	proven    bool // the ack did arrive: a later answer says so
	seen      int  // how often the last drain has found it
}

// next is the number of a new message.
func (b *diskBooks) next() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.all = append(b.mu.all, diskEntry{})
	return len(b.mu.all) - 1
}

// note changes the entries of some messages.
func (b *diskBooks) note(change func(*diskEntry), numbers ...int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers {
		if n < len(b.mu.all) {
			change(&b.mu.all[n])
		}
	}
}

// proven reports whether a message is known to be gone.
func (b *diskBooks) proven(number int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return number < len(b.mu.all) && b.mu.all[number].proven
}

// sums are how many messages there are, are confirmed, and must or may be there.
type sums struct{ published, confirmed, must, may int }

func (b *diskBooks) sums() (s sums) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.published = len(b.mu.all)
	for i := range b.mu.all {
		e := &b.mu.all[i]
		if e.confirmed {
			s.confirmed++
		}
		if e.confirmed && !e.settled {
			s.must++
		}
		if !e.proven {
			s.may++
		}
	}
	return s
}

// judge says what is lost and what is doubled, when every message that was there has been seen.
func (b *diskBooks) judge() (lost, doubled int, examples []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.mu.all {
		e := &b.mu.all[i]
		switch {
		case e.confirmed && !e.settled && e.seen == 0:
			lost++
			if lost <= 3 {
				examples = append(examples, fmt.Sprintf("message %d is lost", i))
			}
		case e.seen > 1:
			doubled++
			if doubled <= 3 {
				examples = append(examples, fmt.Sprintf("message %d was there %d times", i, e.seen))
			}
		}
	}
	return lost, doubled, examples
}
