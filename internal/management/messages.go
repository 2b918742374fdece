package management

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// publish publishes one message, mandatory and with a confirm. The answer names what waits of it in delayed exchanges.
// Source: RabbitMQ management API, publish; the IDs are ours.
func publish(r *request) (answer, error) {
	name := exchangeNamed(r.names[1])
	switch err := r.enter(r.names[0]); {
	case err == errNotFound:
		return answer{}, notFound("vhost")
	case err != nil:
		return answer{}, err
	}
	if found, err := r.hasExchange(name); err != nil {
		return answer{}, err
	} else if !found {
		return answer{}, notFound("exchange")
	}
	var body api.PostPublish
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"properties", body.Properties != nil}, key{"routing_key", body.RoutingKey != nil},
		key{"payload", body.Payload != nil}, key{"payload_encoding", body.PayloadEncoding != nil}); err != nil {
		return answer{}, err
	}
	m, err := readPublish(&body)
	if err != nil {
		return answer{}, err
	}
	published, err := r.publish(name, m)
	if err != nil {
		return answer{}, err
	}
	return ok(published)
}

// publish publishes a message with a confirm to an exchange of the virtual host that the path names.
func (r *request) publish(exchange string, m message) (published api.Published, err error) {
	effects, err := r.do(r.names[0], vhost.Command{Kind: vhost.SelectConfirms}, vhost.Command{
		Kind: vhost.Publish, Exchange: []byte(exchange), Key: []byte(m.key), Mandatory: true, AskIDs: true,
		Properties: amqp.AppendProperties(nil, m.properties), Body: m.payload,
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
			return published, badRequest("a full queue refused the message")
		}
	}
	return published, nil
}

// message is what a body asks to publish.
type message struct {
	key        string
	properties *amqp.Properties
	payload    []byte
}

// readPublish reads the message of a body. Without properties it has none, and without an encoding the payload is a string.
func readPublish(body *api.PostPublish) (m message, err error) {
	if err := needKeys(key{"routing_key", body.RoutingKey != nil}, key{"payload", body.Payload != nil}); err != nil {
		return m, err
	}
	switch {
	case body.PayloadEncoding == nil || *body.PayloadEncoding == "string":
		m.payload = []byte(*body.Payload)
	case *body.PayloadEncoding == "base64":
		if m.payload, err = base64.StdEncoding.DecodeString(*body.Payload); err != nil {
			return m, badRequest("the payload is not base64: %v", err)
		}
	default:
		return m, badRequest("payload_encoding must be string or base64, not '%s'", *body.PayloadEncoding)
	}
	m.key = *body.RoutingKey
	if err := checkRoutingKey(m.key); err != nil {
		return m, err
	}
	var properties amqp.Table
	if body.Properties != nil {
		properties = amqp.Table(*body.Properties)
	}
	m.properties, err = readProperties(properties)
	return m, err
}

func checkRoutingKey(k string) error {
	if len(k) > amqp.ShortStringMax {
		return badRequest("the routing key must not exceed %d bytes", amqp.ShortStringMax)
	}
	return nil
}

// checkTexts refuses a definition, of a policy or by arguments, in which a name or a routing key is longer than a message could
// ever carry.
func checkTexts(t amqp.Table) error {
	for _, f := range t {
		switch strings.TrimPrefix(f.Name, "x-") {
		case "dead-letter-exchange", "dead-letter-routing-key", "alternate-exchange":
			if len(f.Value.Str) > amqp.ShortStringMax {
				return badRequest("%s must not exceed %d bytes", f.Name, amqp.ShortStringMax)
			}
		}
	}
	return nil
}

// checkQueue and checkExchange refuse names that nobody could use over AMQP. The default exchange has an empty one.
func checkQueue(name string, arguments amqp.Table) error {
	if name == "" || !amqp.ValidName(name) {
		return badRequest("the name of a queue must be UTF-8 of 1 to %d bytes", amqp.ShortStringMax)
	}
	return checkTexts(arguments)
}

func checkExchange(name string, arguments amqp.Table) error {
	if !amqp.ValidName(name) {
		return badRequest("the name of an exchange must be UTF-8 of at most %d bytes", amqp.ShortStringMax)
	}
	return checkTexts(arguments)
}

// A property is one of the basic properties under its name in JSON.
type property struct {
	name string
	flag amqp.Flags
	text func(*amqp.Properties) *string // nil: not a string
}

