package bartleby_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// If this fails, SECURITY.md names a test that is not there: something that it promises is held by nothing.
func TestSecurityIsHeldByTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z./]+) +(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, n := range named {
		files, err := filepath.Glob(filepath.Join(n[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(code), "\nfunc "+n[2]+"(")
		}
		if !found {
			t.Errorf("there is no %s in %s", n[2], n[1])
		}
	}
}
