package management

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// The fuzz targets of bodies and queries. Each input meets a broker of its own, so that it fails alone as it failed in
// the crowd.

// A body of so many bytes may take memoryOfByte times as many while it is served, and memoryOfRequest whatever its
// length: the broker beside it allocates, too.
const memoryOfByte, memoryOfRequest = 600, 8 << 20

// try sends a request that a fuzzer made, and makes sure that it is served, or refused in words, and takes a bounded
// memory.
func (d *door) try(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	d.t.Helper()
	var w *httptest.ResponseRecorder
	took := allocated(func() { w = d.send(method, path, body, headers...) })
	if most := int64(memoryOfByte*(len(body)+len(path)) + memoryOfRequest); took > most {
		d.t.Errorf("%s %s: %d bytes of body take %d bytes of memory", method, path, len(body), took)
	}
	var refused api.Error
	switch {
	case w.Code >= http.StatusInternalServerError:
		d.t.Fatalf("%s %s %q: %d %s", method, path, body, w.Code, w.Body)
	case w.Code == http.StatusBadRequest && (json.Unmarshal(w.Body.Bytes(), &refused) != nil || refused.Reason == ""):
		d.t.Errorf("%s %s %q is refused without a word: %s", method, path, body, w.Body)
	case w.Body.Len() > 0 && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()):
		d.t.Errorf("%s %s %q is answered with what is no JSON: %s", method, path, body, w.Body)
	}
	return w
}

// fuzzed is a broker with some objects, in which a fuzzer's request is tried.
func fuzzed(t *testing.T) *door {
	d := openWith(t, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
	d.want(http.StatusCreated, "PUT", "/api/exchanges/%2F/x", `{"type":"headers"}`)
	d.queueWith("dead", "")
	d.queueWith("old", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.publish("amq.default", "old", "m")
	return d
}

// fuzzBodies fuzzes the bodies of one request. What it makes is listed, and taken away where undo says how.
func fuzzBodies(f *testing.F, method, path string, undo string, seeds ...string) {
	f.Helper()
	for _, s := range append(seeds, "", "{}", "null", "[]", `{"a":1,"a":2}`, `{"arguments":{"a":[[[[{}]]]]}}`) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		// If it fails, a body makes the broker panic or answer 500, is refused without a word, or takes memory without
		// bound.
		d := fuzzed(t)
		w := d.try(method, path, body)
		if w.Code < http.StatusMultipleChoices {
			d.try("GET", "/api/definitions", "")
			if undo != "" {
				d.want(http.StatusNoContent, "DELETE", undo, "")
			}
		}
	})
}

