package management

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// loops makes a topology in which dead letters go round.
func loops(d *door) {
	d.want(201, "PUT", "/api/queues/%2F/a", `{"durable":true,"arguments":{"x-dead-letter-exchange":"","x-dead-letter-routing-key":"b","x-message-ttl":60000}}`)
	d.want(201, "PUT", "/api/queues/%2F/b", `{"durable":true,"arguments":{"x-dead-letter-exchange":"","x-dead-letter-routing-key":"a","x-message-ttl":60000,"x-max-length":7}}`)
	d.want(201, "PUT", "/api/queues/%2F/lost", `{"durable":true,"arguments":{"x-dead-letter-exchange":"nope"}}`)
	d.want(201, "PUT", "/api/exchanges/%2F/x", `{"type":"topic","durable":true}`)
	d.want(201, "POST", "/api/bindings/%2F/e/x/q/a", `{"routing_key":"k\"1","arguments":{"n":1}}`)
}

func TestLint(t *testing.T) {
	// If this fails, lint over HTTP hides what is wrong, or tells it to who must not see the virtual host.
	t.Parallel()
	d := open(t)
	loops(d)
	d.want(201, "PUT", "/api/vhosts/other", ``)
	d.want(201, "PUT", "/api/queues/other/q", `{"arguments":{"x-max-length":0}}`)
	l := read[api.Lint](d, "/api/x/lint")
	if l.Errors != 3 || l.Warnings != 0 || l.Partial || len(l.Findings) != l.Errors+l.Notes {
		t.Fatalf("%+v", l)
	}
	f := l.Findings[0]
	if f.Code != "loop" || f.Severity != "error" || f.VHost != "/" || f.Kind != "queue" || f.Name != "a" || f.Params["path"] != "a → b → a" ||
		f.Params["fate"] != "shelf" || !strings.Contains(f.Text, "become lost letters") {
		t.Errorf("%+v", f)
	}
	if l = read[api.Lint](d, "/api/x/lint/%2F?severity=error&code=missing_dlx"); l.Errors != 1 || l.Findings[0].Name != "lost" {
		t.Errorf("%+v", l)
	}
	d.want(201, "PUT", "/api/queues/%2F/own", `{"arguments":{"x-dead-letter-exchange":"gone"}}`)
	d.want(201, "PUT", "/api/queues/%2F/ruled", ``)
	const gone = `{"pattern":"^(own|ruled)$","definition":{"dead-letter-exchange":"gone"},"apply-to":"queues"}`
	d.want(201, "PUT", "/api/policies/%2F/p", gone)
	sources := map[string]string{}
	for _, f := range read[api.Lint](d, "/api/x/lint/%2F?code=missing_dlx").Findings {
		sources[f.Name] = f.Params["policy"]
	}
	if want := map[string]string{"lost": "", "own": "", "ruled": "p"}; !maps.Equal(sources, want) {
		t.Errorf("policies that name an exchange that does not exist: %v, want %v", sources, want)
	}
	for _, path := range []string{"queues/%2F/own", "queues/%2F/ruled", "policies/%2F/p"} {
		d.want(204, "DELETE", "/api/"+path, "")
	}
	if l = read[api.Lint](d, "/api/x/lint?limit=1"); l.Errors != 3 || !l.Partial || len(l.Findings) != 1 || l.Findings[0].Severity != "error" {
		t.Errorf("%+v", l)
	}
	d.refused(400, "bad_request", "severity must be error, warning or note, not 'bad'", "GET", "/api/x/lint?severity=bad", "")
	d.refused(400, "bad_request", "limit must be a number from 0 to", "GET", "/api/x/lint?limit=-1", "")
	d.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/lint/nope", "")
	d.want(201, "PUT", "/api/users/m", `{"password":"m","tags":"management"}`)
	m := d.as("m:m")
	if l = read[api.Lint](m, "/api/x/lint"); len(l.Findings) != 0 {
		t.Errorf("%+v", l)
	}
	m.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/lint/%2F", "")
	m.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/topology/%2F", "")
	d.want(201, "PUT", "/api/permissions/other/m", `{"configure":"","write":"","read":""}`)
	if l = read[api.Lint](m, "/api/x/lint"); l.Errors != 1 || l.Findings[0].VHost != "other" {
		t.Errorf("%+v", l)
	}
	d.want(201, "PUT", "/api/users/n", `{"password":"n","tags":""}`)
	d.as("n:n").refused(401, "not_authorised", "Not management user", "GET", "/api/x/lint", "")
}

