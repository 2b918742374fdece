package management

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// allocated is how many bytes fn allocates, freed or not.
func allocated(fn func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// filled is about so many bytes of one element after the other.
func filled(size int, element string) string {
	return strings.Repeat(element+",", size/(len(element)+1)) + element
}

// greedyValues are values in JSON of about so many bytes that take far more memory once they are decoded.
func greedyValues(size int) map[string]string {
	var keys strings.Builder
	for i := 0; keys.Len() < size; i++ {
		fmt.Fprintf(&keys, `"%d":0,`, i)
	}
	return map[string]string{
		"zeros":   "[" + filled(size, "0") + "]",
		"nulls":   "[" + filled(size, "null") + "]",
		"objects": "[" + filled(size, "{}") + "]",
		"lists":   "[" + filled(size, "[]") + "]",
		"deep":    strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"keys":    "{" + keys.String() + `"x":0}`,
		"string":  `"` + strings.Repeat("x", size) + `"`,
		"escapes": `"` + strings.Repeat(`\u0000`, size/6) + `"`,
	}
}

// greedyBodies are bodies that have such a value wherever some endpoint reads one.
func greedyBodies(size int) map[string]string {
	bodies := map[string]string{}
	for name, value := range greedyValues(size) {
		bodies[name+" in arguments"] = `{"type":"fanout","arguments":{"a":` + value + `}}`
		bodies[name+" in a definition"] = `{"pattern":"x","definition":{"queue-mode":` + value + `}}`
		bodies[name+" as value"] = `{"value":` + value + `}`
		bodies[name+" in headers"] = `{"properties":{"headers":{"a":` + value + `}},"routing_key":"none","payload":"","payload_encoding":"string"}`
		bodies[name+" as payload"] = `{"properties":{},"routing_key":"none","payload":` + value + `,"payload_encoding":"string"}`
		bodies[name+" as queues"] = `{"queues":` + value + `}`
		bodies[name+" as users"] = `{"users":` + value + `}`
		bodies[name+" as bindings"] = `{"bindings":[{"source":"a","arguments":` + value + `}]}`
		bodies[name+" as parameters"] = `{"parameters":[{"vhost":"/","component":"operator_policy","name":"x","value":` + value + `}]}`
		bodies[name+" as limits"] = `{"global_parameters":[{"name":"x","value":` + value + `}],"limits":` + value + `}`
		bodies[name+" as anything"] = `{"tags":` + value + `,"ids":` + value + `,"text":` + value + `,"description":` + value + `,"name":` + value + `}`
	}
	return bodies
}

func TestNoBodyTakesMuchMemory(t *testing.T) {
	// If this fails, a request of some bytes takes many times as much memory while it is decoded, or for as long as
	// what it makes is there: a few requests end the broker. It is not parallel: it counts what the process allocates.
	const size, most = 48 << 10, 1 << 20
	d := open(t)
	d.server.Memory.Each, d.server.Memory.Total = most, 2*most
	bodies := greedyBodies(size)
	everywhere := []string{"in arguments", "in a definition", "as value", "as anything"}
	for _, r := range d.server.endpoints() {
		if r.Method() == http.MethodGet || r.Method() == http.MethodDelete { // neither has a body that is read
			continue
		}
		path := "/api/" + strings.ReplaceAll(r.Route(), "*", "x")
		for _, vhost := range []string{"queues/x/", "exchanges/x/", "policies/x/", "operator-policies/x/", "bindings/x/", "parameters/x/x/", "definitions/x", "letters/x/"} {
			path = strings.Replace(path, vhost, strings.Replace(vhost, "x", "%2F", strings.Count(vhost, "x")), 1)
		}
		for name, body := range bodies {
			if _, where, _ := strings.Cut(name, " "); r.Body != web.LargeBody && !slices.Contains(everywhere, where) {
				continue
			}
			var w *httptest.ResponseRecorder
			took := allocated(func() { w = d.send(r.Method(), path, body) })
			if took > 5*most || w.Code >= http.StatusInternalServerError {
				t.Errorf("%s %s with %s: %d bytes of body take %d; answered %d %.100s", r.Method(), path, name, len(body), took, w.Code, w.Body)
			}
		}
	}
	if taken, _ := d.server.Memory.Usage(); taken != 0 {
		t.Errorf("%d bytes are counted when nothing is asked for", taken)
	}
	heap := int64(0)
	kept := allocated(func() { heap = int64(d.want(http.StatusOK, "GET", "/api/definitions", "").Body.Len()) })
	if heap > most {
		t.Errorf("%d bytes of definitions stay, made of what was refused or is bounded; to list them takes %d", heap, kept)
	}
}

func TestBodiesHaveTheBoundOfTheirRoute(t *testing.T) {
	// If this fails, a route takes bodies of any size, or refuses one without a word of how large it may be.
	t.Parallel()
	d := open(t)
	d.server.BodyBytesMax = 2 << 20
	for path, most := range map[string]int{
		"PUT /api/queues/%2F/q": web.SmallBytesMax, "PUT /api/policies/%2F/p": web.SmallBytesMax, "PUT /api/users/u": web.SmallBytesMax,
		"PUT /api/vhosts/v": web.SmallBytesMax, "PUT /api/global-parameters/g": web.SmallBytesMax, "PUT /api/x/notes/%2F/reason/rejected": web.SmallBytesMax,
		"POST /api/x/redrives/%2F": web.SmallBytesMax, "POST /api/bindings/%2F/e/amq.direct/e/amq.fanout": web.BindingBytesMax,
		"POST /api/definitions": 2 << 20, "POST /api/definitions/%2F": 2 << 20, "POST /api/exchanges/%2F/amq.direct/publish": 2 << 20,
	} {
		method, path, _ := strings.Cut(path, " ")
		d.refused(http.StatusBadRequest, "bad_request", fmt.Sprintf("Exceeded HTTP request body size limit: %d bytes here", most),
			method, path, `{"`+strings.Repeat("x", most)+`":1}`)
		if w := d.send(method, path, `{"`+strings.Repeat("x", most-20)+`":1}`); strings.Contains(w.Body.String(), "Exceeded") {
			t.Errorf("%s: a body within the bound is refused: %s", path, w.Body)
		}
	}
}

func TestBodyOfNoLengthHasTheSameBound(t *testing.T) {
	// If this fails, a body that does not say how long it is goes on for ever.
	t.Parallel()
	d := open(t)
	r := httptest.NewRequest("PUT", "/api/queues/%2F/q", endless{})
	r.ContentLength = -1
	r.RemoteAddr = d.from
	r.SetBasicAuth("guest", "guest")
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Exceeded HTTP request body size limit") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// endless is a body of blanks.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte(" "), len(b))), nil }

func TestUploadHasTheBoundOfDefinitions(t *testing.T) {
	// If this fails, a form takes more than the same definitions would as they are.
	t.Parallel()
	d := open(t)
	d.server.BodyBytesMax = 1 << 20
	upload := func(parts map[string]string) *httptest.ResponseRecorder {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for _, name := range []string{"other", "file"} {
			if text, there := parts[name]; there {
				part, err := form.CreateFormFile(name, "definitions.json")
				if err != nil {
					t.Fatal(err)
				}
				_, _ = part.Write([]byte(text))
			}
		}
		_ = form.Close()
		return d.send("POST", "/api/definitions", body.String(), "Content-Type", form.FormDataContentType())
	}
	if w := upload(map[string]string{"other": "x", "file": `{"vhosts":[{"name":"uploaded"}]}`}); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	d.want(http.StatusOK, "GET", "/api/vhosts/uploaded", "")
	for name, parts := range map[string]map[string]string{
		"file too large":  {"file": `{"x":"` + strings.Repeat("x", 1<<20) + `"}`},
		"other too large": {"other": strings.Repeat("x", 1<<20), "file": "{}"},
		"no file":         {"other": "{}"},
	} {
		if w := upload(parts); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "reason") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestArgumentsHaveAMQPsBounds(t *testing.T) {
	// If this fails, HTTP puts what AMQP could not carry: every list of queues shows it from then on, and it is there
	// after a restart.
	t.Parallel()
	d := open(t)
	for what, value := range map[string]string{
		"bytes":  `"` + strings.Repeat("x", 128<<10) + `"`,
		"values": "[" + filled(2*4096, "0") + "]",
		"deeper": strings.Repeat("[", 40) + strings.Repeat("]", 40),
	} {
		reason := "the maximum is"
		if what == "deeper" {
			reason = "nested deeper than 32"
		}
		d.refused(http.StatusBadRequest, "bad_request", reason, "PUT", "/api/queues/%2F/q", `{"arguments":{"a":`+value+`}}`)
		d.refused(http.StatusBadRequest, "bad_request", reason, "PUT", "/api/exchanges/%2F/e", `{"type":"fanout","arguments":{"a":`+value+`}}`)
		d.refused(http.StatusBadRequest, "bad_request", reason, "PUT", "/api/policies/%2F/p", `{"pattern":"x","definition":{"queue-mode":`+value+`}}`)
		d.refused(http.StatusBadRequest, "bad_request", reason, "POST", "/api/definitions", `{"queues":[{"name":"q","vhost":"/","durable":true,"arguments":{"a":`+value+`}}]}`)
		d.refused(http.StatusBadRequest, "bad_request", reason, "POST", "/api/definitions/%2F", `{"exchanges":[{"name":"e","type":"fanout","durable":true,"arguments":{"a":`+value+`}}]}`)
	}
	if all := read[[]api.Queue](d, "/api/queues"); len(all) != 0 {
		t.Errorf("%d queues are there", len(all))
	}
}

func TestLargeBodiesWaitForTheEndOfAMemoryAlarm(t *testing.T) {
	// If this fails, somebody who may declare queues goes on filling the memory when there is too little of it.
	t.Parallel()
	d := open(t)
	queue := func(size int) string { return `{"arguments":{"x":"` + strings.Repeat("x", size) + `"}}` }
	d.want(201, "PUT", "/api/queues/%2F/before", queue(64<<10))
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"absolute":50000}}`)
	d.refused(503, "service_unavailable", "memory alarm: request bodies", "PUT", "/api/queues/%2F/large", queue(web.AlarmBodyBytes))
	d.refused(503, "service_unavailable", "memory alarm: request bodies", "POST", "/api/definitions", `{"queues":[],"x":"`+strings.Repeat("x", web.AlarmBodyBytes)+`"}`)
	d.want(201, "PUT", "/api/queues/%2F/small", queue(1000))
	order := `{"source":{"queue":"before"},"ids":[` + filled(2*web.AlarmBodyBytes, `"1"`) + `]}`
	if w := d.send("POST", "/api/x/redrives/%2F", order); w.Code >= 500 {
		t.Errorf("what takes messages away is refused: %d %s", w.Code, w.Body)
	}
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"relative":0.6}}`)
	d.want(201, "PUT", "/api/queues/%2F/large", queue(web.AlarmBodyBytes))
}

