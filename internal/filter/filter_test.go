package filter

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// testNow is 2026-11-21T12:00:00Z.
const testNow = 1795262400000

func sampleMessage() *Message {
	p := amqp.Properties{
		Has: amqp.FlagHeaders | amqp.FlagMessageID | amqp.FlagCorrelationID | amqp.FlagType | amqp.FlagDeliveryMode | amqp.FlagTimestamp |
			amqp.FlagContentType | amqp.FlagUserID | amqp.FlagAppID,
		DeliveryMode: 2, Timestamp: 1, ContentType: "application/json", MessageID: "7f3a-1", CorrelationID: "order 42",
		Type: "order.created", UserID: "shop", AppID: "checkout",
		Headers: amqp.Table{
			{Name: "tenant", Value: amqp.String("acme")}, {Name: "retry", Value: amqp.Int32(7)}, {Name: "price", Value: amqp.Float64(10.5)},
			{Name: "vip", Value: amqp.Bool(true)}, {Name: "big", Value: amqp.String("1024")}, {Name: "none", Value: amqp.Void()},
			{Name: "a.b", Value: amqp.String("dotted")}, {Name: "wide", Value: amqp.String("Straße 上海")},
			{Name: "deep", Value: amqp.TableValue(amqp.Table{{Name: "in.ner", Value: amqp.String("found")}})},
			{Name: "x-schedule-key", Value: amqp.String("order-4711")},
			{Name: "tags", Value: amqp.Array(amqp.String("red"), amqp.Int32(3))},
		},
	}
	return &Message{
		ID: 4711, State: "ready", Cause: "", Queue: "orders.dlq", Size: 10_001, Reason: "expired", FirstReason: "rejected",
		Source: "orders.eu", LastQueue: "orders.retry", Exchange: "orders", Keys: []string{"order.created.eu", "audit"}, Count: 4,
		At: testNow - 2*3600_000, Redrives: 1, Properties: amqp.AppendProperties(nil, &p),
		Body: []byte(`{"order":{"id":42,"sum":1.5e3,"note":"Connection refused","paid":false,"items":[{"sku":"A-1"},{"sku":"B-2"}],"gone":null},"tags":["x","y"]}`),
	}
}

