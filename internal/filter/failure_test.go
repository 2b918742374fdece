package filter

import (
	"strconv"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestFailureOf says that what a library publishes where failures go is not taken for that, or another message is; or
// that it would be sent back to another place than it came from.
func TestFailureOf(t *testing.T) { // not beside others: allocations are counted
	text := amqp.String
	for _, c := range []struct {
		name    string
		headers amqp.Table
		told    bool
		want    Failure
	}{
		{"Spring", amqp.Table{{Name: "x-exception-stacktrace", Value: text("java.lang.IllegalStateException: no\n\tat a.B")},
			{Name: "x-exception-message", Value: text("no")}, {Name: "x-original-exchange", Value: text("shop")},
			{Name: "x-original-routingKey", Value: text("order.new")}, {Name: "x-redrive-count", Value: amqp.Int64(3)}},
			true, Failure{Exchange: "shop", Key: "order.new", Dated: 7000, Redrives: 3}},
		{"Spring, by the default exchange", amqp.Table{{Name: "x-exception-message", Value: text("no")}, {Name: "x-original-exchange", Value: text("")},
			{Name: "x-original-routingKey", Value: text("orders")}}, true, Failure{Key: "orders", Dated: 7000}},
		{"NServiceBus", amqp.Table{{Name: "NServiceBus.ExceptionInfo.ExceptionType", Value: text("System.Exception")}, {Name: "NServiceBus.FailedQ", Value: text("Sales")},
			{Name: "NServiceBus.TimeOfFailure", Value: text("2026-11-20 08:30:01:123456 Z")}},
			true, Failure{Queue: "Sales", At: 1795163401000, Dated: 7000}},
		{"MassTransit", amqp.Table{{Name: "MT-Fault-Message", Value: text("no")}, {Name: "MT-Fault-InputAddress", Value: text("rabbitmq://host/v/sales?durable=true")},
			{Name: "MT-Fault-Timestamp", Value: text("2026-11-20T08:30:01.1234567Z")}},
			true, Failure{Queue: "sales", At: 1795163401000, Dated: 7000}},
		{"Symfony", amqp.Table{{Name: `X-Message-Stamp-Symfony\Component\Messenger\Stamp\ErrorDetailsStamp`, Value: text("[]")}}, true, Failure{Dated: 7000}},
		{"Rebus", amqp.Table{{Name: "rbs2-error-details", Value: text("no")}, {Name: "rbs2-source-queue", Value: text("sales")}},
			true, Failure{Queue: "sales", Dated: 7000}},
		{"nonsense", amqp.Table{{Name: "x-exception-message", Value: amqp.Int64(1)}, {Name: "NServiceBus.TimeOfFailure", Value: text("yesterday, about noon it was")},
			{Name: "x-original-exchange", Value: amqp.Int64(5)}}, true, Failure{Dated: 7000}},
		{"others", amqp.Table{{Name: "x-original-exchange", Value: text("shop")}, {Name: "error", Value: text("no")}, {Name: "x-delay", Value: amqp.Int64(1)},
			{Name: "exception", Value: text("no")}, {Name: "", Value: text("")}}, false, Failure{Exchange: "shop", Dated: 7000}},
		{"none", nil, false, Failure{Dated: 7000}},
		{"x-death of a delivery", amqp.Table{
			{Name: "x-first-death-queue", Value: text("work")}, {Name: "x-first-death-reason", Value: text("rejected")},
			{Name: "x-death", Value: amqp.Array(
				entry("expired", "work.retry", 2, ""), entry("rejected", "work", 3, "shop"),
				entry("expired", "work.retry", 1, "other"),
			)},
		}, true, Failure{
			Exchange: "shop", Key: "shop.key", Queue: "work", Dated: 7000,
			Deaths: 6, FirstReason: "rejected", LastQueue: "work.retry", Copied: true,
		}},
		{"x-death alone", amqp.Table{
			{Name: "x-death", Value: amqp.Array(entry("maxlen", "b", 1, "x"), amqp.Int64(1), entry("expired", "a", 1, ""))},
		}, true, Failure{
			Key: ".key", Queue: "a", Dated: 7000, Deaths: 2, FirstReason: "expired", LastQueue: "b", Copied: true,
		}},
		{"x-death beside Spring's headers", amqp.Table{
			{Name: "x-exception-message", Value: text("no")}, {Name: "x-original-routingKey", Value: text("orders")},
			{Name: "x-death", Value: amqp.Array(entry("expired", "a", 1, "x"))},
		}, true, Failure{Key: "orders", Dated: 7000, Deaths: 1, FirstReason: "expired", LastQueue: "a"}},
		{"x-death without a death", amqp.Table{
			{Name: "x-death", Value: amqp.Array(amqp.Int64(1), entry("expired", "", 1, ""), entry("", "a", 1, ""))},
		}, false, Failure{Dated: 7000}},
		{"x-death that is no list", amqp.Table{
			{Name: "x-death", Value: entry("expired", "a", 1, "")},
		}, false, Failure{Dated: 7000}},
	} {
		p := amqp.Properties{Has: amqp.FlagHeaders | amqp.FlagTimestamp, Headers: c.headers, Timestamp: 7}
		raw := amqp.AppendProperties(nil, &p)
		if f, told := FailureOf(raw); told != c.told || f != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, f, told, c.want, c.told)
		}
		var scan amqp.PropertyScan
		if err := scan.Scan(raw); err != nil {
			t.Fatal(err)
		}
		told, died := TellsOfFailure(scan.Headers)
		if told != (c.told && !c.want.Copied) || (len(died) > 0) != (c.want.Deaths > 0) {
			t.Errorf("%s: %v, %v at its publish", c.name, told, died)
		}
		if n := testing.AllocsPerRun(10, func() { TellsOfFailure(scan.Headers) }); n > 0 && died == nil {
			t.Errorf("%s: %v allocations at its publish", c.name, n)
		}
		for i := range raw { // what is cut off is no failure of ours
			FailureOf(raw[:i])
			TellsOfFailure(raw[i:])
		}
	}
}

// entry is an entry of an x-death header.
func entry(reason, queue string, count int64, exchange string) amqp.Value {
	return amqp.TableValue(amqp.Table{
		{Name: "count", Value: amqp.Int64(count)}, {Name: "reason", Value: amqp.String(reason)},
		{Name: "queue", Value: amqp.String(queue)}, {Name: "time", Value: amqp.Timestamp(5)},
		{Name: "exchange", Value: amqp.String(exchange)},
		{Name: "routing-keys", Value: amqp.Array(amqp.String(exchange+".key"), amqp.String("cc"))},
	})
}

func TestCopiedDeathsAreBounded(t *testing.T) {
	// If this fails, a publisher's x-death header of thousands of queues costs a comparison with each for each target.
	t.Parallel()
	var all []amqp.Value
	for i := range 1000 {
		all = append(all, entry("rejected", strconv.Itoa(i/2), 1<<62, ""))
	}
	p := amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: "x-death", Value: amqp.Array(all...)}}}
	raw := amqp.AppendProperties(nil, &p)
	var scan amqp.PropertyScan
	if err := scan.Scan(raw); err != nil {
		t.Fatal(err)
	}
	if _, died := TellsOfFailure(scan.Headers); len(died) != deathsMax/2 || died[0] != "0" || died[31] != "31" {
		t.Errorf("%d queues: %v", len(died), died)
	}
	if f, told := FailureOf(raw); !told || f.Deaths != deathsMax*deathCountMax || f.Dated != 5000 {
		t.Errorf("%+v", f)
	}
}
