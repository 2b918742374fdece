package vhost

import (
	"fmt"
	"math"
	"reflect"
	"slices"
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
	DropLowest // drops the oldest message of the lowest priority. Source: ours, reference expiry-and-limits 9
)

var overflows = map[string]Overflow{
	"drop-head": DropHead, "reject-publish": RejectPublish, "reject-publish-dlx": RejectPublishDLX, "drop-lowest": DropLowest,
}

// dropsHead reports whether a full queue takes what comes, and drops what it has.
func (o Overflow) dropsHead() bool { return o == DropHead || o == DropLowest }

// RetryType says which returned messages wait before they are ready again. Source: RabbitMQ 4.3 quorum-queues,
// delayed retry.
type RetryType uint8

// The retry types.
const (
	RetryDisabled RetryType = iota
	RetryAll
	RetryFailed   // those whose return counts as a failure
	RetryReturned // the others
)

var retryTypes = map[string]RetryType{
	"disabled": RetryDisabled, "all": RetryAll, "failed": RetryFailed, "returned": RetryReturned,
}

// String is the type's name in arguments.
func (t RetryType) String() string {
	return [...]string{"disabled", "all", "failed", "returned"}[t]
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
	AtLeastOnce    bool // dead letters are held until all targets have them
	Counts         bool // returns are counted, and shown to consumers
	CountFailed    bool // the limit and the retry look at failed returns alone
	ExpiryHead     bool // a message expires only at the head of the queue
	CycleKeep      bool // what would come round in a cycle of deaths stays, without TTL

	RetryType          RetryType
	RetryMin, RetryMax int64 // ms
	RetryBackoff       Backoff
	RetrySteps         []int64 // ms; if there are any, they are the waits
	RetryJitter        int64   // percent of a wait by which it may be longer, by chance
	RetryAttempts      int64   // returns that may wait: what comes back once more dies; 0: any number
	ConsumerTimeout    int64   // ms, 0: none

	DeadLetterExchange   string
	DeadLetterRoutingKey string
	hasDLX, hasDLRK      bool
}

// DLX returns the dead-letter exchange; ok is false if there is none. The default exchange is "".
func (s *Settings) DLX() (name string, ok bool) { return s.DeadLetterExchange, s.hasDLX }

// DLRK returns the dead-letter routing key; ok is false if letters keep their own.
func (s *Settings) DLRK() (key string, ok bool) { return s.DeadLetterRoutingKey, s.hasDLRK }

// passesOn reports whether a full queue makes a dead letter of what it refuses.
func (s *Settings) passesOn() bool { return s.Overflow == RejectPublishDLX && s.hasDLX }

// address sends a letter to the dead-letter exchange: with its key, or the letter's own keys if there is none.
func (s *Settings) address(h *History) {
	if h.Exchange = s.DeadLetterExchange; s.hasDLRK {
		h.Keys = []string{s.DeadLetterRoutingKey}
	}
}

// share returns settings that equal s, and that queues may share: those of a crowd of queues are few.
func (v *VHost) share(s Settings) *Settings {
	for i, x := range v.shared {
		if reflect.DeepEqual(*x, s) {
			copy(v.shared[1:], v.shared[:i])
			v.shared[0] = x
			return x
		}
	}
	v.shared = slices.Insert(v.shared, 0, &s)
	v.shared = v.shared[:min(len(v.shared), sharedMax)]
	return &s
}

// argument is what a queue argument must be. Arguments that are not in the table are stored, shown and never
// compared. Source: reference expiry-and-limits, dead-lettering 13.
type argument struct {
	check func(amqp.Value) string // "" or RabbitMQ's detail
	only  string                  // the type of queue that knows it; "": all do
}

