package filter

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRefusals(t *testing.T) {
	// If this fails, a mistyped filter finds something else than was meant, or its error does not help.
	t.Parallel()
	for _, c := range []struct {
		text, code, term string
		position         int
		says             string
	}{
		{"a reson:expired", "field", "reson:expired", 3, "known: reason"},
		{"上海 qeue:x", "field", "qeue:x", 4, "known: queue"},
		{"原因:rejected", "field", "原因:rejected", 1, "write reason:rejected;"},
		{"a -消息ID:x", "field", "-消息ID:x", 3, "write -message-id:x;"},
		{"消息头.租户:105", "field", "消息头.租户:105", 1, "write header.租户:105;"},
		{"客户:张三", "field", "客户:张三", 1, "known: reason, "},
		{"queue：＞x", "value", "queue：＞x", 1, "cannot be compared"}, {"－ a", "syntax", "－", 1, "minus"},
		{"http://x", "field", "http://x", 1, "quote text that contains : or ="},
		{"reason:gone", "value", "reason:gone", 1, "known: rejected, expired, maxlen, delivery_limit, republished"},
		{"state:dead", "value", "state:dead", 1, "known: ready"},
		{"count:x", "value", "count:x", 1, "a number is expected"}, {"count:1.5", "value", "count:1.5", 1, "a number"},
		{`count:"3"`, "value", `count:"3"`, 1, "do not quote"}, {"count:5..3", "value", "count:5..3", 1, "ends before it begins"}, {"count:..", "value", "count:..", 1, "one end"},
		{"count:9223372036854775807", "value", "count:9223372036854775807", 1, "a number"},
		{"size:10x", "value", "size:10x", 1, "a size"}, {"size:1.2.3k", "value", "size:1.2.3k", 1, "a size"}, {"size:99999999999999GB", "value", "size:99999999999999GB", 1, "a size"},
		{"age:1h", "value", "age:1h", 1, "age:>1h"}, {"age:>5", "value", "age:>5", 1, "unit"}, {"age:>h", "value", "age:>h", 1, "is not a duration"},
		{"time:2026-13", "value", "time:2026-13", 1, "a time"}, {"time:2026-02-29", "value", "time:2026-02-29", 1, "a time"},
		{"time:2026-11-20T25", "value", "time:2026-11-20T25", 1, "a time"}, {"time:2026", "value", "time:2026", 1, "a time"},
		{"queue:>x", "value", "queue:>x", 1, "cannot be compared"}, {"header.x:>y", "value", "header.x:>y", 1, "a number"}, {"header.x:2..1", "value", "header.x:2..1", 1, "ends before"},
		{"header.:x", "syntax", "header.:x", 1, "name is missing"}, {"body.$:x", "syntax", "body.$:x", 1, "a path"}, {"body.$.a[x]:1", "syntax", "body.$.a[x]:1", 1, "a path"},
		{"body.$.a.:1", "syntax", "body.$.a.:1", 1, "a path"}, {"reason:", "syntax", "reason:", 1, "missing"}, {"a||b", "syntax", "a||b", 1, "missing"},
		{`x "open`, "syntax", `"open`, 3, "not closed"}, {`"\xZZ"`, "syntax", `"\xZZ"`, 1, "hexadecimal"}, {`a\`, "syntax", `a\`, 1, "backslash"},
		{"a - b", "syntax", "-", 3, "minus"}, {"a OR b", "value", "OR", 3, "a|b"}, {"\xff", "syntax", "", 0, "UTF-8"},
	} {
		f, err := Parse(c.text, testNow)
		e := (*Error)(nil)
		if !errors.As(err, &e) {
			t.Errorf("%q is read as %s", c.text, f)
			continue
		}
		if e.Code != c.code || e.Term != c.term || e.Position != c.position || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%q: %+v: %v", c.text, *e, e)
		}
	}
	for _, by := range []string{"", "color", "header:", "header." + strings.Repeat("x", 256)} {
		if g, err := GroupBy(by); err == nil {
			t.Errorf("grouped by %q: %s", by, g)
		}
	}
}

func TestMistakes(t *testing.T) {
	// If this fails, a term that somebody meant as a field is searched for as text, and nothing is found; or text that
	// contains signs cannot be searched for.
	t.Parallel()
	for text, says := range map[string]string{
		"x reason!=expired":     "character 3: write -reason:expired; to search for it as text, quote it",
		"-reason!=expired":      "write reason:expired;",
		"reason==expired":       "write reason:expired;",
		"reason = expired":      "= at character 8: write reason:expired;",
		"reason : expired":      "write reason:expired;",
		"reason =expired":       "=expired at character 8: write reason:expired;",
		"count > 3":             "write count>3;",
		"-count >= 3 x":         "write -count>=3;",
		"header.tenant != a":    "write -header.tenant:a;",
		"queue =":               "write queue:VALUE;",
		"reson=expired":         "quote text that contains : or =; known: reason",
		"-corelation_id=4":      "known: correlation-id",
		"原因：被拒绝":                "write reason:rejected; to search for it as text, quote it",
		"x －来源：订单.支付":           "character 3: write -source:订单.支付;",
		"次数＞＝3":                 "write count>=3;",
		`type = "order placed"`: "write type:\"order placed\";",

		"最近一次成为死信的原因：过期": "write reason:expired;",
		"消息头.租户：acme":    "write header.租户:acme;",
		"消息体.$.金额＞5":     "write body.$.金额>5;",
	} {
		e := (*Error)(nil)
		if err := Mistake(text); !errors.As(err, &e) || !strings.Contains(e.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	for _, text := range []string{
		"", "reason=expired", "reason:expired", "tenant=acme", "a = b", "x > 3", "order=4711", `"reason!=expired"`,
		"queue:x = y",
		`reason "=" expired`, "<b>bold</b>", "count>3", "count=3", "-queue=a", `"reason" = x`,
		"客户：张三", `"原因：rejected"`, "原因", "原因：", "状态.x：y",
		"k=1", "header.a=1", "body.$.a=1",
	} {
		if err := Mistake(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if f, err := Parse("reason=expired", testNow); err != nil || f.String() != "reason:expired" {
		t.Errorf("an equals sign for the colon: %v, %v", f, err)
	}
	for text, want := range map[string]string{
		"reason：expired": "reason:expired", "-header.a：x|y": "-header.a:x|y", "错误：expired": "错误：expired", "：": "：",
		"－reason：ｅｘｐｉｒｅｄ｜被拒绝": "-reason:expired|rejected", "ｒｅａｓｏｎ:expired": "reason:expired",
		"message－id：订单-470＊": "message-id:订单-470*", "body.$.金额：＞１０５": `body.$."金额":>105`, "count＞＝３": "count:>=3",
		"count：１．．５": "count:1..5", "age：＞１ｈ": "age:>1h", "age：＞1分钟": "age:>1分钟",
		"size＝＞１０ｋＢ": "size:>10kB", "time：２０２６－１１": "time:2026-11",
		"header.租户：１０５": `header."租户":１０５`, "a｜refus＊": "a|refus*", "为什么？": "为什么？", "queue：订单？": "queue:订单?",
		`queue:"订单？＊｜"`: `queue:"订单？＊｜"`, `queue:订单\？`: `queue:订单"？"`, "a＞b": "a＞b",
	} {
		if f, err := Parse(text, testNow); err != nil || f.String() != want {
			t.Errorf("%s, a full-width colon: %v, %v", text, f, err)
		}
	}
}

func TestCalendar(t *testing.T) {
	// If this fails, time:2026-02-28 means another day.
	t.Parallel()
	for day := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2405; day = day.AddDate(0, 0, 1) {
		got, err := readClock(0)(day.Format(time.DateOnly))
		if err != nil || got.min != day.UnixMilli() || got.max != got.min+dayMS-1 {
			t.Fatalf("%s is %+v, %v", day, got, err)
		}
		if day.Day() == 1 {
			got, err := readClock(0)(day.Format("2006-01"))
			if err != nil || got.min != day.UnixMilli() || got.max != day.AddDate(0, 1, 0).UnixMilli()-1 {
				t.Fatalf("the month of %s is %+v, %v", day, got, err)
			}
		}
	}
}

func TestTerms(t *testing.T) {
	// If this fails, the index looks for other messages than the filter means, and answers lack some.
	t.Parallel()
	f, err := Parse(`-reason:ttl|Max-Len queue:orders.*|x count:>3 age:>1h header."a b":x "Connection refused" ref*|*use* header.n:1..2 body.a:*`, testNow)
	if err != nil {
		t.Fatal(err)
	}
	shown := f.Terms()
	for i, want := range []Term{
		{Text: "-reason:expired|maxlen", Field: "reason", Not: true, Values: []string{"expired", "maxlen"}, Alternatives: []Alternative{{Op: Is, Text: "expired"}, {Op: Is, Text: "maxlen"}}},
		{Text: "queue:orders.*|x", Field: "queue", Values: []string{"orders.*", "x"}, Alternatives: []Alternative{{Op: Like, Text: "orders."}, {Op: Is, Text: "x"}}},
		{Text: "count:>3", Field: "count", Values: []string{">3"}, Alternatives: []Alternative{{Op: Within, Min: 4, Max: 1<<63 - 1}}},
		{Text: "age:>1h", Field: "age", Values: []string{">1h"}, Alternatives: []Alternative{{Op: Within, Min: testNow - amountMax, Max: testNow - hourMS - 1}}},
		{Text: `header."a b":x`, Field: "header.NAME", Name: "a b", Values: []string{"x"}, Alternatives: []Alternative{{Op: Is, Text: "x"}}},
		{Text: `"Connection refused"`, Values: []string{"Connection refused"}, Alternatives: []Alternative{{Op: Has, Words: []string{"connection", "refused"}}}},
		{Text: "ref*|*use*", Values: []string{"ref*", "*use*"}, Alternatives: []Alternative{{Op: Has, Words: []string{"ref"}, Prefix: true}, {}}},
		{Text: "header.n:1..2", Field: "header.NAME", Name: "n", Values: []string{"1..2"}, Alternatives: []Alternative{{}}},
		{Text: "body.$.a:*", Field: "body.$.PATH", Name: "$.a", Values: []string{"*"}, Alternatives: []Alternative{{}}},
	} {
		got := shown[i]
		same := slices.EqualFunc(got.Alternatives, want.Alternatives, func(a, b Alternative) bool {
			return a.Op == b.Op && a.Text == b.Text && a.Prefix == b.Prefix && a.Min == b.Min && a.Max == b.Max && slices.Equal(a.Words, b.Words)
		})
		if got.Text != want.Text || got.Field != want.Field || got.Name != want.Name || got.Not != want.Not || !slices.Equal(got.Values, want.Values) || !same {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if want := Deaths | Properties | Body; f.Needs() != want {
		t.Errorf("needs %b, want %b", f.Needs(), want)
	}
}

func TestWords(t *testing.T) {
	// If this fails, the index and the filter cut texts differently, and messages are not found.
	t.Parallel()
	long := strings.Repeat("x", WordMax+5)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil}, {"--", nil}, {"Connection-Refused: 10.5", []string{"connection", "refused", "10", "5"}}, {"order_id", []string{"order", "id"}},
		{"Straße ÉTÉ", []string{"straße", "été"}}, {"连接timeout了", []string{"连", "接", "timeout", "了"}}, {"a\xffb", []string{"a", "b"}},
		{long + " y", []string{long[:WordMax], "y"}}, {strings.Repeat("é", WordMax), []string{strings.Repeat("é", WordMax/2)}},
		{`C:\new`, []string{"c", "new"}}, {`{"a":"x\ny\u4e0a\u00e9t\u0041"}`, []string{"a", "x", "y", "上", "ét"}}, {` ["\`, nil}, {`["\u12"]`, []string{"12"}},
		{"\u212a", []string{"\u212a"}}, // the sign for kelvin: its lower case would be an ASCII letter
	} {
		var got []string
		Words([]byte(c.text), func(w []byte) bool {
			got = append(got, string(w))
			return true
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	var texts []string
	Texts(sampleMessage().Properties, []byte("body"), func(b []byte) bool {
		texts = append(texts, string(b))
		return len(texts) < 99
	})
	if got, want := strings.Join(texts, "|"), "acme|7|10.5|true|1024||dotted|Straße 上海|found|order-4711|red|3|order 42|7f3a-1|order.created|shop|checkout|body"; got != want {
		t.Errorf("texts are %s, want %s", got, want)
	}
}

func TestGroups(t *testing.T) {
	// If this fails, a message is in the group of others, or in none.
	t.Parallel()
	for by, want := range map[string]string{
		"reason": "expired", "first-reason": "rejected", "source": "orders.eu", "last-queue": "orders.retry", "queue": "orders.dlq", "exchange": "orders",
		"key": "order.created.eu", "state": "ready", "type": "order.created", "app": "checkout", "user": "shop", "cause": "", "exception": "", "fingerprint": "",
		"header:tenant": "acme", "header.retry": "7", "header:vip": "true", "header:price": "10.5", "header:deep": `{"in.ner":"found"}`, "header:tags": `["red",3]`,
		"header:wide": "Straße 上海", "header:nope": "", "header:x-first-death-queue": "orders.eu",
	} {
		g, err := GroupBy(by)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := g.Key(sampleMessage())
		if got != want || ok != (want != "") {
			t.Errorf("by %s: %q, %t, want %q", by, got, ok, want)
		}
		checkGroup(t, g, sampleMessage())
	}
	g, err := GroupBy("exchange")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := g.Key(&Message{}); !ok {
		t.Error("messages of the default exchange are in no group")
	}
	checkGroup(t, g, &Message{})
	for _, f := range Fields() {
		if _, err := Parse(f.Example, 0); err != nil || f.What == "" {
			t.Errorf("the example of %q: %v", f.Name, err)
		}
	}
}