func TestReasonsAreShort(t *testing.T) {
	// If this fails, a refusal sends back all that it refuses.
	t.Parallel()
	d := open(t)
	key := strings.Repeat("x", 1<<19)
	w := d.want(http.StatusBadRequest, "PUT", "/api/queues/%2F/q", `{"arguments":{"`+key+`":1,"`+key+`":2}}`)
	if w.Body.Len() > 2*web.ReasonBytesMax {
		t.Errorf("%d bytes of reason", w.Body.Len())
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	// If this fails, an expression of a kilobyte takes tens of megabytes, or a list of names takes minutes; for the
	// metrics, of anybody who asks. It is not parallel: it counts what the process allocates.
	d := open(t)
	large := strings.Repeat("(a%7Cb)%7B999%7D", 60)
	plain := strings.NewReplacer("%7C", "|", "%7B", "{", "%7D", "}").Replace(large)
	for request, body := range map[string]string{
		"GET /api/queues?page=1&use_regex=true&name=" + large:                                     "",
		"GET /api/health/checks/quorum-queues-without-elected-leaders/vhost/%2F/pattern/" + large: "",
		"GET /metrics/detailed?family=queue_coarse_metrics&queue=" + large:                        "",
		"PUT /api/policies/%2F/p":              `{"pattern":"` + plain + `","definition":{"max-length":1}}`,
		"PUT /api/permissions/%2F/guest":       `{"configure":"` + plain + `","write":"","read":""}`,
		"PUT /api/topic-permissions/%2F/guest": `{"exchange":"amq.topic","write":"` + plain + `","read":""}`,
	} {
		method, path, _ := strings.Cut(request, " ")
		var w *httptest.ResponseRecorder
		if took := allocated(func() { w = d.send(method, path, body) }); took > 4<<20 || w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "has too many repetitions") {
			t.Errorf("%.60s takes %d bytes: %d %s", request, took, w.Code, w.Body)
		}
	}
}

