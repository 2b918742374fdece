package settings

import (
	"fmt"
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
	DropLowest // drops the oldest message of the lowest priority. Source: ours, docs/compat/expiry-and-limits.md#6
)

// overflowNames are the behaviours in arguments, in the order of the constants.
var overflowNames = []string{"drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest"}

func (o Overflow) String() string { return overflowNames[o] }

// DropsHead reports whether a full queue takes what comes, and drops what it has.
func (o Overflow) DropsHead() bool { return o == DropHead || o == DropLowest }

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

// retryTypeNames are the types in arguments, in the order of the constants.
var retryTypeNames = []string{"disabled", "all", "failed", "returned"}

func (t RetryType) String() string { return retryTypeNames[t] }

// A Mark says whether a queue was marked as a dead-letter queue, or as none.
type Mark uint8

// The marks.
const (
	Unmarked  Mark = iota // it is one if dead letters come to it
	Marked                // it is one, whatever comes to it: all its messages are dead letters
	MarkedNot             // it is none
)

// markOf is the mark that a boolean stands for.
func markOf(is bool) Mark {
	if is {
		return Marked
	}
	return MarkedNot
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
	HasDLX, HasDLRK      bool
	DLQ                  Mark
}

// DLX returns the dead-letter exchange; ok is false if there is none. The default exchange is "".
func (s *Settings) DLX() (name string, ok bool) { return s.DeadLetterExchange, s.HasDLX }

// DLRK returns the dead-letter routing key; ok is false if dead letters keep their own.
func (s *Settings) DLRK() (key string, ok bool) { return s.DeadLetterRoutingKey, s.HasDLRK }

// Limited reports whether there is a limit of length.
func (s *Settings) Limited() bool { return s.MaxLength >= 0 || s.MaxLengthBytes >= 0 }

// PassesOn reports whether a full queue makes a dead letter of what it refuses.
func (s *Settings) PassesOn() bool { return s.Overflow == RejectPublishDLX && s.HasDLX }

// Show prints a value as refusals do.
func Show(a amqp.Value) string {
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

func InvalidArgument(name, queue, vhost, detail string) *amqp.Error {
	return amqp.PreconditionFailed("invalid arg '%s' for queue '%s' in vhost '%s': %s", name, queue, vhost, detail)
}

// CheckArguments validates what a new queue of a type is declared with. Source: docs/compat/dead-lettering.md#13.
func CheckArguments(vhost, queue, kind string, arguments amqp.Table) *amqp.Error {
	if a, ok := arguments.Get("x-dead-letter-exchange"); ok && a.Kind != amqp.KindString {
		return amqp.PreconditionFailed("invalid type '%s' for arg 'x-dead-letter-exchange' in queue '%s' in vhost '%s'",
			a.TypeName(), queue, vhost)
	}
	for _, f := range arguments {
		rule := settingOfArgument[f.Name]
		if rule == nil {
			continue
		}
		if rule.only != "" && rule.only != kind {
			return amqp.PreconditionFailed("invalid arg '%s' for queue '%s' in vhost '%s' of queue type rabbit_%s_queue", f.Name, queue, vhost, kind)
		}
		if detail := rule.takes.check(f.Value); detail != "" {
			return InvalidArgument(f.Name, queue, vhost, detail)
		}
	}
	least, hasLeast := arguments.Get("x-delayed-retry-min")
	if most, ok := arguments.Get("x-delayed-retry-max"); ok && hasLeast && Whole(most) < Whole(least) {
		return InvalidArgument("x-delayed-retry-max", queue, vhost, retryBounds(Whole(least), Whole(most)))
	}
	if _, ok := arguments.Get("x-dead-letter-routing-key"); ok {
		if _, ok := arguments.Get("x-dead-letter-exchange"); !ok {
			return InvalidArgument("x-dead-letter-routing-key", queue, vhost, "routing_key_but_no_dlx_defined")
		}
	}
	return nil
}

// retryBounds words the refusal of a greatest delay below the least. Source: docs/compat/quorum-and-retry.md#6.
func retryBounds(least, most int64) string {
	return fmt.Sprintf("delayed-retry-max (%d) must not be smaller than delayed-retry-min (%d)", most, least)
}

// PriorityMax is the highest priority that a queue tells apart. Source: docs/compat/expiry-and-limits.md#9.
func PriorityMax(kind string, arguments amqp.Table) uint8 {
	if a, ok := arguments.Get("x-max-priority"); ok {
		return uint8(max(Whole(a), 1))
	}
	if kind == "quorum" {
		return quorumPriorityMax
	}
	return 0
}

// ParseExpiration reads an expiration property, ms. Source: docs/compat/expiry-and-limits.md#1.
func ParseExpiration(text string) (int64, *amqp.Error) {
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
	case err != nil || n > WaitMax:
		return invalid(fmt.Sprintf("{value_too_large,%s}", strings.TrimLeft(digits, "0")))
	}
	return n, nil
}