func TestTopology(t *testing.T) {
	// If this fails, the graph that the console draws is another than the virtual host.
	t.Parallel()
	d := open(t)
	loops(d)
	g := read[api.Topology](d, "/api/x/topology/%2F")
	if g.Queues != 3 || g.Exchanges < 8 || g.Bindings != 1 || g.Partial || len(g.Nodes) != 6 || len(g.Edges) != 6 || len(g.Findings) < 2 {
		t.Fatalf("%+v", g)
	}
	nodes := map[string]api.TopologyNode{}
	for _, n := range g.Nodes {
		nodes[n.ID] = n
	}
	if n := nodes["e:nope"]; !n.Missing || n.Kind != "exchange" || n.Queue != nil {
		t.Errorf("%+v", n)
	}
	if n := nodes["q:a"]; n.Severity != "error" || n.Type != "classic" || !n.Queue.Loop || n.Queue.Role != "retry" || *n.Queue.MessageTTL != 60000 ||
		*n.Queue.DeadLetterExchange != "" || *n.Queue.DeadLetterRoutingKey != "b" || n.Queue.State != "empty" || n.Queue.MaxLength != nil {
		t.Errorf("%+v %+v", n, n.Queue)
	}
	g = read[api.Topology](d, "/api/x/topology/%2F?root=q:lost&depth=1")
	if len(g.Nodes) != 2 || len(g.Edges) != 1 || g.Edges[0].Kind != "dead_letter" || !g.Edges[0].OwnKeys || len(g.Findings) != 1 || g.Findings[0].Code != "missing_dlx" {
		t.Errorf("%+v", g)
	}
	if g = read[api.Topology](d, "/api/x/topology/%2F?limit=2"); len(g.Nodes) != 2 || !g.Partial {
		t.Errorf("%+v", g)
	}
	for _, c := range []struct{ query, reason string }{
		{"depth=x", "depth must be a number from 0 to 64, not 'x'"}, {"limit=1e9", "limit must be a number"}, {"format=svg", "format must be json, mermaid or dot, not 'svg'"},
	} {
		d.refused(400, "bad_request", c.reason, "GET", "/api/x/topology/%2F?"+c.query, "")
	}
	d.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/topology/%2F?root=q:nope", "")
	d.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/topology/nope", "")
}

func TestCopiesOfVHostsAreFew(t *testing.T) {
	// If this fails, requests that analyze a large virtual host take gigabytes together, before they wait for their
	// turn or although memory is short; or a dry run copies it in one go, and nobody else is served meanwhile.
	t.Parallel()
	d := open(t)
	d.declare(web.AlarmCopyMax + 1)
	d.server.Memory.Patience = time.Nanosecond
	for range cap(d.server.Copies) {
		d.server.Copies <- struct{}{}
	}
	type request struct{ method, path, body string }
	requests := []request{
		{"GET", "/api/x/lint", ""}, {"GET", "/api/x/lint/%2F", ""}, {"GET", "/api/x/topology/%2F", ""},
		{"GET", "/api/x/paths/%2F/q1", ""},
		{"PUT", "/api/x/dry-run/policies/%2F/p", `{"pattern":"^none$","definition":{"max-length":1}}`},
	}
	for _, r := range requests {
		d.refused(503, "service_unavailable", "all memory", r.method, r.path, r.body)
	}
	for range cap(d.server.Copies) {
		<-d.server.Copies
	}
	d.server.Memory.Patience = time.Minute
	for _, r := range requests {
		if d.want(200, r.method, r.path, r.body); len(d.server.Copies) > 0 {
			t.Fatalf("%s still has its copy", r.path)
		}
	}
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"absolute":50000}}`)
	for _, r := range requests {
		d.refused(503, "service_unavailable", "is not analyzed until it ends", r.method, r.path, r.body)
	}
	d.want(200, "GET", "/api/vhosts", "") // shows what lint has counted
	d.want(201, "PUT", "/api/vhosts/small", "")
	d.want(200, "GET", "/api/x/lint/small", "")
}

func TestTopologyAsText(t *testing.T) {
	// If this fails, what is meant for documents is no Mermaid or no Graphviz, or names can write into it.
	t.Parallel()
	d := open(t)
	loops(d)
	w := d.want(200, "GET", "/api/x/topology/%2F?root=a&format=mermaid", "")
	const chart = `flowchart LR
  n0(["(default exchange)"])
  n1(["x (topic)"])
  n2["a (0)"]
  n3["b (0)"]
  n0 ==>|"a ↻"| n2
  n0 ==>|"b ↻"| n3
  n1 -->|"k#34;1"| n2
  n2 -.->|"b ↻"| n0
  n3 -.->|"a ↻"| n0