func properties() []property {
	return []property{
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

// readProperties takes the properties of a message from JSON; keys that are none are ignored.
func readProperties(t amqp.Table) (*amqp.Properties, error) {
	p := &amqp.Properties{}
	for _, x := range properties() {
		v, given := t.Get(x.name)
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
			return nil, badRequest("the property '%s' has a value of the wrong type", x.name)
		}
	}
	if err := p.Check(); err != nil {
		return nil, badRequest("%v", err)
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

// showProperties renders the properties that a message has.
func showProperties(p *amqp.Properties) api.Arguments {
	shown := api.Arguments{}
	for _, x := range properties() {
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
		shown = append(shown, amqp.Field{Name: x.name, Value: v})
	}
	return shown
}

// editable is showProperties for what somebody may change and send back.
func editable(p *amqp.Properties) api.Editable { return api.Editable(showProperties(p)) }

// taking is how messages are taken and what becomes of them.
type taking struct {
	count    int
	noAck    bool           // gone when taken
	settle   *vhost.Command // all that were taken, nil: nothing to settle
	base64   bool
	truncate int // bytes of a payload to show, negative: all
}

func readTaking(r *request) (*taking, error) {
	var body api.PostGet
	if err := r.read(&body); err != nil {
		return nil, err
	}
	err := needKeys(key{"count", body.Count != nil}, key{"ackmode", body.AckMode != nil}, key{"encoding", body.Encoding != nil})
	if err != nil {
		return nil, err
	}
	if *body.Count < 0 {
		return nil, badRequest("count must not be negative")
	}
	t := &taking{count: int(min(*body.Count, getMax)), truncate: -1}
	switch *body.AckMode {
	case "ack_requeue_false":
		t.noAck = true
	case "ack_requeue_true", "reject_requeue_true":
		t.settle = &vhost.Command{Kind: vhost.Nack, Multiple: true, Requeue: true}
	case "reject_requeue_false":
		t.settle = &vhost.Command{Kind: vhost.Nack, Multiple: true}
	default:
		return nil, badRequest("ackmode '%s' must be one of ack_requeue_true, ack_requeue_false, reject_requeue_true, reject_requeue_false", *body.AckMode)
	}
	return t, t.showAs(*body.Encoding, body.Truncate)
}

// showAs says how payloads are shown: truncate may be nil.
func (t *taking) showAs(encoding string, truncate *api.Integer) error {
	switch encoding {
	case "auto":
	case "base64":
		t.base64 = true
	default:
		return badRequest("encoding must be auto or base64, not '%s'", encoding)
	}
	if truncate != nil {
		if *truncate < 0 {
			return badRequest("truncate must not be negative")
		}
		t.truncate = int(min(*truncate, 1<<31-1))
	}
	return nil
}

// takeMessages takes messages from a queue. They return to it, or die, only after all were taken.
// Source: RabbitMQ management API, get.
func takeMessages(r *request) (answer, error) {
	switch err := r.enter(r.names[0]); {
	case err == errNotFound:
		return answer{}, notFound("vhost")
	case err != nil:
		return answer{}, err
	}
	t, err := readTaking(r)
	if err != nil {
		return answer{}, err
	}
	ready, found, payloads := 0, false, int64(0)
	err = r.look(r.names[0], func(v *vhost.VHost) {
		q, any := v.Queue(r.names[1])
		ready, found = q.Ready, any
		if q.ReadyBytes > getBytesMax { // fewer than asked for, at least one: the answer is made in memory
			ready = max(int(getBytesMax/(q.ReadyBytes/int64(q.Ready)+1)), 1)
		}
		payloads = q.ReadyBytes / int64(max(q.Ready, 1)) * int64(min(t.count, ready))
	})
	if err != nil {
		return answer{}, err
	}
	if !found {
		return answer{}, notFound("queue")
	}
	if err := r.take(2 * payloads); err != nil { // as they are, and as text; what JSON makes of that is counted with the answer
		return answer{}, err
	}
	get := vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: r.names[1], NoAck: t.noAck}}
	commands := slices.Repeat([]vhost.Command{get}, max(min(t.count, ready), min(t.count, 1)))
	if t.settle != nil && len(commands) > 0 {
		commands = append(commands, *t.settle)
	}
	effects, err := r.do(r.names[0], commands...)
	if err != nil {
		return answer{}, err
	}
	var all api.List[api.Message]
	for i := range effects {
		if effects[i].Kind != vhost.DeliverGot {
			continue
		}
		m, err := t.show(&effects[i])
		if err != nil {
			return answer{}, err
		}
		all = append(all, m)
	}
	return ok(all)
}

// show renders a message that was taken.
func (t *taking) show(e *vhost.Effect) (api.Message, error) {
	view, err := e.Message.View()
	if err != nil {
		return api.Message{}, err
	}
	p, err := amqp.ParseProperties(view.Properties)
	if err != nil {
		return api.Message{}, err
	}
	m := api.Message{
		PayloadBytes: len(view.Body), Redelivered: e.Redelivered,
		Exchange: string(view.Exchange), RoutingKey: string(view.RoutingKey), MessageCount: int64(e.Count),
		Properties: showProperties(&p),
	}
	m.Payload, m.PayloadEncoding = t.payload(view.Body)
	return m, nil
}

// payload renders a body, or the beginning of it.
func (t *taking) payload(body []byte) (text, encoding string) {
	if t.truncate >= 0 && len(body) > t.truncate {
		body = body[:t.truncate]
	}
	if t.base64 || !utf8.Valid(body) {
		return base64.StdEncoding.EncodeToString(body), "base64"
	}
	return string(body), "string"
}