func TestAnswersHaveABound(t *testing.T) {
	// If this fails, one list of queues with large arguments takes as much memory as all that the broker keeps.
	t.Parallel()
	d := open(t)
	for i := range 6 {
		d.want(201, "PUT", fmt.Sprint("/api/queues/%2F/q", i), `{"arguments":{"x":"`+strings.Repeat("x", 120<<10)+`"}}`)
	}
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"absolute":1000000}}`)
	d.server.Memory.Each = 300 << 10
	d.want(200, "GET", "/api/queues?page=1&page_size=2", "")
	d.refused(503, "service_unavailable", "more than 333333 bytes of memory: request pages", "GET", "/api/queues?page=1", "")
	d.server.Memory.Each = 4 << 20
	d.want(200, "GET", "/api/queues?page=1", "")
	d.server.Memory.Each = 300 << 10
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"absolute":"50k"}}`)
	d.refused(503, "service_unavailable", "more than 307200 bytes of memory", "GET", "/api/queues?page=1", "")
	for _, path := range []string{"/api/queues", "/api/queues?sort=name", "/api/definitions"} { // sent while they are made
		d.want(200, "GET", path, "")
	}
}

func TestAnswersCountForTheMemoryBudget(t *testing.T) {
	// If this fails, clients that ask for large lists and read none of them fill the memory.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"arguments":{"x":"`+strings.Repeat("x", 120<<10)+`"}}`)
	d.server.Memory.Total, d.server.Memory.Each, d.server.Memory.Patience = 150<<10, 150<<10, time.Nanosecond
	other := web.Account{Budget: &d.server.Memory, User: "guest"}
	if err := other.Take(t.Context(), 100<<10); err != nil { // as an answer that nobody reads does
		t.Fatal(err)
	}
	for _, path := range []string{"/api/queues", "/api/queues/%2F/q", "/api/definitions", "/api/queues?sort=name", "/api/queues?page=1"} {
		d.refused(503, "service_unavailable", "all memory", "GET", path, "")
	}
	other.End()
	for _, path := range []string{"/api/queues", "/api/queues/%2F/q", "/api/definitions", "/api/queues?sort=name", "/api/queues?page=1"} {
		d.want(200, "GET", path, "")
	}
	if taken, refused := d.server.Memory.Usage(); taken != 0 || refused != 5 {
		t.Errorf("%d bytes are counted when nothing is asked for, %d were refused", taken, refused)
	}
}
