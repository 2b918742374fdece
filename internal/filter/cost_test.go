package filter

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatchAllocatesNothing(t *testing.T) {
	// If this fails, a look through a million messages is paid for by the collector, and by who publishes
	// meanwhile.
	m := sampleMessage()
	for _, text := range []string{
		"reason:expired", "-reason:maxlen|rejected", "queue:orders.#", "source:orders*", "key:order.*.eu", "age:>1h time:today", "count:>3 size:>1kB redrives:<5",
		"id:4711", "message-id:7f3a*", "header.tenant:acme", "header.retry:>3", "header.price:10.5", "header.deep.in.ner:f*", "acme", "straße", "nowhere",
		`"connection refused"`, "*fused", "body.$.order.id:42", "body.$.order.items[*].sku:B-*",
		"reason:expired queue:orders.* age:>1h count:>3 header.tenant:acme key:order.# size:>10kB body.$.order.id:42 -reason:maxlen",
	} {
		f, err := Parse(text, testNow)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { f.Match(m) }); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
	for by, most := range map[string]float64{"source": 0, "reason": 0, "key": 0, "header:tenant": 1, "exception": 2} {
		g, err := GroupBy(by)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { g.Key(m) }); n > most {
			t.Errorf("grouping by %s: %v allocations", by, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	m := sampleMessage()
	m.Body = []byte(`{"order":{"id":42},"text":"` + strings.Repeat("lorem ipsum dolor sit amet, ", 36) + `"}`)
	for _, text := range []string{"reason:expired", "queue:orders.*", "age:>1h count:>3", "header.tenant:acme", "body.$.order.id:42", "nowhere", "dolor*nowhere",
		`"amet lorem nowhere"`, "exception:*Timeout*"} {
		f, err := Parse(text, testNow)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Match(m)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	// If this fails, a text of a user stops the broker, or a filter is another one after it was stored.
	m := sampleMessage()
	for _, s := range []string{
		"", "a", "-", "--", "|", "a|b", `"`, `\`, `"\x4"`, "reason:expired|maxlen", "queue:orders.* -key:#", "header.a.b:>1", `header."":x`, `header."\"":x`,
		"body.$.a[0].*:1..2", "body:x", "body.$:x", "body.$.:x", `body.$."a.b".c:"\x00"`, "age:>1h30m", "time:2026-02..", "size:<1.5MiB", "count:>", "id:5", "a>b",
		`"a b"* *x* x**`, "上海", "OR", "x:y", "exception:*", "age:..", "header.x:..5", "time:2026-11-20T08:30:00.5+08:00",
		`header."\ader.""":x`, `std\:\:x`, `a"b":c`, `r."\"r."\"&:x`,
	} {
		f.Add(s, m.Properties, m.Body)
	}
	f.Fuzz(func(t *testing.T, text string, properties, body []byte) {
		m := *m
		m.Properties, m.Body = properties, body
		for _, g := range groupings {
			by, err := GroupBy(g.by)
			if err != nil {
				t.Fatal(err)
			}
			checkGroup(t, by, &m)
		}
		p, err := Parse(text, testNow)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Text == "" || !utf8.ValidString(e.Error()) && utf8.ValidString(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(p.String(), testNow)
		if err != nil {
			t.Fatalf("%q is written %q, which is refused: %v", text, p, err)
		}
		if again.String() != p.String() || again.Needs() != p.Needs() || again.Match(&m) != p.Match(&m) {
			t.Fatalf("%q is written %q, which is read as %q", text, p, again)
		}
		for have := range Need(8) {
			if p.Refuses(&m, have) && p.Match(&m) {
				t.Fatalf("%q refuses with %b what it matches", text, have)
			}
		}
	})
}

// checkGroup fails unless the filter of m's group finds m.
func checkGroup(t *testing.T, g Grouping, m *Message) {
	t.Helper()
	value, ok := g.Key(m)
	text := g.Without()
	if ok {
		text = g.FilterFor(value)
	}
	f, err := Parse(text, testNow)
	if err != nil {
		t.Fatalf("group %q by %s: %s: %v", value, g, text, err)
	}
	if !f.Match(m) {
		t.Fatalf("group %q by %s: %s does not find it", value, g, text)
	}
	if f.Needs() != g.Needs() {
		t.Fatalf("group by %s needs %b, its filter %b", g, g.Needs(), f.Needs())
	}
}

func FuzzGroupByHeader(f *testing.F) {
	// If this fails, what is done to a group of messages is done to others, or not to all of them.
	f.Add("tenant", "acme", "acme2")
	f.Add("a b:c|", "\x00\xff\"\\", "")
	f.Add("n", strings.Repeat("x", valueMax), strings.Repeat("x", valueMax+1))
	f.Add("n", strings.Repeat("é", valueMax), strings.Repeat("é", valueMax)+"x")
	f.Add("x-first-death-queue", "a", "b")
	f.Add("n", "12", "12.0")
	f.Add("0", "\x82", "0")
	f.Fuzz(func(t *testing.T, name, a, b string) {
		if len(name) > 255 || name == "" {
			return
		}
		g, err := GroupBy("header:" + name)
		if err != nil {
			t.Fatal(err)
		}
		one, other := toldIn("", name, a), toldIn("", name, b)
		checkGroup(t, g, one)
		keyA, _ := g.Key(one)
		keyB, _ := g.Key(other)
		p, err := Parse(g.FilterFor(keyA), 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Match(other) != (keyA == keyB) {
			t.Fatalf("%s finds %q", p, keyB)
		}
	})
}

func TestBounds(t *testing.T) {
	// If this fails, a filter may be larger than what stores it, or cost more than a look has time for.
	t.Parallel()
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{strings.Repeat("x", TextMax), true}, {strings.Repeat("x", TextMax+1), false},
		{strings.Repeat("id:1 ", termsMax), true}, {strings.Repeat("id:1 ", termsMax+1), false},
		{"id:a" + strings.Repeat("|a", valuesMax-1), true}, {"id:a" + strings.Repeat("|a", valuesMax), false},
		{"a" + strings.Repeat("|a", searchesMax-1), true}, {"a" + strings.Repeat("|a", searchesMax), false}, {strings.Repeat("x ", searchesMax+1), false},
		{"a" + strings.Repeat(`|"`+strings.Repeat("a ", 31)+`"`, 4), true}, {"a" + strings.Repeat(`|"`+strings.Repeat("a ", 32)+`"`, 4), false},
		{"id:" + strings.Repeat("a*", wildcardsMax), true}, {"id:" + strings.Repeat("a*", wildcardsMax+1), false}, {strings.Repeat("key:#.a.#|*.* ", 33), false},
		{"body.$" + strings.Repeat(".a", pathMax) + ":1", true}, {"body.$" + strings.Repeat(".a", pathMax+1) + ":1", false},
		{`"` + strings.Repeat("x ", phraseMax) + `"`, true}, {`"` + strings.Repeat("x ", phraseMax+1) + `"`, false},
		{`"` + strings.Repeat("\x01", TextMax/2) + `"`, false},
	} {
		if _, err := Parse(c.text, 0); (err == nil) != c.ok {
			t.Errorf("%.20q…, %d bytes: %v", c.text, len(c.text), err)
		}
	}
	deep := strings.Repeat(`{"a":`, 100_000)
	long := strings.Repeat("ab", bodyMax/2) + "needle"
	for _, body := range []string{deep, deep + "1", strings.Repeat("[", bodyMax), long, `{"a":"` + long} {
		m := &Message{Body: []byte(body)}
		for _, text := range []string{"body.$.a.a.a:1", "body.$[*][*]:x", "*needle*", "needle", "abababababababababac", `"ab ab"`, "exception:*"} {
			f, err := Parse(text, 0)
			if err != nil {
				t.Fatal(err)
			}
			if f.Match(m) {
				t.Errorf("%s finds something in %d bytes of %.10q…", f, len(body), body)
			}
		}
	}
}

func TestPatternAgainstSlowModel(t *testing.T) {
	// If this fails, wildcards find other names than topic bindings do, and messages of other queues are
	// redriven.
	t.Parallel()
	words := []string{"", "a", "b", "ab"}
	parts := []string{"*", "#", "a", "ab", "#a"}
	var patterns, values []string
	for _, x := range parts {
		patterns = append(patterns, x)
		for _, y := range parts {
			patterns = append(patterns, x+"."+y)
			for _, z := range parts {
				patterns = append(patterns, x+"."+y+"."+z)
			}
		}
	}
	for _, x := range words {
		values = append(values, x)
		for _, y := range words {
			values = append(values, x+"."+y)
			for _, z := range words {
				values = append(values, x+"."+y+"."+z, x+"."+y+"."+z+".a")
			}
		}
	}
	matches := 0
	for _, p := range patterns {
		c := compile([]chunk{{text: p}}, name)
		for _, v := range values {
			want := slow(strings.Split(p, "."), strings.Split(v, "."))
			if p == "*" {
				want = v != ""
			}
			if got := c.matchString(v); got != want || c.matchBytes([]byte(v)) != want {
				t.Fatalf("%q matches %q: %t", p, v, got)
			}
			if want {
				matches++
			}
		}
	}
	if matches == 0 {
		t.Error("nothing ever matched")
	}
	for _, c := range []struct {
		pattern, value string
		want           bool
	}{{"a?c", "a.c", true}, {"a?", "a上", true}, {"?", "", false}, {"a*", "a.b.c", true}, {"*c", "a.b.c", true}, {"a*.c", "a.b.c", true}, {"a*.#", "ab", true}, {"a*b.#.x*", "a.b.x1", true}, {"a*.*.c", "a.b.x.c", true}, {"a*.*.c", "a.c", false}} {
		p := compile([]chunk{{text: c.pattern}}, name)
		if p.matchString(c.value) != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.value, !c.want)
		}
	}
}

// slow compares word by word, trying all that a # may stand for.
func slow(pattern, value []string) bool {
	if len(pattern) == 0 {
		return len(value) == 0
	}
	if pattern[0] == "#" {
		for i := range len(value) + 1 {
			if slow(pattern[1:], value[i:]) {
				return true
			}
		}
		return false
	}
	if len(value) == 0 {
		return false
	}
	one := pattern[0] == "*" || pattern[0] == value[0]
	return one && slow(pattern[1:], value[1:])
}

func ExampleParse() {
	f, err := Parse(`resaon:expired`, 0)
	fmt.Println(f, err)
	f, err = Parse(`Reason:TTL queue:orders.* -key:"a b"`, 0)
	fmt.Println(f, err)
	// Output:
	// <nil> filter: resaon:expired at character 1: there is no field "resaon"; quote text that contains : or =; known: reason
	// reason:expired queue:orders.* -key:"a b" <nil>
}
