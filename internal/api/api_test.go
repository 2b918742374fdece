package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestArgumentsBothWays(t *testing.T) {
	// If this fails, what a queue was declared with comes back as something else, and tools see a drift.
	t.Parallel()
	text := `{"x-message-ttl":60000,"big":9223372036854775807,"neg":-1,"f":1.5,"whole":2.0,"huge":1e+300,` +
		`"s":"a<b>\u0001é","t":true,"n":null,"o":{"k":[1,"two",{}]},"e":[]}`
	var a Arguments
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	want := amqp.Table{
		{Name: "x-message-ttl", Value: amqp.Int64(60000)}, {Name: "big", Value: amqp.Int64(math.MaxInt64)},
		{Name: "neg", Value: amqp.Int64(-1)}, {Name: "f", Value: amqp.Float64(1.5)},
		{Name: "whole", Value: amqp.Float64(2)}, {Name: "huge", Value: amqp.Float64(1e300)},
		{Name: "s", Value: amqp.String("a<b>\x01é")}, {Name: "t", Value: amqp.Bool(true)}, {Name: "n", Value: amqp.Void()},
		{Name: "o", Value: amqp.TableValue(amqp.Table{{Name: "k", Value: amqp.Array(amqp.Int64(1), amqp.String("two"), amqp.TableValue(amqp.Table{}))}})},
		{Name: "e", Value: amqp.Array()},
	}
	if !amqp.Table(a).Equal(want) {
		t.Errorf("read\n%+v\nwant\n%+v", a, want)
	}
	if got, _ := Editable(a).MarshalJSON(); string(got) != text {
		t.Errorf("wrote\n%s\nwant\n%s", got, text)
	}
	shown := strings.Replace(text, `"n":null`, `"n":"undefined"`, 1)
	if got, _ := a.MarshalJSON(); string(got) != shown {
		t.Errorf("showed\n%s\nwant\n%s", got, shown)
	}
}

func TestArgumentsToJSON(t *testing.T) {
	// If this fails, an argument of a kind that JSON lacks makes an answer that no client can read.
	t.Parallel()
	for _, c := range []struct {
		v    amqp.Value
		want string
	}{
		{amqp.Value{Kind: amqp.KindUint8, Int: 255}, "255"},
		{amqp.Timestamp(math.MaxUint64), "18446744073709551615"},
		{amqp.Value{Kind: amqp.KindDecimal, Scale: 2, Int: 314}, "3.14"},
		{amqp.Float64(math.NaN()), "null"},
		{amqp.Float64(math.Inf(1)), "null"},
		{amqp.String("\xff\xfe"), `"//4="`},
		{amqp.Binary("ok"), `"ok"`},
		{amqp.Value{}, `"undefined"`},
		{amqp.Void(), `"undefined"`},
		{amqp.Array(amqp.Void()), `["undefined"]`},
		{amqp.TableValue(amqp.Table{{Name: "v"}}), `{"v":"undefined"}`},
	} {
		b, err := json.Marshal(Arguments{{Name: "k", Value: c.v}, {Name: "k", Value: amqp.Bool(false)}})
		if want := `{"k":` + c.want + `}`; err != nil || string(b) != want {
			t.Errorf("%+v: got %s, %v, want %s", c.v, b, err, want)
		}
	}
}

