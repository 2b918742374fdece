package filter

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// kind says how the values of a field are written and compared.
type kind uint8

const (
	free   kind = iota // words anywhere in what the field covers, of any case
	text               // the whole value; * and ? are wildcards
	name               // likewise, with the wildcards of topic patterns
	word               // one of a few words
	number             // an integer
	size               // bytes
	age                // how long ago
	clock              // an instant, day or month
	header             // a value of any type in the headers
	path               // a value in a JSON body
)

// A field is what a term asks about.
type field struct {
	Field
	kind  kind
	need  Need
	words []string                // of a word
	text  func(m *Message) string // of texts, names and words that no property has
	flag  amqp.Flags              // the property of a text
	head  string                  // the header of a text
	count func(m *Message) int64  // of numbers, sizes, ages and instants
}

// A Field is something that can be asked for, for help and suggestions.
type Field struct {
	Name    string   `json:"name"`
	What    string   `json:"what"`
	Example string   `json:"example"`
	Values  []string `json:"values,omitempty"` // all there are, if they are few
}

// Reasons, States and Causes are the words of these fields.
var (
	reasons = []string{"rejected", "expired", "maxlen", "delivery_limit", Republished}
	states  = []string{"ready", "unacked", "waiting", "held", "lost", "scheduled"}
	causes  = []string{"no_exchange", "no_route", "cycle", "refused", "hops", "delivery_limit", "discarded"}
)

