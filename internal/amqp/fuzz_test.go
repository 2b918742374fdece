package amqp

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"
)

func FuzzTable(f *testing.F) {
	raw, err := hex.DecodeString(everyKindHex)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(nested(depthMax, KindArray))
	f.Add(nested(depthMax+1, KindTable))
	f.Add([]byte("\x00\x00\x00\x0b\x01aL\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// If it fails, some table panics, is skipped otherwise than parsed, or does not survive decoding and encoding.
		table, rest, err := ParseTable(b)
		skipped, skippedRest, skipErr := SkipTable(b)
		if (err == nil) != (skipErr == nil) || !bytes.Equal(rest, skippedRest) {
			t.Fatalf("parsed with %v, skipped with %v", err, skipErr)
		}
		if err != nil {
			return
		}
		if len(skipped)+len(skippedRest) != len(b) {
			t.Fatalf("skipped %d of %d octets, %d left", len(skipped), len(b), len(skippedRest))
		}
		if err := table.Check(); err != nil {
			t.Fatal(err)
		}
		encoded := AppendTable(nil, table)
		if len(encoded) != len(skipped) {
			t.Fatalf("encoded to %d octets, from %d", len(encoded), len(skipped))
		}
		if octets, _ := table.Size(); octets != len(encoded) {
			t.Fatalf("said to be %d octets, encoded to %d", octets, len(encoded))
		}
		normal := bytes.Clone(skipped)
		if Normalize(normal); !bytes.Equal(normal, encoded) {
			t.Fatalf("normal %q, encoded %q", normal, encoded)
		}
		again, _, err := ParseTable(encoded)
		if err != nil || !again.Equal(table) {
			t.Fatalf("again %v, %v, want %v", again, err, table)
		}
		for _, field := range table {
			want, _ := table.Get(field.Name)
			got, ok, err := LookupField(b, field.Name)
			if err != nil || !ok || !got.Equal(want) {
				t.Fatalf("field %q: %v, %v, %v, want %v", field.Name, got, ok, err, want)
			}
		}
	})
}

func FuzzLookupField(f *testing.F) {
	f.Add(AppendTable(nil, everyKind()), "A")
	f.Add([]byte("\x00\x00\x00\x03\x01aZ"), "b")
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		// If it fails, a header lookup panics, or finds what is not there.
		v, ok, err := LookupField(raw, name)
		table, _, parseErr := ParseTable(raw)
		if parseErr != nil || len(raw) == 0 {
			return
		}
		want, wantOK := table.Get(name)
		if err != nil || ok != wantOK || !v.Equal(want) {
			t.Fatalf("%v, %v, %v, want %v, %v", v, ok, err, want, wantOK)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte(everyPropertyWire))
	f.Add([]byte("\x00\x00"))
	f.Add([]byte("\x00\x01\x00\x00"))
	f.Add([]byte("\x20\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		// If it fails, some properties panic or do not survive decoding and encoding.
		p, err := ParseProperties(raw)
		if err != nil {
			return
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		again, err := ParseProperties(AppendProperties(nil, &p))
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("again %+v, %v, want %+v", again, err, p)
		}
	})
}

func FuzzPropertyScan(f *testing.F) {
	f.Add([]byte(everyPropertyWire))
	f.Add([]byte("\x00\x00"))
	f.Add([]byte("\x01\x00\x0260"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		// If it fails, the quick look at properties sees something else than the whole decoding.
		var s PropertyScan
		err := s.Scan(raw)
		p, parseErr := ParseProperties(raw)
		if (err == nil) != (parseErr == nil) {
			t.Fatalf("scanned with %v, parsed with %v", err, parseErr)
		}
		if err != nil {
			return
		}
		if s.Flags != p.Has || s.DeliveryMode != p.DeliveryMode || s.Priority != p.Priority ||
			s.HasPriority != (p.Has&FlagPriority != 0) || string(s.Expiration) != p.Expiration ||
			string(s.ReplyTo) != p.ReplyTo || string(s.UserID) != p.UserID || (s.Headers != nil) != (p.Has&FlagHeaders != 0) {
			t.Fatalf("scanned %+v, parsed %+v", s, p)
		}
		if s.Headers == nil {
			return
		}
		headers, rest, err := ParseTable(s.Headers)
		if err != nil || len(rest) > 0 || !headers.Equal(p.Headers) {
			t.Fatalf("headers %v, %v, want %v", headers, err, p.Headers)
		}
	})
}
