package deadletter

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func resendEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST x/queues/{vhost}/{queue}/messages/{id}/resend", Tag: authz.Management, Serve: inQueue(resend), Body: web.LargeBody, Scope: web.Leader,
			Summary: "Publishes an edited message in place of the original", In: api.PostResend{}, Out: api.Resent{},
		},
		{
			Pattern: "POST x/lost-letters/{vhost}/messages/{id}/resend", Tag: authz.Management, Serve: amongLost(resend), Body: web.LargeBody, Scope: web.Leader,
			Summary: "Publishes an edited lost letter in place of the original", In: api.PostResend{}, Out: api.Resent{},
		},
	}
}

// editedFrom is the header of an edited message; it names the original.
const editedFrom = "x-edited-from"

// isOwnHeader reports whether a header is made by the broker at each delivery: it cannot be edited, and is left out of
// what is stored.
func isOwnHeader(name string) bool {
	return slices.Contains([]string{"x-death", "x-death-total", "x-acquired-count", "x-delivery-count", "x-redrive-count", editedFrom}, name) ||
		strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

// An original is a message to edit.
type original struct {
	vhost.Origin
	properties amqp.Properties
	restored   bool // its expiration is that of its publisher again, which lists do not show
	body       []byte
}

// resend publishes an edited copy of a message, in place of the original or in addition.
func resend(r *web.Request, s *messageSource) (web.Answer, error) {
	var body api.PostResend
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.Resend(s.host, s.Where); err != nil {
		return web.Answer{}, err
	}
	var old original
	var id uint64
	err := found(r, s, func(_ vhost.Reader, x *vhost.Seen) (err error) {
		id = x.ID
		old, err = originalOf(x)
		return err
	})
	if err != nil {
		return web.Answer{}, err
	}
	e := &vhost.Edit{Source: s.Where, ID: id, Keep: bool(body.Keep), Force: bool(body.Force)}
	if err := editTarget(r, e, &old, &body); err != nil {
		return web.Answer{}, err
	}
	elsewhere := e.Way == vhost.TargetExchange || e.Queue != "" && e.Queue != old.Queue
	if elsewhere && old.restored { // where it may be put aside, and would end it
		old.properties.Has, old.properties.Expiration, old.restored = old.properties.Has&^amqp.FlagExpiration, "", false
	}
	p, payload, err := edited(r, &old, &body, s)
	if err != nil {
		return web.Answer{}, err
	}
	c := vhost.Command{Kind: vhost.Resend, Edit: e, Properties: amqp.AppendProperties(nil, p), Body: payload}
	resent, err := tryResend(r, &c, bool(body.DryRun) && p.Has&amqp.FlagExpiration != 0)
	if err != nil {
		return web.Answer{}, err
	}
	resent.EditedFrom = s.reference()
	if body.DryRun {
		r.Unchanged = true
		return web.OK(resent)
	}
	if resent.Outcome == fact.Redriven.String() {
		effects, err := r.Do(s.host, c)
		if err != nil {
			return web.Answer{}, web.AsBadRequest(err)
		}
		resent.Outcome, resent.Queues = outcomeOf(effects)
	}
	if err := notSent(resent.Outcome, s.Queue); err != nil {
		return web.Answer{}, err
	}
	if r.Detail, err = web.Encode(edit{
		EditedFrom: resent.EditedFrom, Keep: e.Keep, Queue: e.Queue, Exchange: e.Exchange, RoutingKey: e.Key,
		Before: digest(old.body), After: digest(payload), Properties: body.Properties != nil,
	}); err != nil {
		return web.Answer{}, err
	}
	return web.OK(resent)
}

// notSent says why an edited message was not sent; nil if it was.
func notSent(outcome, queue string) error {
	switch outcome {
	case fact.Redriven.String():
		return nil
	case vhost.SkipSameQueue.String():
		return errSameQueue("the message would go to queue '%s', where the original is now", queue)
	case vhost.SkipNoOrigin.String():
		outcome += ": choose a target, since it is not known where the message died"
	}
	return &api.Error{Status: http.StatusConflict, Kind: "conflict", Reason: "the message was not sent: " + outcome}
}

// An edit is the record of an edit in the audit log: payloads as the beginning of their SHA-256.
type edit struct {
	EditedFrom string `json:"edited_from"`
	Keep       bool   `json:"keep"`
	Queue      string `json:"queue,omitempty"`
	Exchange   string `json:"exchange,omitempty"`
	RoutingKey string `json:"routing_key,omitempty"`
	Before     string `json:"payload_before"`
	After      string `json:"payload_after"`
	Properties bool   `json:"properties"` // were given
}

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, b := range parts {
		_, _ = h.Write(b) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// reference is how other messages name the one that the path names.
func (s *messageSource) reference() string {
	if s.Lost {
		return sourceLost + "/" + s.id
	}
	return sourceQueue + "/" + s.Queue + "/" + s.id
}

// originalOf copies a message, with the expiration that its publisher gave it.
func originalOf(x *vhost.Seen) (o original, err error) {
	o.Origin, o.body = x.CameFrom(), bytes.Clone(x.Content().Body)
	o.properties, o.restored, err = publishedWith(x)
	return o, err
}

// publishedWith returns the properties of a message; restored reports that they have the expiration of its publisher
// again.
func publishedWith(x *vhost.Seen) (p amqp.Properties, restored bool, err error) {
	if p, err = amqp.ParseProperties(bytes.Clone(x.Head().Properties)); err != nil {
		return p, false, err
	}
	if h := x.WholeHistory(); h != nil && p.Has&amqp.FlagExpiration == 0 {
		for i := range h.Deaths {
			if d := &h.Deaths[i]; d.HadTTL {
				p.Has |= amqp.FlagExpiration
				p.Expiration, restored = d.Expiration, true
			}
		}
	}
	return p, restored, nil
}

// editTarget reads where an edited message goes: unless it says otherwise, to the queue where the original failed.
// Whether the caller may send it there is asked for when all its keys are known.
func editTarget(r *web.Request, e *vhost.Edit, old *original, body *api.PostResend) error {
	switch {
	case body.Exchange == nil && body.RoutingKey == nil:
		to, o := cmp.Or(body.Target, &api.RedriveTarget{}), vhost.JobSpec{}
		if to.To == toElsewhere {
			return web.BadRequest("the target must be to queue or origin: 'exchange' and 'routing_key' are given beside it")
		}
		err := readTarget(r, &o, to)
		e.Way, e.Queue = o.Target, o.Queue
		return err
	case body.Target != nil:
		return web.BadRequest("give either 'target', or 'exchange' and 'routing_key', not both")
	}
	e.Way, e.Exchange = vhost.TargetExchange, old.Exchange
	if body.Exchange != nil {
		e.Exchange = web.ExchangeName(*body.Exchange)
	}
	e.Key = old.Keys[0]
	if body.RoutingKey != nil {
		e.Key = *body.RoutingKey
	}
	if err := message.CheckRoutingKey(e.Key); err != nil {
		return err
	}
	return needTarget(r, e.Exchange, func(v vhost.Reader) bool { return v.Topology().Exchange(e.Exchange) != nil }, "exchange")
}

// edited is the new message. What the caller does not give, and headers that it gives as they were, are as in the
// original, to the type.
func edited(r *web.Request, old *original, body *api.PostResend, s *messageSource) (*amqp.Properties, []byte, error) {
	p, payload := old.properties, old.body
	if body.Properties != nil {
		if err := knownProperties(amqp.Table(*body.Properties)); err != nil {
			return nil, nil, err
		}
		given, err := message.ReadProperties(amqp.Table(*body.Properties))
		if err != nil {
			return nil, nil, err
		}
		if given.Has&amqp.FlagUserID != 0 && given.UserID != p.UserID && !r.Caller.EditOf(given.UserID) {
			return nil, nil, web.BadRequest("the user ID is that of the original, or your own, not '%s'", given.UserID)
		}
		given.Headers = withTypesOf(given.Headers, p.Headers)
		if _, says := amqp.Table(*body.Properties).Get("expiration"); !says && old.restored {
			given.Has, given.Expiration = given.Has|amqp.FlagExpiration, p.Expiration
		}
		p = *given
	}
	headers := amqp.Table{{Name: editedFrom, Value: amqp.String(s.reference())}}
	for _, f := range p.Headers {
		if !isOwnHeader(f.Name) {
			headers = append(headers, f)
		}
	}
	p.Has |= amqp.FlagHeaders
	p.Headers = headers
	if body.Payload != nil {
		switch cmp.Or(body.PayloadEncoding, "string") {
		case "string":
			payload = []byte(*body.Payload)
		case "base64":
			var err error
			if payload, err = base64.StdEncoding.DecodeString(*body.Payload); err != nil {
				return nil, nil, web.BadRequest("the payload is not base64: %v", err)
			}
		default:
			return nil, nil, web.BadRequest("payload_encoding must be string or base64, not '%s'", body.PayloadEncoding)
		}
	}
	return &p, payload, nil
}

// withTypesOf gives the headers that say the same in JSON as those of the original the original's values: JSON does not
// know all types.
func withTypesOf(given, old amqp.Table) amqp.Table {
	same := func(a, b amqp.Field) bool {
		x, err := web.Encode(api.Arguments{a})
		y, err2 := web.Encode(api.Arguments{b})
		return err == nil && err2 == nil && bytes.Equal(x, y)
	}
	for i := range given {
		if v, there := old.Get(given[i].Name); there && same(given[i], amqp.Field{Name: given[i].Name, Value: v}) {
			given[i].Value = v
		}
	}
	return given
}

// knownProperties refuses what is none of the properties that a message can have.
func knownProperties(t amqp.Table) error {
	for _, f := range t {
		if !slices.ContainsFunc(message.Properties(), func(p message.Property) bool { return p.Name == f.Name }) {
			return web.BadRequest("properties: unknown field %s", strconv.Quote(f.Name))
		}
	}
	return nil
}

// tryResend computes where an edited message would go, and refuses it if the caller may not publish there, with its
// routing key and with those of CC and BCC, also with a BCC that was already removed.
func tryResend(r *web.Request, c *vhost.Command, expires bool) (resent api.Resent, err error) {
	var t vhost.ResendDryRun
	var refused *amqp.Error
	wall := r.Engine.Now().UnixMilli()
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		if t, refused = v.DryRunResend(c, wall); expires {
			resent.Expiring = slices.Sorted(slices.Values(unserved(v, t.Queues)))
		}
	})
	switch {
	case err != nil:
		return resent, err
	case refused != nil:
		return resent, web.AsBadRequest(refused)
	case t.Skipped == vhost.SkipUnknown: // it has gone meanwhile
		return resent, web.ErrNotFound
	}
	resent.Outcome, resent.Queues = fact.Redriven.String(), t.Queues
	if t.Skipped != 0 {
		resent.Outcome = t.Skipped.String()
	}
	o := c.Edit.JobSpec()
	host := r.PathValue("vhost")
	return resent, r.Allowed(host, func(m authz.Machine) error { return r.Caller.Send(m, host, &o, &t.From) })
}

// outcomeOf returns the outcome of a Resend, and its queues.
func outcomeOf(effects []vhost.Effect) (outcome string, queues []string) {
	for i := range effects {
		switch effects[i].Kind {
		case vhost.Answered:
			outcome = effects[i].Name
		case vhost.Went:
			queues = append(queues, effects[i].Name)
		}
	}
	return outcome, queues
}