// fields are all of them, in the order of help.
var fields = []field{
	{Field: Field{Name: "reason", What: "reason of the last death", Example: "reason:expired|maxlen"},
		kind: word, need: Deaths, words: reasons, text: func(m *Message) string { return m.Reason }},
	{Field: Field{Name: "first-reason", What: "reason of the first death", Example: "first-reason:rejected"},
		kind: word, need: Deaths, words: reasons, text: func(m *Message) string { return m.FirstReason }},
	{Field: Field{Name: "source", What: "queue of the first death", Example: "source:orders.*"},
		kind: name, need: Deaths, text: func(m *Message) string { return m.Source }},
	{Field: Field{Name: "last-queue", What: "queue of the last death", Example: "last-queue:orders.retry"},
		kind: name, need: Deaths, text: func(m *Message) string { return m.LastQueue }},
	{Field: Field{Name: "queue", What: "queue that contains the message", Example: "queue:*.dlq"},
		kind: name, text: func(m *Message) string { return m.Queue }},
	{Field: Field{Name: "exchange", What: "exchange of the first publish", Example: "exchange:orders"},
		kind: name, need: Deaths, text: func(m *Message) string { return m.Exchange }},
	{Field: Field{Name: "key", What: "a routing key of the first publish, including CC", Example: "key:order.#"},
		kind: name, need: Deaths},
	{Field: Field{Name: "routing-key", What: "first of these routing keys", Example: "routing-key:order.created"},
		kind: name, need: Deaths, text: firstKey},
	{Field: Field{Name: "schedule-key", What: "the header x-schedule-key", Example: "schedule-key:order-4711"},
		kind: text, need: Properties, head: "x-schedule-key"},
	{Field: Field{Name: "age", What: "time since the last death", Example: "age:>1h"},
		kind: age, need: Deaths, count: func(m *Message) int64 { return m.At }},
	{Field: Field{Name: "time", What: "time of the last death, UTC", Example: "time:2026-11-20..2026-11-21"},
		kind: clock, need: Deaths, count: func(m *Message) int64 { return m.At }},
	{Field: Field{Name: "count", What: "number of deaths", Example: "count:>3"},
		kind: number, need: Deaths, count: func(m *Message) int64 { return m.Count }},
	{Field: Field{Name: "redrives", What: "number of redrives", Example: "redrives:0"},
		kind: number, need: Deaths, count: func(m *Message) int64 { return m.Redrives }},
	{Field: Field{Name: "came-back", What: "job that redrove the message before it died again", Example: "came-back:3"},
		kind: number, need: Deaths, count: func(m *Message) int64 { return m.CameBack }},
	{Field: Field{Name: "state", What: "state of the message", Example: "state:ready|held"},
		kind: word, words: states, text: func(m *Message) string { return m.State }},
	{Field: Field{Name: "cause", What: "cause of a lost or held dead letter", Example: "cause:no_route"},
		kind: word, words: causes, text: func(m *Message) string { return m.Cause }},
	{Field: Field{Name: "target", What: "queue of a lost letter: it refused it, or it was discarded there", Example: "target:orders.dlq"},
		kind: name, need: Deaths, text: func(m *Message) string { return m.Target }},
	{Field: Field{Name: "lost-at", What: "time since which a lost letter is lost, UTC", Example: "lost-at:today"},
		kind: clock, need: Deaths, count: func(m *Message) int64 { return m.LostAt }},
	{Field: Field{Name: "size", What: "size of the body", Example: "size:>10kB"},
		kind: size, count: func(m *Message) int64 { return m.Size }},
	{Field: Field{Name: "id", What: "number in the queue, or the property message_id", Example: "id:4711"},
		kind: text, need: Properties, flag: amqp.FlagMessageID},
	{Field: Field{Name: "message-id", What: "the property of that name", Example: "message-id:7f3a*"},
		kind: text, need: Properties, flag: amqp.FlagMessageID},
	{Field: Field{Name: "correlation-id", What: "the property of that name", Example: "correlation-id:\"a b\""},
		kind: text, need: Properties, flag: amqp.FlagCorrelationID},
	{Field: Field{Name: "type", What: "the property of that name", Example: "type:order.*"},
		kind: text, need: Properties, flag: amqp.FlagType},
	{Field: Field{Name: "user", What: "property user_id", Example: "user:shop"},
		kind: text, need: Properties, flag: amqp.FlagUserID},
	{Field: Field{Name: "app", What: "property app_id", Example: "app:checkout"},
		kind: text, need: Properties, flag: amqp.FlagAppID},
	{Field: Field{Name: "content-type", What: "the property of that name", Example: "content-type:application/json*"},
		kind: text, need: Properties, flag: amqp.FlagContentType},
	{Field: Field{Name: "reply-to", What: "the property of that name", Example: "reply-to:amq.gen-*"},
		kind: text, need: Properties, flag: amqp.FlagReplyTo},
	{Field: Field{Name: "exception", What: "exception in headers or body, normalised", Example: "exception:*Timeout*"},
		kind: text, need: Properties | Body},
	{Field: Field{Name: "fingerprint", What: "fingerprint of the exception", Example: "fingerprint:5c1d6f0a92b7e344"},
		kind: text, need: Properties | Body},
	{Field: Field{Name: "header.NAME", What: "value of a header", Example: "header.tenant:acme"},
		kind: header, need: Properties},
	{Field: Field{Name: "headers", What: "words in the values of headers, and in properties", Example: "headers:acme"},
		kind: free, need: Properties},
	{Field: Field{Name: "body", What: "words in the body", Example: "body:\"card declined\""},
		kind: free, need: Body},
	{Field: Field{Name: "body.$.PATH", What: "value in a JSON body", Example: "body.$.order.items[*].sku:A-42"},
		kind: path, need: Body},
	{Field: Field{Name: "", What: "words in headers, properties or the body", Example: "timeout"},
		kind: free, need: Properties | Body},
}

// other names of fields.
var aliases = map[string]string{"dlq": "queue", "first-queue": "source", "user-id": "user", "app-id": "app", "msgid": "message-id",
	"cid": "correlation-id", "deaths": "count"}

// Fields lists all fields; the last has no name: it is what a word without one asks.
func Fields() []Field {
	all := make([]Field, len(fields))
	for i := range fields {
		all[i] = fields[i].Field
		all[i].Values = fields[i].words
	}
	return all
}

// fieldNamed returns the field, nil if there is none, and what follows header. or body. in its name.
func fieldNamed(given string) (f *field, rest string) {
	if before, after, ok := strings.Cut(given, "."); ok {
		switch {
		case strings.EqualFold(before, "header") || strings.EqualFold(before, "headers"):
			return plainField("header.NAME"), after
		case strings.EqualFold(before, "body"):
			return plainField("body.$.PATH"), after
		}
	}
	return plainField(fieldWord(given)), ""
}

// fieldWord is a name of a field as it stands in the table.
func fieldWord(given string) string {
	given = strings.ReplaceAll(strings.ToLower(given), "_", "-")
	if to, ok := aliases[given]; ok {
		return to
	}
	return given
}

func plainField(name string) *field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

func firstKey(m *Message) string {
	if len(m.Keys) == 0 {
		return ""
	}
	return m.Keys[0]
}
