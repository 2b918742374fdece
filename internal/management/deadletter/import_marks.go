package deadletter

import (
	"crypto/sha256"
	"math"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A mark stands for an imported message: the beginning of the SHA-256 of its x-imported-from, which may be of any
// length.
type mark [16]byte

func markOf(from string) (m mark) {
	sum := sha256.Sum256([]byte(from))
	copy(m[:], sum[:])
	return m
}

// marks are the imported messages that a queue has. They take at most half of the memory that the requests of a user
// may take, and are counted before they are there.
type marks struct {
	request *web.Request
	queue   string
	has     map[mark]struct{}
	left    int   // marks that are counted, and not there yet
	full    error // why there can be no space for more
	most    int
}

// readMarks finds the imported messages that are in a queue.
func readMarks(r *web.Request, queue string) (*marks, error) {
	m := &marks{request: r, queue: queue, has: map[mark]struct{}{}, most: int(r.Memory.Each / 2 / markBytes)}
	f, err := filter.Parse("", 0)
	if err != nil {
		return nil, err
	}
	if err := r.BeginTask(); err != nil {
		return nil, err
	}
	defer func() { r.Task.End() }()
	w := walkThrough(r, &messageSource{host: r.PathValue("vhost"), Where: vhost.Where{Queue: queue}}, f, 0, false)
	w.budget, w.most = r.Task.Budget(time.Hour), math.MaxInt
	for !w.ended {
		if m.reserve(); m.full != nil {
			return nil, m.full
		}
		err := w.each(func(_ vhost.Reader, x *vhost.Seen) bool {
			if p, err := amqp.ParseProperties(x.Head().Properties); err == nil {
				if v, there := p.Headers.Get(importedFrom); there {
					_ = m.put(v.Str) // there is space
				}
			}
			return m.left > 0
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// reserve counts the memory of the next marks, if there is no space for one more.
func (m *marks) reserve() {
	if m == nil || m.left > 0 || m.full != nil {
		return
	}
	n := min(marksPortion, m.most-len(m.has))
	if n <= 0 {
		m.full = web.BadRequest("queue '%s' has %d imported messages, the limit of 'once': "+
			"import into another queue, or without 'once'", m.queue, m.most)
	} else if m.full = m.request.Take(int64(n) * markBytes); m.full == nil {
		m.left = n
	}
}

// put notes a message, if there is space for it.
func (m *marks) put(from string) error {
	if m == nil {
		return nil
	}
	if m.left == 0 {
		return m.full
	}
	n := len(m.has)
	m.has[markOf(from)] = struct{}{}
	m.left -= len(m.has) - n
	return nil
}

// isThere reports whether a message is in the queue.
func (m *marks) isThere(from string) bool {
	if m == nil {
		return false
	}
	_, there := m.has[markOf(from)]
	return there
}
