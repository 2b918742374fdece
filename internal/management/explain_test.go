package management

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestExplain(t *testing.T) {
	// If this fails, explain_queue tells something else than what a queue runs with, or tells it to anybody.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true,"arguments":{"x-message-ttl":9,"x-dead-letter-exchange":"nope","x-ttl":1}}`)
	d.want(201, "PUT", "/api/policies/%2F/p", `{"pattern":"q","definition":{"message-ttl":5,"max-length":7,"queue-mode":"lazy"},"priority":2,"apply-to":"queues"}`)
	d.want(201, "PUT", "/api/policies/%2F/x", `{"pattern":"amq","definition":{"alternate-exchange":"amq.fanout"},"apply-to":"exchanges"}`)
	d.want(201, "PUT", "/api/operator-policies/%2F/o", `{"pattern":"","definition":{"max-length":3},"apply-to":"queues"}`)
	e := read[api.Explanation](d, "/api/x/explain/queues/%2F/q")
	told := map[string]string{}
	for _, s := range e.Settings {
		told[s.Name] = strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Value, s.Source, s.From))
	}
	for name, want := range map[string]string{
		"message-ttl": "5 policy p", "max-length": "3 operator policy o", "dead-letter-exchange": `"nope" argument`, "expires": "null default",
		"overflow": `"drop-head" default`, "single-active-consumer": "false default",
	} {
		if told[name] != want {
			t.Errorf("%s: %s, want %s", name, told[name], want)
		}
	}
	if e.Kind != "queue" || e.Type != "classic" || len(e.Policies) != 3 || !e.Policies[0].InForce || e.Policies[0].Name != "p" || !e.Policies[1].Operator ||
		e.Policies[2].Matches || len(e.Ignored) != 2 || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "exchange 'nope' does not exist: dead letters of the queue become lost") {
		t.Errorf("%+v", e)
	}
	d.want(201, "PUT", "/api/queues/%2F/holds", `{"durable":true,"arguments":{"x-dead-letter-exchange":"nope","x-dead-letter-strategy":"at-least-once"}}`)
	if e = read[api.Explanation](d, "/api/x/explain/queues/%2F/holds"); len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "are held in their queue") {
		t.Errorf("of a queue that holds its dead letters: %v", e.Warnings)
	}
	e = read[api.Explanation](d, "/api/x/explain/exchanges/%2F/amq.topic")
	if len(e.Settings) != 1 || e.Settings[0].From != "x" || e.Type != "topic" || e.Kind != "exchange" {
		t.Errorf("%+v", e)
	}
	if e = read[api.Explanation](d, "/api/x/explain/exchanges/%2F/amq.default"); e.Settings[0].Source != "default" {
		t.Errorf("%+v", e)
	}
	for _, missing := range []string{"queues/%2F/nope", "queues/nope/q", "exchanges/%2F/nope"} {
		d.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/explain/"+missing, "")
	}
	d.want(201, "PUT", "/api/users/m", `{"password":"m","tags":"management"}`)
	d.as("m:m").want(404, "GET", "/api/x/explain/queues/%2F/q", "")
	d.want(201, "PUT", "/api/permissions/%2F/m", `{"configure":"","write":"","read":""}`)
	d.as("m:m").want(200, "GET", "/api/x/explain/queues/%2F/q", "")
	d.as("m:m").refused(401, "not_authorised", "Not policymaker", "PUT", "/api/x/dry-run/policies/%2F/p", `{}`)
}

