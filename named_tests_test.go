package bartleby_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDocumentsAreHeldByTests(t *testing.T) {
	// If this fails, a document names a test that does not exist, or a limit names none: a statement of the document is
	// not tested.
	t.Parallel()
	named := regexp.MustCompile("`([a-z./]+) +(Test[A-Za-z0-9]+)`")
	for document, least := range map[string]int{"SECURITY.md": 20, "docs/limits.md": 100} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		names := named.FindAllStringSubmatch(string(text), -1)
		if len(names) < least {
			t.Errorf("%s: only %d tests are named", document, len(names))
		}
		for _, n := range names {
			if !isTest(t, n[1], n[2]) {
				t.Errorf("%s: there is no %s in %s", document, n[2], n[1])
			}
		}
		if document != "docs/limits.md" {
			continue
		}
		for line := range strings.Lines(string(text)) {
			row := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| resource |")
			if row && !named.MatchString(line) {
				t.Errorf("%s: no test is named in %q", document, line)
			}
		}
	}
}

// isTest reports whether a package has a test of that name.
func isTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(code), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
