package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A scanner goes through what waits in a queue or schedule, in the order in which it is due. Where
// the next messages are is asked for many at once, since that means to look at every chunk that may
// have some of them; chunks and contents are read in portions.
type scanner struct {
	request *web.Request
	holder  *holder
	filter  waitingFilter
	bare    bool                   // contents are not looked at
	octets  int                    // of bodies, that are looked at
	after   vhost.ScheduledMessage // the last message that was passed
	found   []vhost.ScheduledMessage
	ended   bool  // there is nothing behind found
	more    bool  // there may be others behind after
	kept    int64 // bytes of messages that whoever visits them keeps, which stay counted
}

func passThrough(r *web.Request, w *holder, f *waitingFilter, after vhost.ScheduledMessage) *scanner {
	p := &scanner{request: r, holder: w, filter: *f, after: after, more: true}
	// From here on in the time of the virtual host.
	p.filter.from = min(f.from, math.MaxInt64-w.ahead) + w.ahead
	p.filter.until = min(f.until, math.MaxInt64-w.ahead) + w.ahead
	if f.from > 0 && int64(after.At) < p.filter.from {
		p.after.ID.Number = math.MaxUint64
		p.after.At = vhost.Instant(p.filter.from - 1)
	}
	if f.until == 0 {
		p.filter.until = math.MaxInt64
	}
	return p
}

// each visits up to most messages that the filter lets through, until visit says no; that one comes next. After most,
// and when it has passed scan messages, there may be more.
func (p *scanner) each(most, scan int, visit func(*waiting) bool) error {
	before := p.request.Account.Taken
	for n := 0; ; {
		p.request.Account.GiveBack(before + p.kept)
		switch {
		case len(p.found) == 0 && p.ended:
			p.more = false
			return nil
		case n == most || scan <= 0:
			return nil
		case len(p.found) == 0:
			ahead := min(scan, web.ScanMax)
			if !p.filter.picks() {
				ahead = min(ahead, most-n)
			}
			if err := p.find(ahead); err != nil {
				return err
			}
			continue
		}
		batch, err := p.read()
		if err != nil {
			return err
		}
		for i := range batch {
			x := &batch[i]
			if x.waits && !p.bare {
				if err := x.parse(); err != nil {
					return err
				}
			}
			if x.waits && p.filter.lets(x) {
				if n == most || !visit(x) {
					return nil
				}
				n++
			}
			p.after, p.found = p.found[0], p.found[1:]
			scan--
		}
	}
}

// find looks where the next messages are, up to so many. It looks at some of the chunks of messages at a time, so that
// the virtual host serves others in between.
func (p *scanner) find(most int) error {
	var l *vhost.Listing
	for more := true; more; {
		err := p.request.Look(p.holder.vhost, func(v vhost.Reader) {
			if l == nil {
				l = p.holder.list(v, p.after, vhost.Instant(p.filter.until), most+1)
			}
			more = v.ListSome(l, chunksMax)
		})
		if err != nil {
			return err
		}
	}
	p.found = l.Messages()
	if p.ended = len(p.found) <= most; !p.ended {
		p.found = p.found[:most]
	}
	return nil
}

// read reads the first of the messages that were found. Some may not wait any more, or not there.
func (p *scanner) read() (batch []waiting, err error) {
	if p.bare {
		for _, m := range p.found {
			batch = append(batch, waiting{ScheduledMessage: m, waits: true})
		}
		return batch, nil
	}
	bytes, count := int64(0), 0
	for _, m := range p.found[:min(readsMax, len(p.found))] {
		size := int64(m.Size-m.Body) + min(int64(m.Body), int64(p.octets))
		if count > 0 && bytes+size > readBytesMax {
			break
		}
		bytes, count = bytes+size, count+1
	}
	if err := p.request.TakeLarge(bytes); err != nil {
		return nil, err
	}
	err = p.request.Look(p.holder.vhost, func(v vhost.Reader) {
		began := time.Now()
		for i, m := range p.found[:count] {
			if i > 0 && time.Since(began) > readPatience {
				break
			}
			x := waiting{ScheduledMessage: m}
			now, _, view, outcome := v.ScheduledAt(m.ID, p.octets)
			x.view, x.waits = view, outcome == "" && now.At == m.At
			if seen, there := v.Find(p.holder.where(), m.ID.Number+1); p.filter.expression != nil {
				x.waits = x.waits && there && seen.Passes(p.filter.expression)
			}
			batch = append(batch, x)
		}
	})
	return batch, err
}

// next is what ?after= has to be to go on.
func (p *scanner) next() *string {
	if !p.more {
		return nil
	}
	cursor := fmt.Sprintf("%d-%d", p.after.At, p.after.ID.Number)
	return &cursor
}

// cursorOf reads what next has made; an empty one is the beginning.
func cursorOf(text string) (m vhost.ScheduledMessage, err error) {
	if text == "" {
		return m, nil
	}
	at, number, _ := strings.Cut(text, "-")
	instant, err := strconv.ParseUint(at, 10, 63)
	n, err2 := strconv.ParseUint(number, 10, 64)
	if err != nil || err2 != nil {
		return m, web.BadRequest("after must be the 'next' of an earlier response, not '%s'", text)
	}
	m.At = vhost.Instant(instant)
	m.ID.Number = n
	return m, nil
}