func FuzzDefinitions(f *testing.F) {
	for _, file := range []string{"bartleby-definitions.json", "rabbitmq-3.10-definitions.json", "rabbitmq-4.0-definitions.json", "rabbitmqctl-3.10-definitions.json"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range []string{
		`{"queues":[{}]}`, `{"queues":[{"name":"q","vhost":"/","durable":true,"arguments":{"x-message-ttl":1}}]}`, `{"queues":{}}`,
		`{"parameters":[{"vhost":"/","component":"vhost-limits","name":"limits","value":{"max-queues":1}}]}`,
		`{"users":[{"name":"u","password_hash":"","tags":["a"],"limits":{"max-channels":1}}],"permissions":[{"user":"u","vhost":"/","configure":"(","write":"","read":""}]}`,
		`{"global_parameters":[{"name":"g","value":[null]}],"policies":[{"vhost":"/","name":"p","pattern":".","definition":[["max-length",1]],"priority":1e3}]}`,
		`{"bindings":[{"source":"x","vhost":"/","destination":"old","destination_type":"queue","routing_key":"","arguments":{"x-match":1}}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		// If it fails, definitions make the broker panic or answer 500; or what it exports it does not take.
		d := fuzzed(t)
		for _, path := range []string{"/api/definitions", "/api/definitions/%2F"} {
			if w := d.try("POST", path, body); w.Code == http.StatusNoContent {
				exported := d.try("GET", path, "").Body.String()
				if again := d.send("POST", path, exported); again.Code != http.StatusNoContent {
					t.Errorf("%s does not take what it exports: %d %s: %s", path, again.Code, again.Body, exported)
				}
			}
		}
	})
}

func FuzzPutQueue(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/queues/%2F/q", "/api/queues/%2F/q",
		`{"durable":"true","auto_delete":false,"arguments":{"x-max-length":5,"x-overflow":"reject-publish"},"node":"rabbit@test"}`,
		`{"durable":true,"arguments":{"x-queue-type":"quorum","x-delivery-limit":3}}`, `{"arguments":[["x-expires",1000]]}`)
}

func FuzzPutNamedQueue(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/x/queues/%2F/q", "/api/queues/%2F/q", `{"durable":true,"maxLength":5}`, `{"arguments":{"x":null}}`)
}

func FuzzPutExchange(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/exchanges/%2F/e", "/api/exchanges/%2F/e", `{"type":"topic","durable":true,"internal":true,"arguments":{"alternate-exchange":"x"}}`,
		`{"type":"x-delayed-message","arguments":{"x-delayed-type":"direct"}}`, `{"type":"x-recent-history","arguments":{"x-recent-history-length":9}}`,
		`{"type":"x-consistent-hash","arguments":{"hash-header":"h"}}`)
}

func FuzzPostBinding(f *testing.F) {
	fuzzBodies(f, "POST", "/api/bindings/%2F/e/x/q/old", "", `{"routing_key":"k","arguments":{"x-match":"any","a":1}}`, `{"routing_key":"\u0000"}`)
}

func FuzzPutPolicy(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/policies/%2F/p", "/api/policies/%2F/p", `{"pattern":"^old$","apply-to":"queues","priority":"3","definition":{"max-length":1,"overflow":"drop-head"}}`,
		`{"pattern":"(?=x)","definition":{}}`, `{"pattern":"","definition":[["message-ttl",5]]}`)
}

func FuzzPutOperatorPolicy(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/operator-policies/%2F/p", "/api/operator-policies/%2F/p", `{"pattern":".","definition":{"max-length-bytes":1}}`)
}

func FuzzTryPolicy(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/x/dry-run/policies/%2F/p", "", `{"pattern":".","definition":{"dead-letter-exchange":"none"}}`)
}

func FuzzPutOperatorParameter(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/parameters/operator_policy/%2F/p", "/api/parameters/operator_policy/%2F/p",
		`{"component":"operator_policy","vhost":"/","name":"p","value":{"pattern":".","definition":{"expires":1000}}}`)
}

func FuzzPutLimitsParameter(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/parameters/vhost-limits/%2F/limits", "", `{"value":{"max-queues":5}}`, `{"value":[["max-queues",5]]}`, `{"value":{"max-queues":-1e9}}`)
}

func FuzzPutOptions(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/x/options/%2F", "", `{"strict-names":true,"dialect":"rabbitmq"}`, `{"lost-letters-max-bytes":null}`)
}

func FuzzPutGlobalParameter(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/global-parameters/g", "/api/global-parameters/g", `{"name":"g","value":{"a":[1,null,{"b":"\ud83d\ude00"}]}}`, `{"value":"x"}`)
}

func FuzzPutUser(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/users/u", "/api/users/u", `{"password":"p","tags":"a, b"}`, `{"password_hash":"AAAA","hashing_algorithm":"rabbit_password_hashing_md5","tags":["x"]}`)
}

func FuzzBulkDelete(f *testing.F) {
	fuzzBodies(f, "POST", "/api/users/bulk-delete", "", `{"users":["a","b"]}`)
}

func FuzzPutVHost(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/vhosts/v", "", `{"description":"d","tags":"a,b","default_queue_type":"quorum","tracing":true,"protected_from_deletion":"true"}`)
}

func FuzzPutPermission(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/permissions/%2F/guest", "", `{"configure":"^(a|b)$","write":".*","read":".*"}`)
}

func FuzzPutTopicPermission(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/topic-permissions/%2F/guest", "", `{"exchange":"amq.topic","write":"^{username}$","read":".*"}`)
}

func FuzzPublish(f *testing.F) {
	fuzzBodies(f, "POST", "/api/exchanges/%2F/amq.default/publish", "",
		`{"properties":{"delivery_mode":2,"headers":{"a":[1,{"b":null}],"CC":["old"]},"timestamp":"5","priority":1},"routing_key":"old","payload":"eA==","payload_encoding":"base64"}`,
		`{"properties":[],"routing_key":"dead","payload":"x","payload_encoding":"string"}`, `{"properties":{"expiration":"0","user_id":"guest"},"routing_key":"old","payload":"","payload_encoding":"string"}`)
}

func FuzzGet(f *testing.F) {
	fuzzBodies(f, "POST", "/api/queues/%2F/old/get", "", `{"count":"2","ackmode":"reject_requeue_false","encoding":"auto","truncate":1}`, `{"count":1e3,"ackmode":"ack_requeue_true","encoding":"base64"}`)
}

func FuzzRedrive(f *testing.F) {
	fuzzBodies(f, "POST", "/api/x/redrives/%2F", "",
		`{"source":{"queue":"dead"},"filter":"reason:rejected","max":5,"target":{"to":"elsewhere","exchange":"x","routing_key":"k"},"options":{"rate":1,"order":"newest","canary":1,"ramp":true}}`,
		`{"source":{"queue":"dead"},"ids":[1,"2"],"action":"discard","dry_run":true}`, `{"source":{"lost":true},"target":{"to":"on"}}`)
}

func FuzzNote(f *testing.F) {
	fuzzBodies(f, "PUT", "/api/x/notes/%2F/reason/rejected", "", `{"text":"x"}`, `{"text":""}`)
}

func FuzzRepublish(f *testing.F) {
	fuzzBodies(f, "POST", "/api/x/lost-letters/%2F/republish", "", `{"ids":[1,2]}`, `{"all":true,"cause":"no_route","exchange":"x","routing_key":"k"}`)
}

func FuzzResend(f *testing.F) {
	fuzzBodies(f, "POST", "/api/x/queues/%2F/old/messages/1/resend", "", `{"exchange":"x","properties":{"headers":{"a":1}},"payload":"y","keep":true}`, `{"dry_run":true}`)
}

func FuzzPutScheduled(f *testing.F) {
	for _, s := range []string{
		`{"at":"2030-01-01T00:00:00Z","routing_key":"old","payload":"x"}`, `{"delay_ms":1000,"properties":{"headers":{"a":1}},"payload":"x","routing_key":"k"}`, `{}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		// If it fails, a message that is put on a schedule, or moved there, makes the broker panic or answer 500.
		d := fuzzed(t)
		d.want(http.StatusCreated, "PUT", "/api/exchanges/%2F/later", `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"direct"}}`)
		d.try("PUT", "/api/x/scheduled/%2F/later/key/k", body)
		d.try("PATCH", "/api/x/scheduled/%2F/later/key/k", body)
		d.try("POST", "/api/x/scheduled/%2F/later/reschedule", body)
		d.try("POST", "/api/x/scheduled/%2F/later/cancel", body)
		d.try("POST", "/api/x/scheduled/%2F/later/fire", body)
		d.try("POST", "/api/x/waiting/%2F/old/retry", body)
		d.try("POST", "/api/x/waiting/%2F/old/reschedule", body)
		d.try("POST", "/api/x/waiting/%2F/old/cancel", body)
	})
}

