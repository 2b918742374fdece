package kubernetes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestYAMLOfPages(t *testing.T) {
	// If this fails, a user copies a file out of the documentation that is not YAML.
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1) {
			n++
			var v map[string]any
			if err := yaml.UnmarshalStrict(m[1], &v); err != nil || len(v) == 0 {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no page has YAML")
	}
}

func TestPoliciesOfTheConsole(t *testing.T) {
	// If this fails, the policy that a user copies out of the console is another one in Kubernetes.
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here: `make deps` installs it")
	}
	out, err := exec.Command(node, "../../internal/management/console/ui/test/samples.mjs", "http://x", "5672").Output()
	var samples struct {
		Hard  string
		Codes map[string][]string
	}
	if err == nil {
		err = json.Unmarshal(out, &samples)
	}
	if err != nil || len(samples.Codes["kubernetes"]) != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, text := range samples.Codes["kubernetes"] {
		var policy struct {
			Kind string
			Spec struct {
				Name, Vhost, Pattern, ApplyTo string
				Priority                      int
				Definition                    map[string]any
			}
		}
		if err := yaml.Unmarshal([]byte(text), &policy); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		s := policy.Spec
		if s.Name != samples.Hard || s.Vhost != "/" || s.Priority != 3 || s.ApplyTo != "queues" || s.Pattern == "" {
			t.Errorf("%+v", policy)
		}
		if i == 0 && s.Definition["dead-letter-routing-key"] != samples.Hard {
			t.Errorf("%+v", s.Definition)
		}
	}
}
