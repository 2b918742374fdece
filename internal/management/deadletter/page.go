package deadletter

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A carried is a message for an answer: a copy, or, if it does not fit into what was counted, where it is.
type carried struct {
	at   vhost.Where
	id   vhost.MessageID
	cost int64 // bytes, as far as its sizes tell
	here bool  // it is copied

	message          api.StoredMessage // without properties and payload
	whole            bool              // these are shown
	properties, body []byte            // of the body the part that is shown
}

// carry is a message that is not copied yet.
func (s *renderer) carry(x *vhost.Seen, whole bool) carried {
	c := carried{at: x.Where(), id: x.ID, whole: whole, cost: carriedBytes + historyCost*x.HistoryBytes()}
	if whole {
		body := x.BodyBytes()
		c.cost += max(int64(x.Size)-body, 0) + s.shown(body)
	}
	return c
}

// copy copies a message, inside the virtual host's loop.
func (s *renderer) copy(c *carried, x *vhost.Seen) (err error) {
	if c.message, err = s.render(x); err != nil {
		return err
	}
	if !c.whole {
		c.message.Truncated = s.whole // it was asked for, and the page is full
	} else {
		part, truncated := s.part(x)
		c.message.Truncated = truncated
		c.properties, c.body = bytes.Clone(x.Head().Properties), bytes.Clone(part)
	}
	c.here = true
	return nil
}

// row is a row with a copied message.
func (s *renderer) row(c *carried) (any, error) {
	if !c.whole {
		return &c.message, nil
	}
	p, err := amqp.ParseProperties(c.properties)
	if err != nil {
		return nil, err
	}
	c.message.Properties = message.Editable(&p)
	return &web.PayloadRow{Row: &c.message, Payload: c.body, Base64: s.base64 || !utf8.Valid(c.body)}, nil
}

// A page is a list of messages that an answer shows. Those that have space in what was counted before are copied while
// they are looked for, inside the virtual host's loop, which must not wait; the others afterwards, when their sizes are
// counted. Properties and payloads are decoded and encoded one message at a time, while the answer is sent.
type page struct {
	request *web.Request
	how     *renderer
	items   []carried
	bytes   int64 // that all items take
	left    int64 // bytes that are counted, and not used yet
}

func newPage(r *web.Request, how *renderer) (*page, error) {
	left := int64(headsPortion)
	if how.whole {
		left = pagePortion
	}
	return &page{request: r, how: how, left: left}, r.Take(left)
}

// full reports whether the page has as many bytes as a page may have.
func (p *page) full() bool { return p.bytes >= web.PageBytesMax }

// add adds a message, inside the virtual host's loop. On a full page it comes without its payload.
func (p *page) add(x *vhost.Seen) error {
	c := p.how.carry(x, p.how.whole && !p.full())
	p.bytes += c.cost
	if c.cost <= p.left {
		p.left -= c.cost
		if err := p.how.copy(&c, x); err != nil {
			return err
		}
	}
	p.items = append(p.items, c)
	return nil
}

// fill copies the messages that are not copied yet, in portions. Those that have gone meanwhile are left out.
func (p *page) fill() error {
	for at := 0; at < len(p.items); {
		if p.items[at].here {
			at++
			continue
		}
		end, bytes := at, int64(0)
		for ; end < len(p.items) && (end == at || bytes+p.items[end].cost <= pagePortion); end++ {
			if !p.items[end].here {
				bytes += p.items[end].cost
			}
		}
		if err := p.request.Take(bytes); err != nil {
			return err
		}
		if err := p.look(p.items[at:end]); err != nil {
			return err
		}
		at = end
	}
	kept := p.items[:0]
	for i := range p.items {
		if p.items[i].here {
			kept = append(kept, p.items[i])
		}
	}
	p.items = kept
	return nil
}

// look copies those of the items that are not copied, if they are still there.
func (p *page) look(items []carried) error {
	var failed error
	var took time.Duration
	err := p.request.Look(p.how.host, func(v vhost.Reader) {
		began := time.Now()
		for i := range items {
			c := &items[i]
			if c.here || failed != nil {
				continue
			}
			if x, there := v.Find(c.at, c.id); there {
				failed = p.how.copy(c, &x)
			}
		}
		took = time.Since(began)
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = p.request.Rest(took)
	}
	return err
}

// answer is the answer with the page, of which shown has all but the items.
func (p *page) answer(shown *api.MessagePage) (web.Answer, error) {
	if err := p.fill(); err != nil {
		return web.Answer{}, err
	}
	return p.request.StreamedPage(shown, func(row func(any) error) error {
		for i := range p.items {
			x, err := p.how.row(&p.items[i])
			if err == nil {
				err = row(x)
			}
			if err != nil {
				return err
			}
			p.items[i] = carried{}
		}
		return nil
	})
}
