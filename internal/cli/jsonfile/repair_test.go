package jsonfile

import "testing"

func TestRepairJSON(t *testing.T) {
	// If this fails, someone whose shell has eaten the quotation marks is told nothing useful.
	t.Parallel()
	const want = `{"a":"b","n":5,"t":true}`
	for _, broken := range []string{
		`{a:b,n:5,t:true}`, `{\"a\":\"b\",\"n\":5,\"t\":true}`, `{'a':'b','n':5,'t':true}`, `'{"a":"b","n":5,"t":true}'`,
		`'{a:b,n:5,t:true}'`, `{“a”:“b”,“n”:5,“t”:true}`, "\ufeff{a:b,n:5,t:true}", `{‘a’:‘b’,‘n’:5,‘t’:true}`,
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
