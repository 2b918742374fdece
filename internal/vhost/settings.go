package vhost

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Overflow is what a full queue does. Source: RabbitMQ maxlength#overflow-behaviour.
type Overflow uint8

// The overflow behaviours.
const (
	DropHead Overflow = iota
	RejectPublish
	RejectPublishDLX
)

var overflows = map[string]Overflow{
	"drop-head": DropHead, "reject-publish": RejectPublish, "reject-publish-dlx": RejectPublishDLX,
}

// Settings are the effective arguments that a queue runs with: arguments merged with policies. Numbers are
// -1 where there is none.
type Settings struct {
	TTL            int64 // ms
	Expires        int64 // ms
	MaxLength      int64 // messages
	MaxLengthBytes int64 // of bodies
	DeliveryLimit  int64 // returns
	Overflow       Overflow
	SingleActive   bool

	DeadLetterExchange   string
	DeadLetterRoutingKey string
	hasDLX, hasDLRK      bool
}

// DLX returns the dead-letter exchange; ok is false if there is none. The default exchange is "".
func (s *Settings) DLX() (name string, ok bool) { return s.DeadLetterExchange, s.hasDLX }

// DLRK returns the dead-letter routing key; ok is false if letters keep their own.
func (s *Settings) DLRK() (key string, ok bool) { return s.DeadLetterRoutingKey, s.hasDLRK }

// counts reports whether the queue keeps count of returns.
func (q *queueState) counts() bool { return q.quorum || q.settings.DeliveryLimit >= 0 }

// argument is what a queue argument must be. Source: reference expiry-and-limits, dead-lettering 13.
type argument struct {
	check   func(amqp.Value) string // "" or RabbitMQ's detail
	compare bool                    // part of equivalence on redeclare
}

var queueArguments = map[string]argument{
	"x-message-ttl":             {duration(0), true},
	"x-expires":                 {duration(1), true},
	"x-max-length":              {notNegative, true},
	"x-max-length-bytes":        {notNegative, true},
	"x-max-priority":            {priorityRange, true},
	"x-delivery-limit":          {integer, true},
	"x-overflow":                {overflow, true},
	"x-dead-letter-exchange":    {text, true},
	"x-dead-letter-routing-key": {text, true},
	"x-dead-letter-strategy":    {strategy, true},
	"x-single-active-consumer":  {boolean, true},
	"x-queue-type":              {text, true},
	"x-queue-mode":              {text, true},
	"x-queue-version":           {integer, true},
	"x-queue-leader-locator":    {text, true},
	"x-queue-master-locator":    {text, true},
}

// show prints a value as refusals do.
func show(a amqp.Value) string {
	if n, ok := a.Integer(); ok {
		return strconv.FormatInt(n, 10)
	}
	if b, ok := a.Bool(); ok {
		return strconv.FormatBool(b)
	}
	if f, ok := a.Float(); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if a.Kind == amqp.KindString || a.Kind == amqp.KindBinary {
		return a.Str
	}
	return a.TypeName()
}

func expectedInteger(a amqp.Value) string {
	return fmt.Sprintf("\"expected integer, got %s\"", a.TypeName())
}

func integer(a amqp.Value) string {
	if _, ok := a.Integer(); !ok {
		return expectedInteger(a)
	}
	return ""
}

func notNegative(a amqp.Value) string {
	n, ok := a.Integer()
	switch {
	case !ok:
		return expectedInteger(a)
	case n < 0:
		return fmt.Sprintf("{value_negative,%d}", n)
	}
	return ""
}

func duration(least int64) func(amqp.Value) string {
	return func(a amqp.Value) string {
		if detail := notNegative(a); detail != "" {
			return detail
		}
		switch n, _ := a.Integer(); {
		case n < least:
			return "{value_zero,0}"
		case n > ttlMax:
			return fmt.Sprintf("{value_too_large,%d}", n)
		}
		return ""
	}
}

func priorityRange(a amqp.Value) string {
	if detail := notNegative(a); detail != "" {
		return detail
	}
	if n, _ := a.Integer(); n > math.MaxUint8 {
		return fmt.Sprintf("{max_value_exceeded,%d}", n)
	}
	return ""
}

func text(a amqp.Value) string {
	if a.Kind != amqp.KindString {
		return fmt.Sprintf("{unacceptable_type,%s}", a.TypeName())
	}
	return ""
}

func boolean(a amqp.Value) string {
	if a.Kind != amqp.KindBool {
		return fmt.Sprintf("{unacceptable_type,%s}", a.TypeName())
	}
	return ""
}

func overflow(a amqp.Value) string {
	if detail := text(a); detail != "" {
		return detail
	}
	if _, ok := overflows[a.Str]; !ok {
		return "invalid_overflow"
	}
	return ""
}

func strategy(a amqp.Value) string {
	if detail := text(a); detail != "" {
		return detail
	}
	if a.Str != "at-most-once" && a.Str != "at-least-once" {
		return "invalid_dlx_strategy"
	}
	return ""
}

func invalidArgument(name, queue, vhost, detail string) *amqp.Error {
	return amqp.PreconditionFailed("invalid arg '%s' for queue '%s' in vhost '%s': %s", name, queue, vhost, detail)
}

