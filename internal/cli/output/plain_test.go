package output

import "testing"

func TestValuesReadAsPeopleWrite(t *testing.T) {
	// If this fails, tables of our own commands show Erlang terms or JSON, or two values look like one.
	t.Parallel()
	for given, want := range map[string]string{
		``: "", `null`: "", `true`: "true", `12345678901234567890`: "12345678901234567890", `"a, b"`: "a, b",
		`[]`: "", `{}`: "", `["a","b"]`: "a, b", `["a, b","","c "]`: `"a, b", "", "c "`,
		`{"queue":"orders.dlq","lost":false}`:         "queue: orders.dlq, lost: false",
		`[{"reason":"expired","keys":["q",null]},{}]`: "{reason: expired, keys: [q, none]}, {}",
		`{"headers":{"n":1.50,"a:b":{}}}`:             `headers: {n: 1.50, "a:b": {}}`,
		`["x\u001b[31my\n"]`:                          `"x\x1b[31my\n"`, `["é\u202e"]`: "é\\20056", `[`: "[",
	} {
		if got := Plain(Cell(given)); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}
