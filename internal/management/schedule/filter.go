package schedule

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// A waitingFilter lets messages through by what they are. All that it names must hold.
type waitingFilter struct {
	messageID, routingKey *string
	headers               []criterion
	from, until           int64          // ms by the wall clock, 0: any
	expression            *filter.Filter // nil: any
}

// A criterion is a header with its value as text.
type criterion struct{ name, value string }

// picks reports whether a content has to be looked at.
func (f *waitingFilter) picks() bool {
	return f.messageID != nil || f.routingKey != nil || len(f.headers) > 0 || f.expression != nil
}

// empty reports whether all are let through.
func (f *waitingFilter) empty() bool { return !f.picks() && f.from == 0 && f.until == 0 }

// lets looks at what a message is. Its instant was seen to already.
func (f *waitingFilter) lets(x *waiting) bool {
	if f.messageID != nil && x.properties.MessageID != *f.messageID ||
		f.routingKey != nil && string(x.view.RoutingKey) != *f.routingKey {
		return false
	}
	for _, c := range f.headers {
		v, there := x.properties.Headers.Get(c.name)
		if value, plain := plainText(v); !there || !plain || value != c.value {
			return false
		}
	}
	return true
}

// plainText is a string, a number or a boolean as text.
func plainText(v amqp.Value) (string, bool) {
	if b, ok := v.Bool(); ok {
		return strconv.FormatBool(b), true
	}
	if n, ok := v.Integer(); ok {
		return strconv.FormatInt(n, 10), true
	}
	if x, ok := v.Float(); ok {
		return strconv.FormatFloat(x, 'g', -1, 64), true
	}
	return v.Str, v.Kind == amqp.KindString || v.Kind == amqp.KindBinary
}

// filterOf reads a query.
func filterOf(r *web.Request, query url.Values) (*waitingFilter, error) {
	f := &waitingFilter{}
	if text := query.Get("filter"); text != "" {
		var err error
		if f.expression, err = r.ParseFilter(text); err != nil {
			return nil, err
		}
	}
	for name, to := range map[string]**string{"message_id": &f.messageID, "routing_key": &f.routingKey} {
		if query.Has(name) {
			value := query.Get(name)
			*to = &value
		}
	}
	if len(query["header"]) > criteriaMax {
		return nil, web.BadRequest("at most %d headers are allowed", criteriaMax)
	}
	if len(query["header"]) > 0 {
		if err := r.Caller.NeedWith(authz.Payload); err != nil {
			return nil, err
		}
	}
	for _, text := range query["header"] {
		name, value, ok := strings.Cut(text, ":")
		if !ok || name == "" {
			return nil, web.BadRequest("header must be name:value, not '%s'", text)
		}
		f.headers = append(f.headers, criterion{name, value})
	}
	return f, instants(query, &f.from, &f.until)
}

// filterIn reads the filter of a body, which names something: an empty one is more likely a mistake than a wish.
func filterIn(r *web.Request, body *api.WaitingFilter) (*waitingFilter, error) {
	f := &waitingFilter{messageID: body.MessageID, routingKey: body.RoutingKey}
	if len(body.Headers) > criteriaMax {
		return nil, web.BadRequest("at most %d headers are allowed", criteriaMax)
	}
	if len(body.Headers) > 0 {
		if err := r.Caller.NeedWith(authz.Payload); err != nil {
			return nil, err
		}
	}
	for _, h := range body.Headers {
		value, plain := plainText(h.Value)
		if !plain {
			return nil, web.BadRequest("the header '%s' must be a string, a number or a boolean", h.Name)
		}
		f.headers = append(f.headers, criterion{h.Name, value})
	}
	if body.From != nil {
		f.from = int64(*body.From)
	}
	if body.Until != nil {
		f.until = int64(*body.Until)
	}
	if f.empty() {
		return nil, web.BadRequest("a filter needs at least one of message_id, routing_key, headers, from or until")
	}
	return f, nil
}
