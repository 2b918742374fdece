package filter

import (
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
			true, Failure{Exchange: "shop", Key: "order.new", At: 7000, Redrives: 3}},
		{"Spring, by the default exchange", amqp.Table{{Name: "x-exception-message", Value: text("no")}, {Name: "x-original-exchange", Value: text("")},
			{Name: "x-original-routingKey", Value: text("orders")}}, true, Failure{Key: "orders", At: 7000}},
		{"NServiceBus", amqp.Table{{Name: "NServiceBus.ExceptionInfo.ExceptionType", Value: text("System.Exception")}, {Name: "NServiceBus.FailedQ", Value: text("Sales")},
			{Name: "NServiceBus.TimeOfFailure", Value: text("2026-11-20 08:30:01:123456 Z")}}, true, Failure{Queue: "Sales", At: 1795163401000}},
		{"MassTransit", amqp.Table{{Name: "MT-Fault-Message", Value: text("no")}, {Name: "MT-Fault-InputAddress", Value: text("rabbitmq://host/v/sales?durable=true")},
			{Name: "MT-Fault-Timestamp", Value: text("2026-11-20T08:30:01.1234567Z")}}, true, Failure{Queue: "sales", At: 1795163401000}},
		{"Symfony", amqp.Table{{Name: `X-Message-Stamp-Symfony\Component\Messenger\Stamp\ErrorDetailsStamp`, Value: text("[]")}}, true, Failure{At: 7000}},
		{"Rebus", amqp.Table{{Name: "rbs2-error-details", Value: text("no")}, {Name: "rbs2-source-queue", Value: text("sales")}}, true, Failure{Queue: "sales", At: 7000}},
		{"nonsense", amqp.Table{{Name: "x-exception-message", Value: amqp.Int64(1)}, {Name: "NServiceBus.TimeOfFailure", Value: text("yesterday, about noon it was")},
			{Name: "x-original-exchange", Value: amqp.Int64(5)}}, true, Failure{At: 7000}},
		{"others", amqp.Table{{Name: "x-original-exchange", Value: text("shop")}, {Name: "error", Value: text("no")}, {Name: "x-delay", Value: amqp.Int64(1)},
			{Name: "exception", Value: text("no")}, {Name: "", Value: text("")}}, false, Failure{Exchange: "shop", At: 7000}},
		{"none", nil, false, Failure{At: 7000}},
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
		if told := TellsOfFailure(scan.Headers); told != c.told {
			t.Errorf("%s: %v at its publish", c.name, told)
		}
		if n := testing.AllocsPerRun(10, func() { TellsOfFailure(scan.Headers) }); n > 0 {
			t.Errorf("%s: %v allocations at its publish", c.name, n)
		}
		for i := range raw { // what is cut off is no failure of ours
			FailureOf(raw[:i])
			TellsOfFailure(raw[i:])
		}
	}
}
