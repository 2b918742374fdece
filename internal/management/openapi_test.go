package management

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func TestEveryEndpointIsDeclaredWhole(t *testing.T) {
	// If this fails, an endpoint is served that nobody may use, or that the OpenAPI document does not explain, or two
	// are at one place.
	t.Parallel()
	d := open(t)
	named := map[string]string{} // paths with names, by paths without
	there := map[string]bool{}
	for _, e := range d.server.endpoints() {
		if e.Summary == "" || e.Serve == nil || e.Tag == "" {
			t.Errorf("%s has no summary, no handler or no tag", e.Pattern)
		}
		if at := e.Method() + " " + e.Route(); there[at] {
			t.Errorf("%s is declared twice", e.Pattern)
		} else {
			there[at] = true
		}
		if old := named[e.Route()]; old != "" && old != e.Path() {
			t.Errorf("%s and %s are one path: its segments have one name each", old, e.Path())
		}
		named[e.Route()] = e.Path()
		if e.Scope == web.Leader && !e.Has("vhost") {
			t.Errorf("%s is for the leader of a virtual host, but names none", e.Pattern)
		}
		if !e.Changes() && (e.Body != 0 || e.Relieves || e.Audit == web.AuditAccounts) {
			t.Errorf("%s says how its body is read, or what it changes, but does neither", e.Pattern)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	// If this fails, generators of clients refuse the document.
	t.Parallel()
	d := open(t).with(func(o *Options) { o.PathPrefix = "/mq" })
	w := d.as("").want(200, "GET", "/mq/api/x/openapi.json", "")
	var document struct {
		OpenAPI    string                                `json:"openapi"`
		Info       struct{ Title, Version string }       `json:"info"`
		Servers    []struct{ URL string }                `json:"servers"`
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components map[string]map[string]json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if document.OpenAPI != "3.1.0" || document.Info.Version != "1.2.3" || document.Servers[0].URL != "/mq/api" || len(document.Paths) < 100 {
		t.Errorf("%.300s", w.Body)
	}
	var tree any
	if err := json.Unmarshal(w.Body.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	refs := 0
	everyRef(tree, func(to string) {
		refs++
		part := strings.Split(strings.TrimPrefix(to, "#/components/"), "/")
		if len(part) != 2 || document.Components[part[0]][part[1]] == nil {
			t.Errorf("%s leads nowhere", to)
		}
	})
	if refs < 100 {
		t.Errorf("%d references", refs)
	}
	ids := map[string]string{}
	for path, item := range document.Paths {
		for method, text := range item {
			if method == "parameters" {
				continue
			}
			var o struct {
				ID        string                     `json:"operationId"`
				Responses map[string]json.RawMessage `json:"responses"`
				Tag       string                     `json:"x-required-tag"`
			}
			if err := json.Unmarshal(text, &o); err != nil || len(o.Responses) < 2 {
				t.Errorf("%s %s: %v %s", method, path, err, text)
			}
			if ids[o.ID] != "" {
				t.Errorf("%s names %s and %s", o.ID, ids[o.ID], path)
			}
			ids[o.ID] = path
		}
	}
	if ids["getQueuesVhostQueue"] != "/queues/{vhost}/{queue}" {
		t.Errorf("IDs %v", ids)
	}
	queue := string(document.Components["schemas"]["Queue"])
	for _, part := range []string{`"messages_ready":{"type":"integer"}`, `"policy":{"type":["string","null"]}`, `"arguments":{"type":"object"}`} {
		if !strings.Contains(queue, part) {
			t.Errorf("a queue is %s, without %s", queue, part)
		}
	}
}

// everyRef visits the references below a value.
func everyRef(tree any, visit func(string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for name, inner := range tree {
			if to, ok := inner.(string); ok && name == "$ref" {
				visit(to)
			}
			everyRef(inner, visit)
		}
	case []any:
		for _, inner := range tree {
			everyRef(inner, visit)
		}
	}
}