`
	if got := w.Body.String(); got != chart || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%s\n%v", got, w.Header())
	}
	w = d.want(200, "GET", "/api/x/topology/%2F?root=lost&format=dot", "")
	const graph = `digraph vhost {
  rankdir=LR;
  n0 [label="nope (missing)", shape=ellipse, style=dashed, color=red];
  n1 [label="lost (0)", shape=box];
  n1 -> n0 [label="own keys", style=dashed, color=red];
}
`
	if got := w.Body.String(); got != graph {
		t.Error(got)
	}
	if got := dotText("a\"\\\n"); got != `"a\"\\ "` {
		t.Error(got)
	}
}

func TestPathsOverHTTP(t *testing.T) {
	// If this fails, what happens to a message of a queue is not told, or to who must not see the virtual host.
	t.Parallel()
	d := open(t)
	loops(d)
	p := read[api.Paths](d, "/api/x/paths/%2F/a")
	if p.VHost != "/" || p.Queue != "a" || len(p.Paths) != 7 || len(p.Findings) < 1 || p.Findings[0].Code != "loop" {
		t.Fatalf("%+v", p)
	}
	expire := p.Paths[1]
	if expire.Event != "expire" || !expire.Happens || expire.Code != "on_expire" || expire.Params["ms"] != "60000" || len(expire.Steps) != 4 {
		t.Fatalf("%+v", expire)
	}
	if s := expire.Steps[0]; s.Number != 1 || s.After != 0 || s.Queue != "a" || s.Reason != "expired" || *s.Exchange != "" || s.Keys[0] != "b" ||
		s.Queues[0] != "b" || !s.Sure || s.Code != "hop" || s.Guarantee != "moved" || !strings.Contains(s.Text, "amq.default") {
		t.Errorf("%+v", s)
	}
	if s := expire.Steps[3]; s.Code != "cycle" || s.Guarantee != "shelf" || !s.Loop || !s.DeadEnd || s.After != 3 || s.Exchange != nil || s.Params["fate"] != "shelf" {
		t.Errorf("%+v", s)
	}
	if p = read[api.Paths](d, "/api/x/paths/%2F/lost"); p.Paths[0].Steps[0].Code != "no_exchange" || len(p.Findings) != 1 || p.Findings[0].Code != "missing_dlx" {
		t.Errorf("%+v", p)
	}
	for _, path := range []string{"%2F/nope", "nope/a"} {
		d.refused(404, "Object Not Found", "Not Found", "GET", "/api/x/paths/"+path, "")
	}
	d.want(201, "PUT", "/api/users/m", `{"password":"m","tags":"management"}`)
	d.as("m:m").refused(404, "Object Not Found", "Not Found", "GET", "/api/x/paths/%2F/a", "")
}

func TestConsoleSaysEveryFinding(t *testing.T) {
	// If this fails, the console says in English what it shall say in the user's language: broker-findings.json lacks a
	// text.
	t.Parallel()
	for _, language := range []string{"en", "zh-CN"} {
		b, err := os.ReadFile("console/ui/i18n/" + language + "/broker-findings.json")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		if err := json.Unmarshal(b, &texts); err != nil {
			t.Fatal(err)
		}
		for group, codes := range map[string][]string{"finding.": lint.FindingCodes(), "path.": lint.PathCodes()} {
			for _, code := range codes {
				if texts[group+code] == "" {
					t.Errorf("%s: no text of %s%s", language, group, code)
				}
			}
		}
	}
}