var queueArguments = map[string]argument{
	"x-message-ttl":                   {duration(0), ""},
	"x-expires":                       {duration(1), ""},
	"x-max-length":                    {notNegative, ""},
	"x-max-length-bytes":              {notNegative, ""},
	"x-max-priority":                  {priorityRange, ""},
	"x-delivery-limit":                {integer, ""},
	"x-delivery-count-mode":           {word("invalid_delivery_count_mode", "all", "failed"), ""},
	"x-delayed-retry-type":            {word("invalid_delayed_retry_type", "disabled", "all", "failed", "returned"), ""},
	"x-delayed-retry-min":             {positive, ""},
	"x-delayed-retry-max":             {positive, ""},
	"x-delayed-retry-backoff":         {word("invalid_delayed_retry_backoff", "linear", "fixed", "exponential"), ""},
	"x-delayed-retry-steps":           {steps, ""},
	"x-delayed-retry-jitter":          {percent, ""},
	"x-delayed-retry-attempts":        {positive, ""},
	"x-consumer-timeout":              {notNegative, ""},
	"x-consumer-disconnected-timeout": {notNegative, ""},
	"x-overflow":                      {word("invalid_overflow", "drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest"), ""},
	"x-dead-letter-exchange":          {shortText, ""},
	"x-dead-letter-routing-key":       {shortText, ""},
	"x-dead-letter-strategy":          {word("invalid_dlx_strategy", "at-most-once", "at-least-once"), ""},
	"x-single-active-consumer":        {boolean, ""},
	"x-queue-type":                    {text, ""},
	"x-queue-leader-locator":          {word("invalid_queue_locator_arg", "client-local", "balanced", "random", "least-leaders"), ""},
	"x-queue-mode":                    {queueMode, "classic"},
	"x-queue-version":                 {queueVersion, "classic"},
	"x-queue-master-locator":          {text, "classic"},
	"x-max-in-memory-length":          {notNegative, "quorum"},
	"x-max-in-memory-bytes":           {notNegative, "quorum"},
	"x-quorum-initial-group-size":     {positive, "quorum"},
	"x-quorum-target-group-size":      {positive, "quorum"},
	"x-max-age":                       {text, "stream"},
	"x-stream-max-segment-size-bytes": {notNegative, "stream"},
	"x-stream-filter-size-bytes":      {notNegative, "stream"},
	"x-initial-cluster-size":          {notNegative, "stream"},
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

// shortText is a text that a message can carry as the name of its exchange, or as its routing key: more would be cut off there.
func shortText(a amqp.Value) string {
	if detail := text(a); detail != "" || len(a.Str) <= amqp.ShortStringMax {
		return detail
	}
	return fmt.Sprintf("{value_too_long,%d}", len(a.Str))
}

func boolean(a amqp.Value) string {
	if a.Kind != amqp.KindBool {
		return fmt.Sprintf("{unacceptable_type,%s}", a.TypeName())
	}
	return ""
}

// word checks for one of some words; invalid is the detail of a refusal.
func word(invalid string, words ...string) func(amqp.Value) string {
	return func(a amqp.Value) string {
		if detail := text(a); detail != "" {
			return detail
		}
		if !slices.Contains(words, a.Str) {
			return invalid
		}
		return ""
	}
}

func queueMode(a amqp.Value) string {
	if detail := text(a); detail != "" {
		return detail
	}
	if a.Str != "default" && a.Str != "lazy" {
		return fmt.Sprintf("\"unsupported queue mode '%s'\"", a.Str)
	}
	return ""
}

func queueVersion(a amqp.Value) string {
	if detail := integer(a); detail != "" {
		return detail
	}
	if n := whole(a); n != 1 && n != 2 {
		return fmt.Sprintf("\"unsupported queue version '%d'\"", n)
	}
	return ""
}

func positive(a amqp.Value) string {
	if detail := notNegative(a); detail != "" {
		return detail
	}
	if n, _ := a.Integer(); n == 0 {
		return "{value_zero,0}"
	}
	return ""
}

func invalidArgument(name, queue, vhost, detail string) *amqp.Error {
	return amqp.PreconditionFailed("invalid arg '%s' for queue '%s' in vhost '%s': %s", name, queue, vhost, detail)
}

// checkArguments validates what a new queue of a type is declared with. Source: reference dead-lettering 13.
func (v *VHost) checkArguments(d *Definition, kind string) *amqp.Error {
	if a, ok := d.Arguments.Get("x-dead-letter-exchange"); ok && a.Kind != amqp.KindString {
		return amqp.PreconditionFailed("invalid type '%s' for arg 'x-dead-letter-exchange' in queue '%s' in vhost '%s'",
			a.TypeName(), d.Name, v.name)
	}
	for _, f := range d.Arguments {
		rule, known := queueArguments[f.Name]
		if !known {
			continue
		}
		if rule.only != "" && rule.only != kind {
			return amqp.PreconditionFailed("invalid arg '%s' for queue '%s' in vhost '%s' of queue type rabbit_%s_queue", f.Name, d.Name, v.name, kind)
		}
		if detail := rule.check(f.Value); detail != "" {
			return invalidArgument(f.Name, d.Name, v.name, detail)
		}
	}
	least, hasLeast := d.Arguments.Get("x-delayed-retry-min")
	if most, ok := d.Arguments.Get("x-delayed-retry-max"); ok && hasLeast && whole(most) < whole(least) {
		return invalidArgument("x-delayed-retry-max", d.Name, v.name, retryBounds(whole(least), whole(most)))
	}
	if _, ok := d.Arguments.Get("x-dead-letter-routing-key"); ok {
		if _, ok := d.Arguments.Get("x-dead-letter-exchange"); !ok {
			return invalidArgument("x-dead-letter-routing-key", d.Name, v.name, "routing_key_but_no_dlx_defined")
		}
	}
	return nil
}

// retryBounds words the refusal of a greatest delay below the least. Source: reference quorum-and-retry 6.
func retryBounds(least, most int64) string {
	return fmt.Sprintf("delayed-retry-max (%d) must not be smaller than delayed-retry-min (%d)", most, least)
}

// priorityMax is the highest priority that a queue tells apart. Source: reference expiry-and-limits 9.
func priorityMax(o *Object) uint8 {
	if a, ok := o.Arguments.Get("x-max-priority"); ok {
		return uint8(max(whole(a), 1))
	}
	if o.Type == "quorum" {
		return quorumPriorityMax
	}
	return 0
}

// effective merges a queue's arguments with its policies' definition. Source: reference
// policies-and-permissions 6; for overflow its 'New broker' line.
func effective(arguments, policy, operator amqp.Table, quorum bool, o *Options) Settings {
	s := Settings{TTL: -1, Expires: -1, MaxLength: -1, MaxLengthBytes: -1, DeliveryLimit: -1, CycleKeep: !o.TTLInLoops}
	merged := mergeDefinitions(policy, operator)
	least := func(into *int64, argument, key string) {
		a, ok := lesser(arguments, argument, merged, key)
		if ok {
			*into = a
		}
	}
	least(&s.TTL, "x-message-ttl", "message-ttl")
	least(&s.Expires, "x-expires", "expires")
	least(&s.MaxLength, "x-max-length", "max-length")
	least(&s.MaxLengthBytes, "x-max-length-bytes", "max-length-bytes")
	least(&s.RetryMin, "x-delayed-retry-min", "delayed-retry-min")
	least(&s.RetryMax, "x-delayed-retry-max", "delayed-retry-max")
	least(&s.RetryJitter, "x-delayed-retry-jitter", "delayed-retry-jitter")
	least(&s.RetryAttempts, "x-delayed-retry-attempts", "delayed-retry-attempts")
	s.ConsumerTimeout = o.ConsumerTimeout
	least(&s.ConsumerTimeout, "x-consumer-timeout", "consumer-timeout")
	s.DeliveryLimit = effectiveLimit(arguments, merged, quorum, o)

	letters := merged
	if o.DLXByArgumentOnly {
		letters = nil
	}
	s.DeadLetterExchange, s.hasDLX = first(arguments, "x-dead-letter-exchange", letters, "dead-letter-exchange")
	s.DeadLetterRoutingKey, s.hasDLRK = first(arguments, "x-dead-letter-routing-key", letters, "dead-letter-routing-key")
	strategy, _ := first(arguments, "x-dead-letter-strategy", letters, "dead-letter-strategy")
	s.AtLeastOnce = strategy == "at-least-once"
	retry, _ := first(merged, "delayed-retry-type", arguments, "x-delayed-retry-type")
	s.RetryType = retryTypes[retry]
	backoff, _ := first(merged, "delayed-retry-backoff", arguments, "x-delayed-retry-backoff")
	s.RetryBackoff = backoffs[backoff]
	if list, ok := first(merged, "delayed-retry-steps", arguments, "x-delayed-retry-steps"); ok {
		s.RetrySteps, _ = parseSteps(list)
	}
	mode, hasMode := first(arguments, "x-delivery-count-mode", merged, "delivery-count-mode")
	s.CountFailed = mode == "failed"
	s.Counts = quorum || s.DeliveryLimit >= 0 || hasMode || s.RetryType != RetryDisabled
	if look, ok := merged.Get("expiry"); ok {
		s.ExpiryHead = look.Str == "head"
	}
	if look, ok := merged.Get("cycle"); ok {
		s.CycleKeep = look.Str == "keep"
	}
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

// lesser is the smaller of two numbers, of which either may be missing. A timeout or delay of 0, which is none, gives way.
func lesser(t amqp.Table, name string, u amqp.Table, other string) (int64, bool) {
	a, hasA := t.Get(name)
	b, hasB := u.Get(other)
	n, hasN := a.Integer()
	m, hasM := b.Integer()
	hasN, hasM = hasA && hasN, hasB && hasM
	none := name == "x-consumer-timeout"
	switch {
	case hasN && hasM && none && (n == 0 || m == 0):
		return max(n, m), true
	case hasN && hasM:
		return min(n, m), true
	case hasN:
		return n, true
	}
	return m, hasM
}

// effectiveLimit is the smaller of two delivery limits; where one is negative, which is unlimited, the other.
// Source: reference quorum-and-retry 1.
func effectiveLimit(arguments, merged amqp.Table, quorum bool, o *Options) int64 {
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
	case o.DeliveryLimit >= 0:
		return o.DeliveryLimit
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
