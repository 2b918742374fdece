package deadletter

import (
	"math"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// formatID is the number of a message as it is shown: it is wider than what JavaScript takes for a number.
func formatID(id uint64) string { return strconv.FormatUint(id, 10) }

// A renderer shows messages as JSON.
type renderer struct {
	host    string
	ahead   int64 // ms, of the virtual host's time
	dialect vhost.Dialect
	whole   bool // with properties and payload
	base64  bool
	offset  int // of the payload, where what is shown begins
	limit   int // bytes of the payload, negative: all
}

// newRenderer reads the parameters that say how messages are shown; with whole it shows properties and payloads, which
// need a right.
func newRenderer(r *web.Request, host string, whole bool) (*renderer, error) {
	query := r.URL.Query()
	s := wholeRenderer(r, host)
	s.whole = whole
	switch encoding := query.Get("encoding"); encoding {
	case "", "auto":
	case "base64":
		s.base64 = true
	default:
		return nil, web.BadRequest("encoding must be auto or base64, not '%s'", encoding)
	}
	for name, to := range map[string]*int{"truncate": &s.limit, "offset": &s.offset} {
		if err := bytesIn(query, name, to); err != nil {
			return nil, err
		}
	}
	if whole {
		if err := r.Caller.NeedWith(authz.Payload); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// wholeRenderer shows all of each payload.
func wholeRenderer(r *web.Request, host string) *renderer {
	return &renderer{host: host, ahead: r.Ahead(host), limit: -1}
}

// bytesIn reads a number of bytes, if it is given.
func bytesIn(query url.Values, name string, to *int) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return web.BadRequest("%s must be a number of bytes, not '%s'", name, text)
	}
	*to = n
	return nil
}

// render renders a message without its properties and its payload, inside the virtual host's loop. Nothing of what is
// lent stays in it.
func (s *renderer) render(x *vhost.Seen) (api.StoredMessage, error) {
	l := api.StoredMessage{
		ID: formatID(x.ID), VHost: s.host, Place: sourceQueue, Queue: x.Queue, State: x.StateName(),
		Redelivered: x.Redelivered, Returns: int64(x.Returns), Persistent: x.Persistent, Size: x.BodyBytes(),
		Due: s.instant(x.Scheduled || x.StateName() == "waiting", int64(x.Until)), Expires: s.instant(x.ExpireAt != 0, int64(x.ExpireAt)),
	}
	if l.State == "waiting" {
		l.WaitingID = x.ScheduledID().String()
	}
	content := x.Head()
	l.Exchange, l.RoutingKeys = string(content.Exchange), api.List[string]{string(content.RoutingKey)}
	if h := x.WholeHistory(); h != nil {
		s.history(&l, h)
	}
	if x.Republished() {
		f := x.Failure()
		l.Republished = &api.Failure{Exchange: f.Exchange, RoutingKey: f.Key, Queue: f.Queue}
		l.Redrives = max(l.Redrives, f.Redrives)
	}
	l.At, l.ArrivedAt = showTime(x.DiedAt()), showTime(x.ArrivedAt())
	if x.Lost {
		l.Place, l.Queue, l.Target, l.LostAt = sourceLost, "", message.OrNil(x.Target), showTime(int64(x.At))
	}
	if x.Scheduled {
		l.Place, l.ID = sourceScheduled, x.ScheduledID().String()
	}
	if x.Cause != 0 {
		l.Cause = message.OrNil(x.Cause.String())
	}
	p, err := amqp.ParseProperties(content.Properties)
	if err != nil {
		return l, err
	}
	l.MessageID = p.MessageID
	return l, nil
}

func (s *renderer) instant(there bool, ms int64) *string {
	if !there {
		return nil
	}
	shown := web.FormatMS(ms - s.ahead)
	return &shown
}

// history renders the deaths of a message.
func (s *renderer) history(l *api.StoredMessage, h *fact.History) {
	l.Exchange, l.RoutingKeys = h.Exchange, h.Keys
	l.Deaths = showDeaths(h, s.dialect)
	l.First, l.Last = s.origin(&h.First), s.origin(&h.Last)
	l.Redrives = int64(h.Redrive.Times)
	if job := int64(h.Redrive.Job); job != 0 {
		l.Redrive, l.CameBack = &job, h.Redrive.CameBack
	}
}

// showTime shows an instant, nil if it is not known.
func showTime(ms int64) *string {
	if ms == 0 {
		return nil
	}
	shown := web.FormatMS(ms)
	return &shown
}

func (s *renderer) origin(o *fact.Origin) *api.DeathOrigin {
	if o.Reason == 0 {
		return nil
	}
	return &api.DeathOrigin{Reason: o.Reason.Word(s.dialect), Queue: o.Queue, Exchange: o.Exchange}
}

// part is what is shown of the body, which ends with a whole character if it is text. It is lent.
func (s *renderer) part(x *vhost.Seen) (part []byte, truncated bool) {
	limit := s.limit
	if limit < 0 {
		limit = math.MaxInt
	}
	part = x.Body(s.offset, limit)
	if int64(s.offset)+int64(len(part)) < x.BodyBytes() && !s.base64 {
		part = wholeRunes(part)
	}
	return part, int64(len(part)) < x.BodyBytes()
}

// shown is about how many bytes are shown of a body of that size.
func (s *renderer) shown(body int64) int64 {
	part := max(body-int64(s.offset), 0)
	if s.limit >= 0 {
		part = min(part, int64(s.limit))
	}
	return part
}

// wholeRunes leaves out the beginning of a character at the end of text.
func wholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}