// checkArguments validates what a new queue is declared with. Source: reference dead-lettering 13.
func (v *VHost) checkArguments(d *Definition) *amqp.Error {
	if a, ok := d.Arguments.Get("x-dead-letter-exchange"); ok && a.Kind != amqp.KindString {
		return amqp.PreconditionFailed("invalid type '%s' for arg 'x-dead-letter-exchange' in queue '%s' in vhost '%s'",
			a.TypeName(), d.Name, v.name)
	}
	for _, f := range d.Arguments {
		rule, known := queueArguments[f.Name]
		if !known {
			continue
		}
		if detail := rule.check(f.Value); detail != "" {
			return invalidArgument(f.Name, d.Name, v.name, detail)
		}
	}
	if _, ok := d.Arguments.Get("x-dead-letter-routing-key"); ok {
		if _, ok := d.Arguments.Get("x-dead-letter-exchange"); !ok {
			return invalidArgument("x-dead-letter-routing-key", d.Name, v.name, "routing_key_but_no_dlx_defined")
		}
	}
	return nil
}

// priorityMax is the highest priority that a queue with these arguments tells apart.
func priorityMax(arguments amqp.Table) uint8 {
	if a, ok := arguments.Get("x-max-priority"); ok {
		n, _ := a.Integer()
		return uint8(max(n, 1))
	}
	return 0
}

// effective merges a queue's arguments with its policies' definition. Source: reference
// policies-and-permissions 6; for overflow its 'New broker' line.
func effective(arguments amqp.Table, policy, operator amqp.Table, quorum bool) Settings {
	s := Settings{TTL: -1, Expires: -1, MaxLength: -1, MaxLengthBytes: -1, DeliveryLimit: -1}
	merged := mergeDefinitions(policy, operator)
	least := func(into *int64, argument, key string) {
		for _, t := range [2]struct {
			table amqp.Table
			name  string
		}{{arguments, argument}, {merged, key}} {
			if a, ok := t.table.Get(t.name); ok {
				if n, ok := a.Integer(); ok && (*into < 0 || n < *into) {
					*into = n
				}
			}
		}
	}
	least(&s.TTL, "x-message-ttl", "message-ttl")
	least(&s.Expires, "x-expires", "expires")
	least(&s.MaxLength, "x-max-length", "max-length")
	least(&s.MaxLengthBytes, "x-max-length-bytes", "max-length-bytes")
	s.DeliveryLimit = effectiveLimit(arguments, merged, quorum)

	s.DeadLetterExchange, s.hasDLX = first(arguments, "x-dead-letter-exchange", merged, "dead-letter-exchange")
	s.DeadLetterRoutingKey, s.hasDLRK = first(arguments, "x-dead-letter-routing-key", merged, "dead-letter-routing-key")
	name, ok := first(operator, "overflow", arguments, "x-overflow")
	if !ok {
		name, _ = first(policy, "overflow", nil, "")
	}
	s.Overflow = overflows[name]
	if quorum && s.Overflow == RejectPublishDLX {
		s.Overflow = DropHead
	}
	if a, ok := arguments.Get("x-single-active-consumer"); ok {
		s.SingleActive, _ = a.Bool()
	}
	return s
}

// effectiveLimit is the smaller of two delivery limits; where one is negative, which is unlimited, the other.
// Source: reference quorum-and-retry 1.
func effectiveLimit(arguments, merged amqp.Table, quorum bool) int64 {
	a, hasA := arguments.Get("x-delivery-limit")
	p, hasP := merged.Get("delivery-limit")
	n, _ := a.Integer()
	m, _ := p.Integer()
	switch {
	case hasA && hasP && (n < 0 || m < 0):
		return max(n, m, -1)
	case hasA && hasP:
		return min(n, m)
	case hasA:
		return max(n, -1)
	case hasP:
		return max(m, -1)
	case quorum:
		return quorumDeliveryLimit
	}
	return -1
}

// first finds a string in one table, else in the other.
func first(t amqp.Table, name string, u amqp.Table, other string) (string, bool) {
	if a, ok := t.Get(name); ok && a.Kind == amqp.KindString {
		return a.Str, true
	}
	if a, ok := u.Get(other); ok && a.Kind == amqp.KindString {
		return a.Str, true
	}
	return "", false
}

// parseExpiration reads an expiration property, ms. Source: reference expiry-and-limits 1.
func parseExpiration(text string) (int64, *amqp.Error) {
	invalid := func(detail string) (int64, *amqp.Error) {
		return 0, amqp.PreconditionFailed("invalid expiration '%s': %s", text, detail)
	}
	digits := strings.TrimLeft(text, "+-")
	sign := text[:len(text)-len(digits)]
	end := 0
	for end < len(digits) && '0' <= digits[end] && digits[end] <= '9' {
		end++
	}
	if end == 0 || len(sign) > 1 {
		return invalid("no_integer")
	}
	if rest := digits[end:]; rest != "" {
		return invalid(fmt.Sprintf("{leftover_string,%q}", rest))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case sign == "-" && strings.Trim(digits, "0") != "":
		return invalid(fmt.Sprintf("{value_negative,-%s}", strings.TrimLeft(digits, "0")))
	case err != nil || n > ttlMax:
		return invalid(fmt.Sprintf("{value_too_large,%s}", strings.TrimLeft(digits, "0")))
	}
	return n, nil
}