func TestDryRun(t *testing.T) {
	// If this fails, a dry run tells something else than what the policy does, or does it.
	t.Parallel()
	d := open(t)
	for _, name := range []string{"a", "ab", "dead"} {
		d.want(201, "PUT", "/api/queues/%2F/"+name, `{"durable":true}`)
	}
	d.want(201, "PUT", "/api/exchanges/%2F/dlx", `{"type":"fanout","durable":true}`)
	d.want(201, "POST", "/api/bindings/%2F/e/dlx/q/dead", `{}`)
	for range 3 {
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"properties":{},"routing_key":"a","payload":"x","payload_encoding":"string"}`)
	}
	const policy = `{"pattern":".","definition":{"max-length":1,"dead-letter-exchange":"dlx"},"apply-to":"queues"}`
	trial := func(method, path, body string) (r api.PolicyTrial, names []string) {
		t.Helper()
		w := d.want(200, method, "/api/x/dry-run/"+path, body)
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Matches {
			names = append(names, m.Name)
		}
		return r, names
	}
	r, names := trial("PUT", "policies/%2F/p", policy)
	if r.Matched != 3 || r.Changed != 3 || !slices.Equal(names, []string{"a", "ab", "dead"}) || r.Matches[0].Drops != 2 || !r.Matches[0].DeadLetters || r.Matches[0].PolicyAfter != "p" {
		t.Errorf("%+v", r)
	}
	if c := r.Matches[0].Changes; len(c) != 2 || c[0].Name != "dead-letter-exchange" || string(c[0].Before) != "null" || string(c[0].After) != `"dlx"` {
		t.Errorf("%+v", c)
	}
	if w := strings.Join(r.Warnings, "\n"); len(r.Warnings) != 2 || !strings.Contains(w, "matches queue 'dead'") || !strings.Contains(w, "queue 'a' exceeds its limit by 2 messages") {
		t.Error(w)
	}
	if r, _ := trial("PUT", "policies/%2F/p", `{"pattern":"^a$","definition":{"max-length":1}}`); r.Matches[0].Drops != 2 || r.Matches[0].DeadLetters {
		t.Errorf("without a dead-letter exchange: %+v", r)
	}
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"properties":{},"routing_key":"a","payload":"12345","payload_encoding":"string"}`)
	for definition, want := range map[string]string{ // of 1, 1, 1 and 5 octets
		`"max-length-bytes":6`:                             "1 true [max-length-bytes]",
		`"max-length-bytes":8`:                             "0 false []",
		`"max-length-bytes":0`:                             "4 false [max-length-bytes]",
		`"max-length-bytes":7,"max-length":2`:              "2 false [max-length max-length-bytes]",
		`"max-length-bytes":1,"overflow":"reject-publish"`: "0 false []",
		`"message-ttl":0`:                                  "0 false []", // for those that arrive later
	} {
		r, _ := trial("PUT", "policies/%2F/p", `{"pattern":"^a$","definition":{`+definition+`}}`)
		m := r.Matches[0]
		if got := fmt.Sprint(m.Drops, m.Estimated, m.Limits); got != want || (m.Drops > 0) != (len(r.Warnings) > 0) {
			t.Errorf("%s: %s, want %s; %v", definition, got, want, r.Warnings)
		}
	}
	if q := read[api.Queue](d, "/api/queues/%2F/a"); q.Messages != 4 || q.Policy != nil {
		t.Errorf("the dry run has changed something: %+v", q)
	}
	const lost, held = "dead letters become lost letters", "dead letters are held in their queue"
	for name, want := range map[string]string{
		`nope"`:       "exchange 'nope' does not exist: until it exists, " + lost,
		`amq.fanout"`: "exchange 'amq.fanout' has no bindings: until it has some, " + lost,
		`nope","dead-letter-strategy":"at-least-once","overflow":"reject-publish"`: "exchange 'nope' does not exist: " +
			"until it exists, " + held,
		`dlx"`: "",
		`"`: "without a dead-letter routing key, the default exchange returns a dead letter that was " +
			"published to a queue by its name to this queue; set one",
		`","dead-letter-routing-key":"a"`:    "",
		`","dead-letter-routing-key":"gone"`: "queue 'gone' does not exist: until it exists, " + lost,
	} {
		body := `{"pattern":"^new","definition":{"dead-letter-exchange":"` + name + `},"apply-to":"queues"}`
		if r, _ := trial("PUT", "policies/%2F/n", body); strings.Join(r.Warnings, "\n") != want {
			t.Errorf("dead letters to %s: %q", name, r.Warnings)
		}
	}
	d.want(201, "PUT", "/api/queues/%2F/own", `{"durable":true,"arguments":{"x-dead-letter-exchange":"dlx"}}`)
	r, _ = trial("PUT", "policies/%2F/n", `{"pattern":"^own","definition":{"dead-letter-exchange":"nope"}}`)
	const keeps = "queue 'own' keeps its dead-letter exchange 'dlx': its argument overrides the policy"
	if len(r.Warnings) != 1 || r.Warnings[0] != keeps {
		t.Errorf("a queue with an exchange of its own: %q", r.Warnings)
	}
	d.want(204, "DELETE", "/api/queues/%2F/own", "")
	d.want(201, "PUT", "/api/queues/%2F/stepped", `{"durable":true,"arguments":{"x-queue-type":"quorum",
		"x-delayed-retry-type":"all","x-delayed-retry-steps":"6m"}}`)
	r, _ = trial("PUT", "policies/%2F/n", `{"pattern":"^stepped","definition":{"delayed-retry-min":1000}}`)
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "queue 'stepped' has delayed-retry-steps: ") {
		t.Errorf("times of retries beside steps: %q", r.Warnings)
	}
	d.want(204, "DELETE", "/api/queues/%2F/stepped", "")
	const alone = `{"pattern":"^a","definition":{"dead-letter-routing-key":"dead"},"apply-to":"queues"}`
	d.want(201, "PUT", "/api/queues/%2F/ac", `{"durable":true,"arguments":{"x-dead-letter-exchange":""}}`)
	r, _ = trial("PUT", "policies/%2F/n", alone)
	want := "queue 'ab' has a dead-letter routing key and no dead-letter exchange: the key has no effect"
	if w := r.Warnings; len(w) != 2 || w[1] != want {
		t.Errorf("a key without an exchange: %q", w)
	}
	d.want(204, "DELETE", "/api/queues/%2F/ac", "")
	d.want(201, "PUT", "/api/policies/%2F/p", policy)
	if r, _ = trial("PUT", "policies/%2F/p", policy); r.Matched != 3 || r.Changed != 0 {
		t.Errorf("again: %+v", r)
	}
	if r, names = trial("PUT", "policies/%2F/p", strings.Replace(policy, `"."`, `"^ab"`, 1)); r.Matched != 1 || r.Changed != 2 || len(names) != 3 {
		t.Errorf("narrower: %+v", r)
	}
	if r, _ = trial("DELETE", "policies/%2F/p", ""); r.Matched != 0 || r.Changed != 3 || r.Matches[1].PolicyBefore != "p" {
		t.Errorf("cleared: %+v", r)
	}
	if r, _ = trial("PUT", "operator-policies/%2F/o", `{"pattern":"b","definition":{"max-length":0},"apply-to":"all"}`); r.Matched != 1 || r.Changed != 1 {
		t.Errorf("operator: %+v", r)
	}
	if r, names = trial("PUT", "policies/%2F/x", `{"pattern":"^amq.topic$","definition":{"alternate-exchange":"dlx"}}`); r.Matched != 1 || r.Matches[0].Kind != "exchange" {
		t.Errorf("exchange: %+v %v", r, names)
	}
	for _, c := range []struct{ path, body, reason string }{
		{"policies/%2F/p", `{"definition":{"max-length":1}}`, "{key_missing,pattern}"},
		{"policies/%2F/p", `{"pattern":"[","definition":{"max-length":1}}`, "pattern should be regular expression but is invalid"},
		{"policies/%2F/p", `{"pattern":"x","definition":{"max-lenght":1}}`, "are not recognised policy settings"},
		{"operator-policies/%2F/p", `{"pattern":"x","definition":{"dead-letter-exchange":"x"}}`, "are not recognised policy settings"},
		{"policies/%2F/p", `nonsense`, "not_json"},
	} {
		d.refused(400, "bad_request", c.reason, "PUT", "/api/x/dry-run/"+c.path, c.body)
	}
	d.refused(404, "not_found", "vhost_not_found", "PUT", "/api/x/dry-run/policies/nope/p", policy)
	d.refused(404, "Object Not Found", "Not Found", "DELETE", "/api/x/dry-run/policies/%2F/nope", "")
}

// BenchmarkDryRun tries a policy that matches each of 20,000 queues.
func BenchmarkDryRun(b *testing.B) {
	d := openWith(b, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
	commands := make([]vhost.Command, 20_000)
	for i := range commands {
		commands[i] = vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: fmt.Sprintf("queue-%d", i), Durable: true}}
	}
	if _, err := d.engine.Do(b.Context(), "/", authz.Broker(), commands...); err != nil {
		b.Fatal(err)
	}
	var look time.Duration
	for b.Loop() {
		d.want(200, "PUT", "/api/x/dry-run/policies/%2F/p", `{"pattern":"7$","definition":{"max-length":1},"apply-to":"queues"}`)
		err := d.engine.Query(b.Context(), "/", func(v vhost.Reader) {
			begin := time.Now()
			_ = v.SubjectsSome(new(vhost.Subjects), 2000)
			look = time.Since(begin)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(look.Microseconds()), "µs-vhost-stopped")
}
