package filter

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// told makes a message whose headers are pairs of name and text.
func toldIn(body string, pairs ...string) *Message {
	p := amqp.Properties{Has: amqp.FlagHeaders}
	for i := 0; i < len(pairs); i += 2 {
		p.Headers = append(p.Headers, amqp.Field{Name: pairs[i], Value: amqp.String(pairs[i+1])})
	}
	return &Message{Properties: amqp.AppendProperties(nil, &p), Body: []byte(body)}
}

func TestExceptionDialects(t *testing.T) {
	// If this fails, messages of a library are in no group of exceptions, or each is in one of its own.
	t.Parallel()
	g, err := GroupBy("exception")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   string
		m    *Message
		want string
	}{
		{"nobody", toldIn(`{"order":1}`, "tenant", "acme"), ""},
		{"Spring, message and trace", toldIn("", "x-exception-message", "No value present",
			"x-exception-stacktrace", "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception\n"+
				"\tat org.x.Y(Y.java:12)\nCaused by: java.util.NoSuchElementException: No value present\n\tat java.base/java.util.Optional.get(Optional.java:143)",
			"x-original-exchange", "orders", "x-original-routingKey", "order.created"), "java.util.NoSuchElementException: No value present"},
		{"Spring, message", toldIn("", "x-exception-message", "Order 4711 is gone"), "Order <n> is gone"},
		{"Spring, trace", toldIn("", "x-exception-stacktrace", "java.lang.IllegalStateException: bad state 7\n\tat x"), "java.lang.IllegalStateException: bad state <n>"},
		{"Spring Cloud Stream", toldIn("", "x-exception-fqcn", "java.io.IOException", "x-exception-message", "reset"), "java.io.IOException: reset"},
		{"NServiceBus", toldIn("", "NServiceBus.ExceptionInfo.ExceptionType", "System.TimeoutException", "NServiceBus.ExceptionInfo.Message", "after 00:00:30",
			"NServiceBus.ExceptionInfo.StackTrace", "System.TimeoutException: x\n at y", "NServiceBus.FailedQ", "sales"), "System.TimeoutException: after <time>"},
		{"MassTransit", toldIn("", "MT-Reason", "fault", "MT-Fault-ExceptionType", "System.InvalidOperationException",
			"MT-Fault-Message", "Customer 'acme' is locked"), "System.InvalidOperationException: Customer <text> is locked"},
		{"Symfony", toldIn("{}", "X-Message-Stamp-Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp",
			`[{"exceptionClass":"LogicException","exceptionMessage":"old"},{"exceptionClass":"Doctrine\\DBAL\\Exception","exceptionCode":0,"exceptionMessage":"gone away","flattenException":{"message":"gone away","class":"x"}}]`),
			`Doctrine\DBAL\Exception: gone away`},
		{"Celery, result", toldIn(`{"status":"FAILURE","result":{"exc_type":"ValueError","exc_message":["bad id 12"],"exc_module":"builtins"},"traceback":"Traceback (most recent call last):\n  File x\nValueError: bad id 12\n"}`),
			"ValueError: bad id <n>"},
		{"Celery, traceback", toldIn(`{"traceback":"Traceback (most recent call last):\n  File \"x.py\", line 3\nKeyError: 'id'\n"}`), "KeyError: <text>"},
		{"Laravel", toldIn(`{"displayName":"App\\Jobs\\Mail","exception":"ErrorException: Undefined index: id in /app/x.php:12\nStack trace:\n#0"}`),
			"ErrorException: Undefined index: id in /app/x.php:<n>"},
		{"Faktory", toldIn(`{"jid":"x","failure":{"errtype":"RuntimeError","message":"boom"}}`), "RuntimeError: boom"},
		{"Sidekiq", toldIn(`{"class":"Job","error_class":"Net::ReadTimeout","error_message":"with #<TCPSocket:0x00007f>"}`), "Net::ReadTimeout: with #<TCPSocket:<hex>>"},
		{"Rebus", toldIn("", "rbs2-error-details", "System.Exception: no\r\n   at x"), "System.Exception: no"},
		{"Wolverine", toldIn("", "exception-type", "A.B", "exception-message", "c"), "A.B: c"},
		{"an error in a header", toldIn("", "error", "connect ECONNREFUSED 10.0.0.1:5432"), "connect ECONNREFUSED <n>:<n>"},
		{"an error in a body", toldIn(`{"error":{"type":"card_declined","message":"no"}}`), "card_declined: no"},
		{"EasyNetQ", toldIn(`{"RoutingKey":"x","Exception":"System.NullReferenceException: Object reference\n at"}`), "System.NullReferenceException: Object reference"},
		{"a table", &Message{Properties: amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{
			{Name: "exception", Value: amqp.TableValue(amqp.Table{{Name: "class", Value: amqp.String("E")}, {Name: "message", Value: amqp.String("m")}})}}})}, "E: m"},
		{"a result that is none", toldIn(`{"result":{"type":"order","message":"done"}}`), ""},
		{"an empty one", toldIn("", "x-exception-message", " "), ""},
		{"a body cut off", toldIn(`{"error":"half`), ""},
	} {
		got, ok := g.Key(c.m)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t, want %q", c.of, got, ok, c.want)
		}
		for _, text := range []string{g.FilterFor(got), g.Without()} {
			f, err := Parse(text, 0)
			if err != nil {
				t.Fatal(err)
			}
			if want := ok == (text != g.Without()); c.want != "" && f.Match(c.m) != want || c.want == "" && text == g.Without() && !f.Match(c.m) {
				t.Errorf("%s: %s does not find its group", c.of, text)
			}
		}
	}
}

func TestNormalForm(t *testing.T) {
	// If this fails, exceptions with one cause fall into many groups, or different ones into one.
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", ""}, {"a  b\tc ", "a b c"}, {"can't open o'clock", "can't open o'clock"}, {"'a b' or \"c\" or `d`", "<text> or <text> or <text>"},
		{"unclosed 'text", "unclosed 'text"}, {"id 123e4567-e89b-12d3-a456-426614174000!", "id <uuid>!"},
		{"at 2026-11-21T10:00:00.123+08:00 and 2026-11-21 10:00:00,5 and 2026-11-21", "at <time> and <time> and <time>"}, {"took 00:00:30", "took <time>"},
		{"Job@1b2c3d0f 0xdeadbeef 9f86d081884c7d65", "Job@<hex> <hex> <hex>"}, {"feedface decade", "feedface decade"},
		{"1,024 of 2.5 in 10.0.0.1:5672", "<n> of <n> in <n>:<n>"}, {"SHA256", "SHA<n>"}, {"上海 42", "上海 <n>"}, {"v1.2.3.", "v<n>."},
	} {
		n := normal{}
		n.line([]byte(c.line))
		if got := string(n.done()); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