func TestMatch(t *testing.T) {
	// If this fails, an operator's filter finds messages that were not meant, or does not find those that were.
	t.Parallel()
	m := sampleMessage()
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{"", true}, {"  ", true},
		{"reason:expired", true}, {"reason:rejected", false}, {"-reason:expired", false}, {"-reason:maxlen", true},
		{"reason:rejected|expired", true}, {"REASON:Expired", true}, {"reason:exp*", true}, {"reason:ttl", true}, {"first-reason:nack", true},
		{"reason:已过期", true}, {`reason:"Delivery limit"`, false}, {`-reason:"投递次数上限"`, true},
		{`reason:"length limit exceeded"|expired`, true},
		{"first_reason:rejected", true}, {"reason:*", true}, {"cause:*", false}, {"cause:\"\"", true}, {"-cause:*", true},
		{"queue:orders.dlq", true}, {"queue:orders", false}, {"queue:orders.*", true}, {"queue:*.dlq", true}, {"queue:orders*", true},
		{"queue:*dlq", true}, {"queue:#", true}, {"queue:#.dlq", true}, {"queue:orders.#", true}, {"queue:orders.dlq.#", true},
		{"queue:*", true}, {"queue:*.*", true}, {"queue:*.*.*", false}, {"queue:\"orders.*\"", false}, {`queue:orders.\*`, false},
		{"dlq:orders.dl?", true}, {"dlq:orders.dlq?", false}, {"queue:Orders.dlq", false},
		{"key:order.#", true}, {"key:order.*", false}, {"key:order.*.eu", true}, {"key:audit", true}, {"routing-key:audit", false},
		{"key:#.eu", true}, {"key:#.created.#", true}, {"key:order.#.eu.#", true}, {"key:#.#.eu", true}, {"key:*.#.*.eu", true},
		{"key:x|audit", true}, {"exchange:orders", true}, {"source:orders.eu|x", true}, {"last-queue:orders.retry", true},
		{"age:>1h", true}, {"age:>2h", false}, {"age:>=2h", true}, {"age:<2h", false}, {"age:<=2h", true}, {"age:<1d", true},
		{"age:1h..3h", true}, {"age:3h..4h", false}, {"age:>1h30m", true}, {"age>1.5h", true}, {"age:..2h", true}, {"age:2h..", true},
		{"time:2026-11-21", true}, {"time:today", true}, {"time:yesterday", false}, {"time:2026-11", true}, {"time:2026-12", false},
		{"time:2026-11-20..2026-11-21", true}, {"time:>2026-11-21", false}, {"time:>=2026-11-21", true}, {"time:<2026-11-22", true},
		{"time:2026-11-21T10", true}, {"time:2026-11-21T10:00", true}, {"time:2026-11-21T10:00:00.000Z", true}, {"time:>2026-11-21T10:00:00.000Z", false},
		{"time:2026-11-21T18:00+08:00", true}, {"time:2026-11-21T18:00", false}, {"time:2026-11-20..", true}, {"time:<=now", true},
		{"count:4", true}, {"count:>3", true}, {"count>3", true}, {"count>=5", false}, {"count=4", true}, {"count:1|4", true}, {"count:<2|>3", true},
		{"target:*", false}, {"lost-at:today", false}, {"-lost-at:>2020-01", true}, {"count:2..4", true}, {"redrives:0", false}, {"redrives:1", true}, {"-count:>3", false},
		{"size:>10kB", true}, {"size:>10KiB", false}, {"size:10001", true}, {"size:<1MB", true}, {"size:0.01MB..0.02MB", true},
		{"state:ready|held", true}, {"state:lost", false},
		{"id:4711", true}, {"id:7f3a-1", true}, {"id:47", false}, {"message-id:7f3a*", true}, {"msgid:4711", false},
		{`correlation-id:"order 42"`, true}, {`cid:order\ 42`, true}, {"type:order.*", true}, {"user:shop", true}, {"app:check*", true},
		{"content-type:application/json", true}, {"reply-to:*", false}, {`reply-to:""`, true},
		{"schedule-key:order-4711", true}, {"schedule_key:order-*", true}, {"schedule-key:order", false},
		{"-schedule-key:*", false},
		{"header.tenant:acme", true}, {"header.tenant:ac?e", true}, {"header.tenant:ACME", false}, {"header.tenant:*", true}, {"header.nope:*", false},
		{"-header.nope:x", true}, {"header.retry:7", true}, {"header.retry:7.0", true}, {"header.retry:>6", true}, {"header.retry:>7", false},
		{`header.retry:"7"`, true}, {`header.retry:"7.0"`, false}, {"header.price:10.5", true}, {"header.price:10..11", true}, {"header.big:>1000", true},
		{"header.big:1024", true}, {"header.vip:true", true}, {"header.none:*", true}, {`header.none:""`, true}, {"header.a.b:dotted", true},
		{`header."a.b":dotted`, true}, {"header.deep.in.ner:found", true}, {"header.tags:*red*", true}, {"header.tenant:>5", false},
		{"header.x-first-death-queue:orders.eu", true}, {"header.x-last-death-reason:*", true},
		{"acme", true}, {"ACME", true}, {"tenant", false}, {"refused", true}, {`"connection refused"`, true}, {`"connection  refused"`, true}, {`"refused connection"`, false}, {"conn", false}, {"conn*", true}, {"*nect*", true}, {"*NECT", true},
		{`connection\:refused`, true}, {"connection-refused", true}, {`"note connection ref"*`, true}, {`"note connection ref"`, false}, {`"-->"`, false}, {"straße", true}, {"上", true}, {"上*", true},
		{"海上", false}, {"created", true}, {"json", false},
		{"conn*refused", true}, {"refused*conn*", false}, {"-timeout", true}, {"timeout|refused", true}, {"上海", true}, {"headers:refused", false},
		{"headers:shop", true}, {"body:acme", false}, {"body:\"REFUSED\"", true}, {"found", true}, {"red", true}, {"1024", true},
		{"reason:expired queue:orders.* age:>1h count:>3 header.tenant:acme key:order.# size:>10kB body.$.order.id:42 -reason:maxlen", true},
		{"body.$.order.id:42", true}, {"body.order.id:42", true}, {"body.$.order.id:>41", true}, {"body.$.order.id:43", false},
		{"body.$.order.sum:1500", true}, {"body.$.order.note:Conn*", true}, {"body.$.order.note:conn*", false}, {"body.$.order.paid:false", true},
		{"body.$.order.items[1].sku:B-2", true}, {"body.$.order.items[0].sku:B-2", false}, {"body.$.order.items[*].sku:B-2", true},
		{"body.$.order.*:42", true}, {"body.$.*.id:42", true}, {"body.$.order.gone:*", true}, {"body.$.order.nope:*", false}, {"body.$.order:*", true},
		{"body.$.order.gone:null", true}, {"body.$.tags:y", true}, {"body.$.tags:z", false}, {`body.$."order".id:42`, true}, {"body.$.tags[1]:y", true},
	} {
		f, err := Parse(c.filter, testNow)
		if err != nil {
			t.Errorf("%q: %v", c.filter, err)
			continue
		}
		if got := f.Match(m); got != c.want {
			t.Errorf("%q (%s) matches: %t", c.filter, f, got)
		}
		again, err := Parse(f.String(), testNow)
		if err != nil || again.String() != f.String() || again.Match(m) != c.want {
			t.Errorf("%q is written %q, which is read as %v, %v", c.filter, f, again, err)
		}
		if f.Match(m) && f.Refuses(m, 0) || f.Refuses(m, f.Needs()) == f.Match(m) {
			t.Errorf("%q refuses what it matches", c.filter)
		}
	}
}

func TestScheduleKeyIsAString(t *testing.T) {
	// If this fails, a message is found by a schedule key that it does not have: a number is none.
	t.Parallel()
	for _, headers := range []amqp.Table{nil, {{Name: "x-schedule-key", Value: amqp.Int32(4711)}}} {
		p := amqp.Properties{Has: amqp.FlagHeaders, Headers: headers}
		m := &Message{Keys: []string{"4711"}, Properties: amqp.AppendProperties(nil, &p)}
		for filter, want := range map[string]bool{
			"schedule-key:4711": false, "schedule-key:*": false, `schedule-key:""`: true, "-schedule-key:*": true,
		} {
			f, err := Parse(filter, testNow)
			if err != nil || f.Match(m) != want {
				t.Errorf("%q with %v: %v, %v", filter, headers, !want, err)
			}
		}
	}
}