func FuzzImportDeadLetters(f *testing.F) {
	fuzzBodies(f, "POST", "/api/x/letters/%2F/import?queue=dead", "", `{"payload":"x","properties":{"headers":{"a":1}}}`+"\n"+`{"payload":"eA==","payload_encoding":"base64","properties_raw":"AAA="}`,
		`{"id":"5","vhost":"/","deaths":[{"queue":"old","reason":"rejected","routing_keys":["k"]}],"payload":""}`)
}

func FuzzNodeSettings(f *testing.F) {
	f.Add(`{"vm_memory_high_watermark":{"relative":0.5},"disk_free_limit":{"absolute":"1GB"}}`)
	f.Add(`{"level":"debug","category":"queue"}`)
	f.Add(`{"name":"n","value":1,"user":"guest","action":"sync"}`)
	f.Fuzz(func(t *testing.T, body string) {
		// If it fails, a setting of the node makes the broker panic or answer 500.
		d := fuzzed(t)
		for _, path := range []string{
			"PUT /api/x/resource-limits", "PUT /api/x/log-level", "PUT /api/cluster-name", "PUT /api/vhost-limits/%2F/max-queues", "PUT /api/user-limits/guest/max-channels",
			"POST /api/queues/%2F/old/actions", "POST /api/queues/quorum/%2F/old/replicas/add", "PATCH /api/x/redrives/%2F/1", "POST /api/x/clock/advance",
		} {
			method, path, _ := strings.Cut(path, " ")
			if w := d.send(method, path, body); w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "reason") {
				t.Errorf("%s %s %q: %d %s", method, path, body, w.Code, w.Body)
			}
		}
	})
}