func TestArgumentsFromJSON(t *testing.T) {
	// If this fails, a body that is no table is taken, or a harmless one refused.
	t.Parallel()
	for text, want := range map[string]int{"{}": 0, "null": 0, "[]": 0, `{"a":1,"b":2,"a":3}`: 2} {
		var a Arguments
		if err := json.Unmarshal([]byte(text), &a); err != nil || len(a) != want {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"3":                                      "must be a JSON object",
		"[1]":                                    "must be a JSON object",
		`{"a":9223372036854775808}`:              "beyond a 64 bit integer",
		`{"a":1e999}`:                            "beyond a 64 bit float",
		`{"a":`:                                  "unexpected end",
		`{"` + strings.Repeat("k", 256) + `":1}`: "",
		strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000): "",
	} {
		var a Arguments
		if err := json.Unmarshal([]byte(text), &a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzArguments(f *testing.F) {
	// If this fails, a request body crashes the broker, or a table changes on its way out and in again.
	f.Add(`{"a":1,"b":[1.5,{"c":null}],"d":"\ud800"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var a, again Editable
		if json.Unmarshal([]byte(text), &a) != nil {
			return
		}
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &again); err != nil || !amqp.Table(a).Equal(amqp.Table(again)) {
			t.Errorf("%s became %s: %v", text, b, err)
		}
	})
}

func TestLenientTypes(t *testing.T) {
	// If this fails, the classic command line tool's strings for booleans, numbers and tags are refused.
	t.Parallel()
	var got struct {
		Yes, No, Unset Flag
		One, Two, Ten  Integer
		Line, Words    Tags
		Absent         *Tags
		Empty          *Tags
	}
	text := `{"Yes":"true","No":false,"Unset":null,"One":1,"Two":"2","Ten":10.0,"Line":" a, b,","Words":["c"],"Empty":""}`
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Yes || got.No || got.Unset || got.One != 1 || got.Two != 2 || got.Ten != 10 {
		t.Errorf("read %+v", got)
	}
	if !reflect.DeepEqual(got.Line, Tags{"a", "b"}) || !reflect.DeepEqual(got.Words, Tags{"c"}) || got.Absent != nil || got.Empty == nil || len(*got.Empty) != 0 {
		t.Errorf("tags are %+v", got)
	}
	for _, bad := range []string{`{"Yes":1}`, `{"Yes":"yes"}`, `{"One":1.5}`, `{"One":"x"}`, `{"One":1e300}`, `{"Line":3}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestNothingIsNull(t *testing.T) {
	// If this fails, clients that want {} or [] fail to decode an answer.
	t.Parallel()
	null := map[string]bool{ // what RabbitMQ shows as null when it is absent
		"policy": true, "operator_policy": true, "single_active_consumer_tag": true, "exclusive_consumer_tag": true,
		"head_message_timestamp": true, "ssl_protocol": true, "ssl_key_exchange": true, "ssl_cipher": true, "ssl_hash": true,
		"peer_cert_subject": true, "peer_cert_issuer": true, "peer_cert_validity": true,
	}
	for _, shape := range []any{
		Overview{}, Node{}, User{}, VHost{}, Queue{}, Exchange{}, Binding{}, Policy{}, Connection{}, Channel{}, Consumer{},
		WhoAmI{}, VHostLimits{}, UserLimits{}, Message{}, Page[Queue]{}, Listener{}, Context{}, ProtocolHealth{}, RetentionPolicies{},
	} {
		b, err := json.Marshal(shape)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatal(err)
		}
		for name, v := range fields {
			if string(v) == "null" && !null[name] {
				t.Errorf("%T: %s is null", shape, name)
			}
		}
	}
}

func TestMessageStats(t *testing.T) {
	// If this fails, counters vanish between broker and tools, or idle queues show statistics.
	t.Parallel()
	want := MessageStats{Publish: Counter{3, Rate{Rate: 1.5}}, DropUnroutable: Counter{1, Rate{}}}
	b, err := json.Marshal(want)
	if text := `{"publish":3,"publish_details":{"rate":1.5},"drop_unroutable":1,"drop_unroutable_details":{"rate":0}}`; err != nil || string(b) != text {
		t.Errorf("wrote %s, %v", b, err)
	}
	var got MessageStats
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
	if b, _ := json.Marshal(Queue{}); strings.Contains(string(b), "message_stats") {
		t.Errorf("an idle queue shows %s", b)
	}
	if err := json.Unmarshal([]byte(`{"ack":-1}`), &got); err == nil {
		t.Error("a negative counter was read")
	}
}

func TestPropertiesKey(t *testing.T) {
	// If this fails, tools cannot find again the binding they made.
	t.Parallel()
	args := amqp.Table{{Name: "a", Value: amqp.Int64(1)}, {Name: "b", Value: amqp.String("x")}}
	turned := amqp.Table{args[1], args[0]}
	for _, c := range []struct{ got, want string }{
		{PropertiesKey("", nil), "~"},
		{PropertiesKey("a.b", nil), "a.b"},
		{PropertiesKey("a/b ~#", nil), "a%2Fb%20%7E%23"},
		{PropertiesKey("", args), PropertiesKey("", turned)},
		{PropertiesKey("k", args), "k" + PropertiesKey("", args)},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if PropertiesKey("", args) == PropertiesKey("", args[:1]) || strings.ContainsAny(PropertiesKey("", args), "/%+=") {
		t.Errorf("digest %s", PropertiesKey("", args))
	}
}

func TestPath(t *testing.T) {
	// If this fails, objects with odd names are out of reach.
	t.Parallel()
	for want, segments := range map[string][]string{
		"/api/queues/%2F/a%20b%25+%3F": {"queues", "/", "a b%+?"},
		"/api/queues/v/%2E%2E":         {"queues", "v", ".."},
		"/api/bindings/v/e//q/q":       {"bindings", "v", "e", "", "q", "q"},
	} {
		if got := Path(segments...); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if u, err := url.Parse("http://h" + want); err != nil || u.EscapedPath() != want {
			t.Errorf("%s is sent as %s, %v", want, u.EscapedPath(), err)
		}
	}
}

// ask runs a client against one answer and returns what the server saw.
func ask(t *testing.T, status int, body string, use func(*Client)) (seen string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen = r.Method + " " + r.URL.EscapedPath() + " " + r.Header.Get("Authorization") + " " + string(b)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	defer s.Close()
	use(&Client{Base: s.URL + "/", User: "u", Password: "p", HTTP: s.Client()})
	return seen
}

func TestClient(t *testing.T) {
	// If this fails, the command line and tests cannot talk to the broker.
	t.Parallel()
	ctx := context.Background()
	const basic = "Basic dTpw"
	seen := ask(t, 201, "", func(c *Client) {
		if created, err := c.Put(ctx, PutLimit{}, "vhost-limits", "/", "max-queues"); err != nil || !created {
			t.Errorf("put: %v, %v", created, err)
		}
	})
	if want := "PUT /api/vhost-limits/%2F/max-queues " + basic + ` {"value":null}`; seen != want {
		t.Errorf("sent %s, want %s", seen, want)
	}
	seen = ask(t, 200, `{"now":90}`, func(c *Client) {
		c.Token = "secret"
		if now, err := c.AdvanceClock(ctx, 60); err != nil || now != 90 {
			t.Errorf("clock: %d, %v", now, err)
		}
	})
	if want := `POST /api/x/clock/advance Bearer secret {"ms":60}`; seen != want {
		t.Errorf("sent %s, want %s", seen, want)
	}
	seen = ask(t, 204, "", func(c *Client) {
		c.User, c.Password = "", ""
		if err := c.Delete(ctx, "users", "x"); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
	if want := "DELETE /api/users/x  "; seen != want {
		t.Errorf("sent %s, want %s", seen, want)
	}
}

func TestClientErrors(t *testing.T) {
	// If this fails, a user sees no reason, or a program cannot tell a refusal from a dead broker.
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		status int
		body   string
		want   Error
	}{
		{400, `{"error":"bad_request","reason":"no"}`, Error{Status: 400, Kind: "bad_request", Reason: "no"}},
		{503, `{"status":"failed","reason":"alarm"}`, Error{Status: 503, Kind: "Service Unavailable", Reason: "alarm"}},
		{502, "<html>\n", Error{Status: 502, Kind: "Bad Gateway", Reason: "<html>"}},
		{404, "", Error{Status: 404, Kind: "Not Found"}},
	} {
		ask(t, c.status, c.body, func(cl *Client) {
			var refused *Error
			c.want.Body = c.body
			if err := cl.Get(ctx, nil, "overview"); !errors.As(err, &refused) || *refused != c.want {
				t.Errorf("%s: got %v", c.body, err)
			}
		})
	}
	ask(t, 200, "{", func(c *Client) {
		if err := c.Get(ctx, &Clock{}, "overview"); err == nil || !strings.Contains(err.Error(), "GET /api/overview") {
			t.Errorf("half an answer: %v", err)
		}
	})
	s := httptest.NewServer(nil)
	s.Close()
	var unreachable *url.Error
	if err := (&Client{Base: s.URL}).Get(ctx, nil, "overview"); !errors.As(err, &unreachable) {
		t.Errorf("no broker: %v", err)
	}
}
