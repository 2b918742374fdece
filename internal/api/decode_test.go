package api

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeKeysExactly(t *testing.T) {
	// If this fails, a document says one thing to whoever checked it and another to the broker: a password or a tag
	// comes to somebody who was not named with it.
	t.Parallel()
	for text, want := range map[string]string{
		`{"users":[{"name":"a","tags":"administrator"}],"users":[{"name":"b"}]}`: "the key 'users' occurs twice in one object",
		`{"users":[{"name":"a","n\u0061me":"b"}]}`:                               "the key 'name' occurs twice in one object",
		`{"unknown":{"a":1,"b":[{"c":1,"c":2}]}}`:                                "the key 'c' occurs twice in one object",
		`{"queues":[{"name":"q","arguments":{"a":1,"a":2}}]}`:                    "the key 'a' occurs twice in one object",
		"{\"vhosts\":[{\"name\":\"\xff\"}]}":                                     "not_json",
		`{"vhosts":[{"name":"\ud800"}]}`:                                         "not_json",
		`{"vhosts":[{"name":"\udc00\ud800"}]}`:                                   "not_json",
		`{"vhosts":[{"name":"\ud800x\udc00"}]}`:                                  "not_json",
		`{"vhosts":[{"name":"\ud800\n"}]}`:                                       "not_json",
		`{"vhosts":[{"name":"\ud800\ud800"}]}`:                                   "not_json",
		`{"\ud800":1}`:                                                           "not_json",
		`{`:                                                                      "not_json",
		`{} {}`:                                                                  "not_json",
		``:                                                                       "not_json",
		strings.Repeat("[", 66) + strings.Repeat("]", 66):                        "nested deeper than 64",
		`{"users":5}`:                                                            "the definitions of each user must be a list",
		`{"rabbit_version":[]}`:                                                  "the value of 'rabbit_version' must not be a JSON array",
		`{"users":[{"name":5}]}`:                                                 "user number 1: the value of 'name' must not be a JSON number",
	} {
		var d Definitions
		if err := Decode([]byte(text), &d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var d Definitions
	text := ` { "USERS":[{"name":"x"}],"users" : [ {"name":"\ud83d\ude00\\ud800","Tags":"administrator","paſſword":"p","tags":"a", "more":[{}]} , {"NAME":"b"} ],
		"uſers":[],"unknown":{"users":[]},"vhosts":[],"permissions":null } `
	if err := Decode([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	want := Section[DefinedUser]{{Name: "\U0001f600\\ud800", PutUser: PutUser{Tags: &Tags{"a"}}}, {}}
	if !reflect.DeepEqual(d.Users, want) {
		t.Errorf("read %+v", d.Users)
	}
	var p PutParameter
	if err := Decode([]byte(`{"value":{"A":1,"a":{"PATTERN":[1, 2]}}}`), &p); err != nil || string(p.Value) != `{"A":1,"a":{"PATTERN":[1,2]}}` {
		t.Errorf("a value of any keys is read as %s, %v", p.Value, err)
	}
	for text, want := range map[string]string{`{"Value":1}`: `unknown field "Value"`, `{"value":{"x":1}}`: "", `{}`: ""} {
		err := DecodeWithin([]byte(text), &p, Bounds{Known: true})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestNullIsNoValueInBodiesOfOurOwn(t *testing.T) {
	// If this fails, a null that a program sends by mistake is read as a missing key: a dry run runs, or a job takes
	// all messages instead of those named.
	t.Parallel()
	ours := Bounds{Known: true}
	for text, want := range map[string]string{
		`{"dry_run":null}`:                 "the value of 'dry_run' must be true or false, not null",
		`{"source":{"lost": null }}`:       "the value of 'lost' must be true or false, not null",
		`{"options":{"ramp":null}}`:        "the value of 'ramp' must be true or false, not null",
		`{"ids":null}`:                     "the value of 'ids' must not be null: omit the key instead",
		`{"filter":null}`:                  "the value of 'filter' must not be null: omit the key instead",
		`{"target":{"exchange":null}}`:     "",
		`{"dry_run":"true","force":false}`: "",
	} {
		var body PostRedrive
		err := DecodeWithin([]byte(text), &body, ours)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err := Decode([]byte(text), &body); err != nil {
			t.Errorf("%s is refused as RabbitMQ does not: %v", text, err)
		}
	}
	var p PutParameter
	if err := DecodeWithin([]byte(`{"value":null}`), &p, ours); err != nil || string(p.Value) != "null" {
		t.Errorf("a value of any kind is read as %s, %v", p.Value, err)
	}
}

func TestDecodeAgreesWithTheLibrary(t *testing.T) {
	// If this fails, what is well written is read as something else.
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		text := []byte(document(dice, 0))
		var got, want any
		if err := Decode(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v, want %v, %v", text, got, want, err)
		}
	}
}

// document makes one, with blanks where they may be.
func document(dice *rand.Rand, deep int) string {
	pick := func(of ...string) string { return of[dice.IntN(len(of))] }
	blank := func() string { return pick("", "", " ", "\n\t") }
	kind := dice.IntN(6)
	if deep > 3 {
		kind = 5
	}
	var b strings.Builder
	switch kind {
	case 0, 1:
		b.WriteString("{")
		for i := range dice.IntN(max(20-8*deep, 3)) {
			if i > 0 {
				b.WriteString(blank() + ",")
			}
			b.WriteString(blank() + `"k` + string(rune('a'+i)) + pick("", `\"`, `\\`, `}`, `,`, `é`) + `"` + blank() + ":" + blank() + document(dice, deep+1))
		}
		return b.String() + blank() + "}"
	case 2:
		b.WriteString("[")
		for i := range dice.IntN(4) {
			if i > 0 {
				b.WriteString(blank() + ",")
			}
			b.WriteString(blank() + document(dice, deep+1))
		}
		return b.String() + blank() + "]"
	}
	return pick("1", "-2.5e3", "true", "null", `""`, `"a"`, `"\\"`, `"\u00e9\ud83d\ude00"`, `"],{}"`, `"\""`)
}
