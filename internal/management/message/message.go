package message

import (
	"encoding/base64"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Publish publishes a message with a confirm to an exchange of the virtual host that the path names.
func Publish(r *web.Request, exchange string, m Outgoing) (published api.Published, err error) {
	effects, err := r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.SelectConfirms}, vhost.Command{
		Kind: vhost.Publish, Exchange: []byte(exchange), Key: []byte(m.key), Mandatory: true, AskIDs: true,
		Properties: amqp.AppendProperties(nil, m.Properties), Body: m.payload,
	})
	if err != nil {
		return published, err
	}
	published.Routed = true
	for i := range effects {
		switch effects[i].Kind {
		case vhost.SendBack:
			published.Routed = false
		case vhost.Answered:
			published.Scheduled = append(published.Scheduled, effects[i].Name)
		case vhost.Refuse:
			return published, web.BadRequest("a full queue refused the message")
		}
	}
	return published, nil
}

// Outgoing is what a body asks to publish.
type Outgoing struct {
	key        string
	Properties *amqp.Properties
	payload    []byte
}

// ReadOutgoing reads the message of a body. Without properties it has none, and without an encoding the payload is a
// string.
func ReadOutgoing(body *api.PostPublish) (m Outgoing, err error) {
	if err := web.NeedKeys(web.Needed("routing_key", body.RoutingKey != nil), web.Needed("payload", body.Payload != nil)); err != nil {
		return m, err
	}
	switch {
	case body.PayloadEncoding == nil || *body.PayloadEncoding == "string":
		m.payload = []byte(*body.Payload)
	case *body.PayloadEncoding == "base64":
		if m.payload, err = base64.StdEncoding.DecodeString(*body.Payload); err != nil {
			return m, web.BadRequest("the payload is not base64: %v", err)
		}
	default:
		return m, web.BadRequest("payload_encoding must be string or base64, not '%s'", *body.PayloadEncoding)
	}
	m.key = *body.RoutingKey
	if err := CheckRoutingKey(m.key); err != nil {
		return m, err
	}
	var properties amqp.Table
	if body.Properties != nil {
		properties = amqp.Table(*body.Properties)
	}
	m.Properties, err = ReadProperties(properties)
	return m, err
}

func CheckRoutingKey(k string) error {
	if len(k) > amqp.ShortStringMax {
		return web.BadRequest("the routing key must not exceed %d bytes", amqp.ShortStringMax)
	}
	return nil
}

// CheckTexts refuses a definition, of a policy or by arguments, in which a name or a routing key is longer than a
// message could ever carry.
func CheckTexts(t amqp.Table) error {
	for _, f := range t {
		switch strings.TrimPrefix(f.Name, "x-") {
		case "dead-letter-exchange", "dead-letter-routing-key", "alternate-exchange":
			if len(f.Value.Str) > amqp.ShortStringMax {
				return web.BadRequest("%s must not exceed %d bytes", f.Name, amqp.ShortStringMax)
			}
		}
	}
	return nil
}

// CheckQueue and checkExchange refuse names that nobody could use over AMQP. The default exchange has an empty one.
func CheckQueue(name string, arguments amqp.Table) error {
	if name == "" || !amqp.ValidName(name) {
		return web.BadRequest("the name of a queue must be UTF-8 of 1 to %d bytes", amqp.ShortStringMax)
	}
	return CheckTexts(arguments)
}

func CheckExchange(name string, arguments amqp.Table) error {
	if !amqp.ValidName(name) {
		return web.BadRequest("the name of an exchange must be UTF-8 of at most %d bytes", amqp.ShortStringMax)
	}
	return CheckTexts(arguments)
}

// A Property is one of the basic properties under its name in JSON.
type Property struct {
	Name string
	flag amqp.Flags
	text func(*amqp.Properties) *string // nil: not a string
}

func Properties() []Property {
	return []Property{
		{"content_type", amqp.FlagContentType, func(p *amqp.Properties) *string { return &p.ContentType }},
		{"content_encoding", amqp.FlagContentEncoding, func(p *amqp.Properties) *string { return &p.ContentEncoding }},
		{"headers", amqp.FlagHeaders, nil},
		{"delivery_mode", amqp.FlagDeliveryMode, nil},
		{"priority", amqp.FlagPriority, nil},
		{"correlation_id", amqp.FlagCorrelationID, func(p *amqp.Properties) *string { return &p.CorrelationID }},
		{"reply_to", amqp.FlagReplyTo, func(p *amqp.Properties) *string { return &p.ReplyTo }},
		{"expiration", amqp.FlagExpiration, func(p *amqp.Properties) *string { return &p.Expiration }},
		{"message_id", amqp.FlagMessageID, func(p *amqp.Properties) *string { return &p.MessageID }},
		{"timestamp", amqp.FlagTimestamp, nil},
		{"type", amqp.FlagType, func(p *amqp.Properties) *string { return &p.Type }},
		{"user_id", amqp.FlagUserID, func(p *amqp.Properties) *string { return &p.UserID }},
		{"app_id", amqp.FlagAppID, func(p *amqp.Properties) *string { return &p.AppID }},
		{"cluster_id", amqp.FlagClusterID, func(p *amqp.Properties) *string { return &p.ClusterID }},
	}
}

