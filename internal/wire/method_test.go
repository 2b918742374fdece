package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// everyMethod returns each method there is, with arguments that all differ from zero.
func everyMethod(t testing.TB) []Method {
	t.Helper()
	var all []Method
	for class := range MethodID(100) {
		for method := range MethodID(200) {
			m := newMethod(class<<16 | method)
			if m == nil {
				continue
			}
			fill(reflect.ValueOf(m).Elem())
			all = append(all, m)
		}
	}
	const methods = 66 // of the protocol description and our additions
	if len(all) != methods {
		t.Fatalf("%d methods, want %d", len(all), methods)
	}
	return all
}

func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString(fmt.Sprintf("naïve %d", i))
		case reflect.Slice:
			f.Set(reflect.ValueOf(amqp.Table{{Name: "a", Value: amqp.Array(amqp.Int64(int64(i)))}}))
		default:
			f.SetUint(uint64(200 + i))
		}
		if f := v.Field(i); f.IsZero() {
			panic("field left zero")
		}
	}
}

func payload(m Method) []byte {
	b := AppendMethod(nil, 1, m)
	return b[frameHeaderSize : len(b)-1]
}

func TestEveryMethodRoundTrips(t *testing.T) {
	t.Parallel() // If it fails, arguments are lost, mixed up, or read past the end of a method.
	for _, m := range everyMethod(t) {
		t.Run(m.ID().String(), func(t *testing.T) {
			t.Parallel()
			whole := payload(m)
			got, err := ParseMethod(whole)
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Fatalf("decoded %+v, %v, want %+v", got, err, m)
			}
			zero := newMethod(m.ID())
			got, err = ParseMethod(payload(zero))
			if err != nil || !reflect.DeepEqual(got, zero) {
				t.Errorf("decoded %+v, %v, want %+v", got, err, zero)
			}
			for i := 4; i < len(whole); i++ {
				_, err := ParseMethod(whole[:i])
				wantBlame(t, err, amqp.CodeSyntaxError, m.ID())
			}
			_, err = ParseMethod(append(whole, 0))
			wantBlame(t, err, amqp.CodeSyntaxError, m.ID())
		})
	}
}

func TestMethodRefusals(t *testing.T) {
	t.Parallel() // If it fails, malformed methods are taken for others, or answered with the wrong code.
	for i := range 4 {
		_, err := ParseMethod([]byte("\x00\x3c\x00\x28")[:i])
		wantBlame(t, err, amqp.CodeFrameError, 0)
	}
	_, err := ParseMethod([]byte("\x00\x3c\x00\x29"))
	wantBlame(t, err, amqp.CodeCommandInvalid, 60<<16|41)
	_, err = ParseMethod(payload(&QueueDeclare{Queue: "\xff"}))
	wantBlame(t, err, amqp.CodeFrameError, IDQueueDeclare)
	wantRefusal(t, err, amqp.CodeFrameError, "FRAME_ERROR - Malformed UTF-8 in shortstr")
	_, err = ParseMethod([]byte("\x00\x0a\x00\x15\xff\xff\xff\xffx"))
	wantBlame(t, err, amqp.CodeSyntaxError, IDConnectionSecureOk)
}

func TestMethodID(t *testing.T) {
	t.Parallel() // If it fails, the door waits for content that does not come, or takes content for a method.
	content := map[MethodID]bool{IDBasicPublish: true, IDBasicReturn: true, IDBasicDeliver: true, IDBasicGetOk: true}
	for _, m := range everyMethod(t) {
		id := m.ID()
		if id.HasContent() != content[id] {
			t.Errorf("%v: has content %v", id, id.HasContent())
		}
		name := strings.ReplaceAll(strings.ReplaceAll(id.String(), "-", ""), ".", "")
		if typeName := reflect.TypeOf(m).Elem().Name(); !strings.EqualFold(name, typeName) {
			t.Errorf("%v is decoded as %s", id, typeName)
		}
	}
	if id := MethodID(60<<16 | 40); id != IDBasicPublish || id.Class() != ClassBasic || id.Method() != 40 {
		t.Errorf("%v: class %d, method %d", id, id.Class(), id.Method())
	}
	if got := MethodID(7<<16 | 8).String(); got != "7.8" {
		t.Errorf("unknown method is called %q", got)
	}
}

func TestReader(t *testing.T) {
	t.Parallel() // If it fails, bits of one argument list leak into another, or errors go unnoticed.
	r := NewReader([]byte{0b01, 0xAA, 0b10, 0x55, 0xFF, 0b1})
	if a, b, c := r.Bit(), r.Bit(), r.Bit(); !a || b || c {
		t.Errorf("bits %v %v %v", a, b, c)
	}
	if o := r.Uint8(); o != 0xAA {
		t.Errorf("octet %x", o)
	}
	if a, b := r.Bit(), r.Bit(); a || !b {
		t.Errorf("bits %v %v", a, b)
	}
	r.Uint8()
	for range 8 {
		if !r.Bit() {
			t.Error("bit of the octet ff is 0")
		}
	}
	if !r.Bit() || r.Err() != nil || r.End() != nil {
		t.Errorf("ninth bit in a row; %v", r.Err())
	}
	if r.Uint64() != 0 || r.Err() == nil || r.End() == nil || len(r.ShortBytes()) != 0 || r.LongStr() != "" || r.Table() != nil {
		t.Error("an empty reader yields values")
	}
}

func wantBlame(t *testing.T, err error, code uint16, id MethodID) {
	t.Helper()
	refusal, ok := errors.AsType[*amqp.Error](err)
	if !ok || refusal.Code != code || refusal.ClassID != id.Class() || refusal.MethodID != id.Method() {
		t.Errorf("error %+v, want %d for %v", err, code, id)
	}
}
