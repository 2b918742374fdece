package tidy

import (
	"regexp"
	"strings"
	"testing"
)

var codeBlock = regexp.MustCompile("(?ms)^```.*?^```")

func TestSamplesOfAnotherBroker(t *testing.T) {
	// If this fails, whoever copies a sample of a page, and whose broker is elsewhere, does not learn there what to
	// change.
	t.Parallel()
	const link, section = "cli.md#samples-for-another-broker", "### Samples for another broker\n"
	pages := 0
	for _, f := range files(t) {
		text := string(f.text)
		switch {
		case f.path == "docs/cli.md" && !strings.Contains(text, section):
			t.Errorf("%s has no section %q", f.path, section)
		case !strings.HasPrefix(f.path, "docs/") || !strings.HasSuffix(f.path, ".md") || f.path == "docs/cli.md":
		case strings.Contains(strings.Join(codeBlock.FindAllString(text, -1), "\n"), "localhost:15672"):
			if pages++; !strings.Contains(text, link) {
				t.Errorf("%s has samples for localhost:15672: it needs a link to %s", f.path, link)
			}
		}
	}
	if pages < 5 {
		t.Errorf("only %d pages with samples were found", pages)
	}
}
