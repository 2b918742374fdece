package management

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// leads reports whether a pattern of a path, in which a name in braces stands for any segment, is that of an endpoint.
func leads(pattern string, e *web.Endpoint) bool {
	wanted, path := strings.Split(pattern, "/"), strings.Split(e.Path(), "/")
	return slices.EqualFunc(wanted, path, func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") })
}

func TestConsoleExplainsRecordsOfEndpointsThatExist(t *testing.T) {
	// If this fails, the console explains records of the audit log that no endpoint writes:
	// console/ui/pages/broker/deed.js has a path or a method that is not declared, or is not audited.
	t.Parallel()
	d := open(t)
	text, err := os.ReadFile("console/ui/pages/broker/deed.js")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^  \[\s*'([A-Z ]+)',\s*'([^']+)',\s*'\w*',\s*'\w*'`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 40 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		for _, method := range strings.Fields(row[1]) {
			if !slices.ContainsFunc(d.server.endpoints(), func(e web.Endpoint) bool {
				return e.Method() == method && leads(row[2], &e) && (e.Changes() && e.Audit != web.Unaudited || e.Audit == web.AuditBefore || e.Audit == web.AuditByHandler)
			}) {
				t.Errorf("no endpoint writes records of %s %s", method, row[2])
			}
		}
	}
}

func TestPathsInTheDocumentationExist(t *testing.T) {
	// If this fails, docs/http-api.md has a path below /api/x that is not declared.
	t.Parallel()
	d := open(t)
	text, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| path below `/api/x/` |")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatal("the table of paths is not where it was")
	}
	paths := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			path := quoted[1]
			if method, rest, has := strings.Cut(path, " "); has && method == "PUT" {
				path = rest
			}
			paths++
			pattern := "^x/" + regexp.MustCompile(`/?…`).ReplaceAllString(regexp.QuoteMeta(path), ".*") + "$"
			if !slices.ContainsFunc(d.server.endpoints(), func(e web.Endpoint) bool { return regexp.MustCompile(pattern).MatchString(e.Path()) }) {
				t.Errorf("%s is not declared", path)
			}
		}
	}
	if paths < 15 {
		t.Errorf("%d paths", paths)
	}
}