func FuzzLogin(f *testing.F) {
	f.Add("username=guest&password=guest", "Basic Z3Vlc3Q6Z3Vlc3Q=", "bartleby_session=x")
	f.Add("username=%00&password=", "Bearer x", "")
	f.Fuzz(func(t *testing.T, form, authorization, cookie string) {
		// If it fails, what a stranger sends makes the broker panic or answer 500.
		d := openWith(t, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
		d.user = ""
		for _, path := range []string{"/api/login", "/api/x/session"} {
			d.try("POST", path, form, "Content-Type", "application/x-www-form-urlencoded")
		}
		d.try("GET", "/api/whoami", "", "Authorization", authorization, "Cookie", cookie)
	})
}

func FuzzQueries(f *testing.F) {
	f.Add("reason:rejected header.tenant:acme", "header:tenant", "name,message_stats.publish", "(a|b)*")
	f.Add("-state:lost age>5m size<3kb", "exception", "messages", "")
	f.Fuzz(func(t *testing.T, filter, by, columns, name string) {
		// If it fails, a filter, a grouping, a column or a name that a list is asked for makes the broker panic or
		// answer 500.
		d := fuzzed(t)
		d.reject("old", 1)
		q := func(path string, pairs ...string) {
			v := url.Values{}
			for i := 0; i < len(pairs); i += 2 {
				v.Set(pairs[i], pairs[i+1])
			}
			d.try("GET", path+"?"+v.Encode(), "")
		}
		q("/api/x/letters/%2F", "filter", filter, "limit", by, "after", name)
		q("/api/x/letters/%2F/groups", "filter", filter, "by", by)
		q("/api/x/letters/%2F/export", "filter", filter, "queue", "dead")
		q("/api/x/queues/%2F/dead/messages", "filter", filter, "order", by)
		q("/api/queues", "columns", columns, "sort", by, "page", "1", "name", name, "use_regex", "true")
		q("/api/queues/%2F/dead", "columns", columns, "lengths_age", by, "lengths_incr", name)
		q("/api/definitions/%2F", "columns", columns)
		q("/api/x/topology/%2F", "root", name, "depth", by)
		q("/api/x/audit", "after", by, "user", name)
		q("/api/x/scheduled", "filter", filter)
	})
}
