package amqp

import (
	"reflect"
	"strings"
	"testing"
)

// allFlags has the flag of each property.
const allFlags = Flags(0xFFFC)

// everyProperty has each property present; its encoding is everyPropertyWire.
func everyProperty() Properties {
	return Properties{
		Has: allFlags, ContentType: "text", ContentEncoding: "gz", Headers: Table{{"k", String("v")}}, DeliveryMode: 2,
		Priority: 9, CorrelationID: "co", ReplyTo: "rt", Expiration: "60000", MessageID: "id", Timestamp: 0x0102030405060708,
		Type: "ty", UserID: "guest", AppID: "ap", ClusterID: "cl",
	}
}

const everyPropertyWire = "\xff\xfc" + "\x04text" + "\x02gz" + "\x00\x00\x00\x08\x01kS\x00\x00\x00\x01v" + "\x02" + "\x09" +
	"\x02co" + "\x02rt" + "\x0560000" + "\x02id" + "\x01\x02\x03\x04\x05\x06\x07\x08" + "\x02ty" + "\x05guest" + "\x02ap" + "\x02cl"

func TestPropertiesGolden(t *testing.T) {
	t.Parallel() // If it fails, properties change between publisher and consumer.
	want := everyProperty()
	if got := AppendProperties(nil, &want); string(got) != everyPropertyWire {
		t.Errorf("encoded %q, want %q", got, everyPropertyWire)
	}
	got, err := ParseProperties([]byte(everyPropertyWire))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}

func TestPropertiesPresence(t *testing.T) {
	t.Parallel() // If it fails, an empty property is lost, or an absent one appears.
	whole := everyProperty()
	for flag := FlagContentType; flag >= FlagClusterID; flag >>= 1 {
		for _, has := range []Flags{flag, allFlags &^ flag, 0} {
			whole.Has = has
			raw := AppendProperties(nil, &whole)
			got, err := ParseProperties(raw)
			if err != nil || got.Has != has {
				t.Fatalf("flags %04x: %04x, %v", has, got.Has, err)
			}
			if again := AppendProperties(nil, &got); string(again) != string(raw) {
				t.Errorf("flags %04x: %q, want %q", has, again, raw)
			}
			var s PropertyScan
			if err := s.Scan(raw); err != nil || s.Flags != has {
				t.Errorf("scan of flags %04x: %04x, %v", has, s.Flags, err)
			}
		}
	}
	empty := Properties{Has: FlagReplyTo | FlagPriority | FlagHeaders}
	got, err := ParseProperties(AppendProperties(nil, &empty))
	if err != nil || !reflect.DeepEqual(got, empty) {
		t.Errorf("empty values: %+v, %v", got, err)
	}
}

func TestPropertyScan(t *testing.T) {
	t.Parallel() // If it fails, expiry, priority, user-id or persistence are decided on the wrong octets.
	s := PropertyScan{HasPriority: true, Headers: []byte("stale")}
	if err := s.Scan([]byte(everyPropertyWire)); err != nil {
		t.Fatal(err)
	}
	want := PropertyScan{
		Flags: allFlags, Headers: []byte("\x00\x00\x00\x08\x01kS\x00\x00\x00\x01v"), Expiration: []byte("60000"),
		ReplyTo: []byte("rt"), UserID: []byte("guest"), DeliveryMode: 2, Priority: 9, HasPriority: true,
	}
	if !reflect.DeepEqual(s, want) || !s.Persistent() {
		t.Errorf("found %+v, want %+v", s, want)
	}
	if err := s.Scan([]byte{0, 0}); err != nil || !reflect.DeepEqual(s, PropertyScan{}) || s.Persistent() {
		t.Errorf("no properties: %+v, %v", s, err)
	}
}

func TestPropertiesRefusals(t *testing.T) {
	t.Parallel() // If it fails, malformed properties are stored and handed to consumers.
	cases := map[string]string{
		"empty":                  "",
		"half a word":            "\x00",
		"unknown bit":            "\x00\x02",
		"continuation missing":   "\x00\x01",
		"property beyond the 14": "\x00\x01\x80\x00\x00",
		"octets left":            "\x00\x00\x00",
		"short string cut":       "\x80\x00\x05text",
		"octet missing":          "\x10\x00",
		"timestamp cut":          "\x00\x40\x00\x00\x00",
		"headers cut":            "\x20\x00\x00\x00\x00\x04\x01k",
		"headers malformed":      "\x20\x00\x00\x00\x00\x0a\x01kF\x00\x00\x00\x03\x00Z\x00",
		"after a failure":        "\xff\xfc\x05text",
	}
	for i := range everyPropertyWire {
		cases["cut at "+strings.Repeat("i", i)] = everyPropertyWire[:i]
	}
	for name, in := range cases {
		_, err := ParseProperties([]byte(in))
		wantSyntaxError(t, err)
		var s PropertyScan
		wantSyntaxError(t, s.Scan([]byte(in)))
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if p, err := ParseProperties([]byte("\x80\x01\x00\x00\x01t")); err != nil || p.Has != FlagContentType || p.ContentType != "t" {
		t.Errorf("an empty second flags word: %+v, %v", p, err)
	}
}

func TestPropertiesCheck(t *testing.T) {
	t.Parallel() // If it fails, a property set by an operator is cut silently.
	p := everyProperty()
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	p.MessageID = strings.Repeat("m", 256)
	wantSyntaxError(t, p.Check())
	p.Has &^= FlagMessageID
	if err := p.Check(); err != nil {
		t.Errorf("absent: %v", err)
	}
	p.Headers = Table{{"a", Value{Kind: 'Z'}}}
	wantSyntaxError(t, p.Check())
}