// ReadProperties takes the properties of a message from JSON; keys that are none are ignored.
func ReadProperties(t amqp.Table) (*amqp.Properties, error) {
	p := &amqp.Properties{}
	for _, x := range Properties() {
		v, given := t.Get(x.Name)
		if !given || v.Kind == amqp.KindVoid {
			continue
		}
		p.Has |= x.flag
		var fits bool
		switch {
		case x.text != nil:
			*x.text(p), fits = v.Str, v.Kind == amqp.KindString
		case x.flag == amqp.FlagHeaders:
			p.Headers, fits = v.Table, v.Kind == amqp.KindTable || v.Kind == amqp.KindArray && len(v.Array) == 0
		case x.flag == amqp.FlagTimestamp:
			n, isNumber := number(v)
			p.Timestamp, fits = uint64(n), isNumber && n >= 0
		case x.flag == amqp.FlagDeliveryMode:
			n, isNumber := number(v)
			p.DeliveryMode, fits = uint8(n), isNumber && n >= 0 && n <= 255
		default:
			n, isNumber := number(v)
			p.Priority, fits = uint8(n), isNumber && n >= 0 && n <= 255
		}
		if !fits {
			return nil, web.BadRequest("the property '%s' has a value of the wrong type", x.Name)
		}
	}
	if err := p.Check(); err != nil {
		return nil, web.BadRequest("%v", err)
	}
	return p, nil
}

// number reads an integer, which some clients send as a string.
func number(v amqp.Value) (int64, bool) {
	if v.Kind == amqp.KindString {
		n, err := strconv.ParseInt(v.Str, 10, 64)
		return n, err == nil
	}
	return v.Integer()
}

// ShowProperties renders the properties that a message has.
func ShowProperties(p *amqp.Properties) api.Arguments {
	shown := api.Arguments{}
	for _, x := range Properties() {
		if p.Has&x.flag == 0 {
			continue
		}
		var v amqp.Value
		switch {
		case x.text != nil:
			v = amqp.String(*x.text(p))
		case x.flag == amqp.FlagHeaders:
			v = amqp.TableValue(p.Headers)
		case x.flag == amqp.FlagTimestamp:
			v = amqp.Timestamp(p.Timestamp)
		case x.flag == amqp.FlagDeliveryMode:
			v = amqp.Int64(int64(p.DeliveryMode))
		default:
			v = amqp.Int64(int64(p.Priority))
		}
		shown = append(shown, amqp.Field{Name: x.Name, Value: v})
	}
	return shown
}

// Editable is showProperties for what somebody may change and send back.
func Editable(p *amqp.Properties) api.Editable { return api.Editable(ShowProperties(p)) }

// Rendering is how messages are taken and what becomes of them.
type Rendering struct {
	Count    int
	NoAck    bool           // gone when taken
	Settle   *vhost.Command // all that were taken, nil: nothing to settle
	base64   bool
	Truncate int // bytes of a payload to show, negative: all
}

// SetEncoding says how payloads are shown: truncate may be nil.
func (t *Rendering) SetEncoding(encoding string, truncate *api.Integer) error {
	switch encoding {
	case "auto":
	case "base64":
		t.base64 = true
	default:
		return web.BadRequest("encoding must be auto or base64, not '%s'", encoding)
	}
	if truncate != nil {
		if *truncate < 0 {
			return web.BadRequest("truncate must not be negative")
		}
		t.Truncate = int(min(*truncate, 1<<31-1))
	}
	return nil
}

// Most is how many octets of a body are shown at the most.
func (t *Rendering) Most() int {
	if t.Truncate < 0 {
		return math.MaxInt
	}
	return t.Truncate
}

// Shown is how many octets are shown of a body with so many.
func (t *Rendering) Shown(size int64) int64 { return min(size, int64(t.Most())) }

// Part is what is shown of a body.
func (t *Rendering) Part(body []byte) []byte { return body[:min(len(body), t.Most())] }

// Row is a row with a body, or the beginning of it.
func (t *Rendering) Row(row any, body []byte) *web.PayloadRow {
	body = t.Part(body)
	return &web.PayloadRow{Row: row, Payload: body, Base64: t.base64 || !utf8.Valid(body)}
}

// OrNil is a string for JSON that is null where there is none.
func OrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ReadRendering reads how a query wants a payload to be shown.
func ReadRendering(query url.Values) (*Rendering, error) {
	t := &Rendering{Truncate: -1}
	encoding := query.Get("encoding")
	if encoding == "" {
		encoding = "auto"
	}
	var truncate *api.Integer
	if text := query.Get("truncate"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, web.BadRequest("truncate must be a number of bytes, not '%s'", text)
		}
		truncate = (*api.Integer)(&n)
	}
	return t, t.SetEncoding(encoding, truncate)
}

// Show renders a message that was taken.
func (t *Rendering) Show(e *vhost.Effect) (*web.PayloadRow, error) {
	view, err := e.Message.View()
	if err != nil {
		return nil, err
	}
	p, err := amqp.ParseProperties(view.Properties)
	if err != nil {
		return nil, err
	}
	return t.Row(api.MessageHead{
		PayloadBytes: len(view.Body), Redelivered: e.Redelivered,
		Exchange: string(view.Exchange), RoutingKey: string(view.RoutingKey), MessageCount: int64(e.Count),
		Properties: ShowProperties(&p),
	}, view.Body), nil
}
