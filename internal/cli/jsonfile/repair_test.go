package jsonfile

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRepairJSON(t *testing.T) {
	// If this fails, someone whose shell has eaten the quotation marks is told nothing useful.
	t.Parallel()
	const want = `{"a":"b","n":5,"t":true}`
	for _, broken := range []string{
		`{a:b,n:5,t:true}`, `{\"a\":\"b\",\"n\":5,\"t\":true}`, `{'a':'b','n':5,'t':true}`, `'{"a":"b","n":5,"t":true}'`,
		`'{a:b,n:5,t:true}'`, `{“a”:“b”,“n”:5,“t”:true}`, "\ufeff{a:b,n:5,t:true}", `{‘a’:‘b’,‘n’:5,‘t’:true}`,
		`{"a"：“b”，“n”：5，"t":true}`, `｛＂a＂：＂b＂,"n":5,"t":true｝`,
	} {
		if got, cause, ok := Repair(broken); !ok || got != want || cause == "" {
			t.Errorf("%s became %s (%s), %v", broken, got, cause, ok)
		}
	}
	for _, hopeless := range []string{"", "nonsense", "{", `{"a":}`, `["a"]`} {
		if got, _, ok := Repair(hopeless); ok {
			t.Errorf("%s became %s", hopeless, got)
		}
	}
}

func TestReason(t *testing.T) {
	// If this fails, the error names a character that is not in the text.
	t.Parallel()
	for text, want := range map[string]string{
		`{"a"：1}`:      "invalid character '：' after object key; it is a full-width character, write ':'",
		`{“a”:1}`:      "invalid character '“' looking for beginning of object key string",
		`{"a":1}，`:     "invalid character '，' after top-level value; it is a full-width character, write ','",
		`{"a":x}`:      "invalid character 'x' looking for beginning of value",
		`{"a"`:         "unexpected end of JSON input",
		"{\"a\"\xef1}": "invalid character 'ï' after object key",
	} {
		var any json.RawMessage
		if got := Reason([]byte(text), json.Unmarshal([]byte(text), &any)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := Fault([]byte("{\n\"a\"：1}")); !strings.HasPrefix(got, ": line 2: invalid character '：' after") {
		t.Error(got)
	}
	const other = "{\n\"a\":\"\xb2\xd6\"}" // GBK
	if got := Fault([]byte(other)); IsObject(other) || !strings.HasPrefix(got, ": line 2: it is not text in UTF-8") {
		t.Error(got)
	}
	if got := narrow(`{"：\"，"：1}，"`); got != `{"：\"，":1},"` {
		t.Errorf("a text is changed: %s", got)
	}
}
