package tidy

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	// cited matches a page of ours by its path from the root, with the sections that are named:
	// docs/compat/dead-lettering.md#1, #3.
	cited = regexp.MustCompile(`\b((?:docs|bench|conformance|browser|interop)/[\w./-]*\w\.md|(?:ARCHITECTURE|CHANGELOG|CONTRIBUTING|README|SECURITY)\.md)` +
		`((?:#` + section + `(?:(?:, | and | to )#` + section + `)*)?)`)
	sections  = regexp.MustCompile(`#(` + section + `)`)
	decisions = regexp.MustCompile(`\b[Dd]ecisions? (\d+(?:(?:, | and |, and )\d+)*)\b`)
	number    = regexp.MustCompile(`\d+`)
	link      = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading   = regexp.MustCompile(`^#+ +(.*?)\s*$`)
	anchor    = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

	// outside matches citations of notes that are not in the repository. Public documents are named: RabbitMQ dlx, RFC
	// 7617.
	outside = regexp.MustCompile(`(?:Source:|;|,)[\s/#]+(?:the )?(?:reference[\s/#]+[a-z-]+(?:[\s/#]+\d|[.;])|design,?[\s/#]+§? ?\d)` +
		`|\b(?:design|house|style)\.md\b|'New broker'`)
)

// notes are words one of which each match of outside has: a file without them is not searched.
var notes = []string{"reference", "design", "house.md", "style.md", "New broker"}

// section is the name of an anchor, without the full stop of its sentence.
const section = `[\w-]+(?:\.\w+)*`

// TestCitationsResolve fails if a file cites a page, a section or a decision that does not exist, or notes that are not
// in the repository.
func TestCitationsResolve(t *testing.T) {
	t.Parallel()
	all := files(t)
	pages := pagesOf(all)
	count := 0
	for _, f := range all {
		name := filepath.Base(f.path)
		if strings.HasPrefix(f.path, "scripts/tidy/") || name == "package-lock.json" {
			continue
		}
		has := func(word string) bool { return strings.Contains(string(f.text), word) }
		if text := string(f.text); slices.ContainsFunc(notes, has) {
			for _, at := range outside.FindAllStringIndex(text, -1) {
				t.Errorf("%s: %q is not in the repository; docs/compat has pages to cite", f.at(at[0]), text[at[0]:at[1]])
			}
		}
		n := 0
		for line := range strings.Lines(string(f.text)) {
			n++
			found, faults := resolve(line, pages)
			count += found
			for _, fault := range faults {
				t.Errorf("%s:%d: %s", f.path, n, fault)
			}
		}
	}
	if count < 200 {
		t.Errorf("found %d citations: the rule looks at too little", count)
	}
}

// resolve counts the citations in a line, and says which lead nowhere.
func resolve(line string, pages map[string]map[string]bool) (count int, faults []string) {
	if strings.Contains(line, ".md") {
		for _, m := range cited.FindAllStringSubmatchIndex(line, -1) {
			if m[0] > 0 && strings.ContainsRune("/.-_", rune(line[m[0]-1])) {
				continue // a part of another path, or of an address
			}
			count++
			page := line[m[2]:m[3]]
			if pages[page] == nil {
				faults = append(faults, "there is no "+page)
				continue
			}
			for _, s := range sections.FindAllStringSubmatch(line[m[4]:m[5]], -1) {
				if !pages[page][s[1]] {
					faults = append(faults, fmt.Sprintf("%s has no section %q", page, s[1]))
				}
			}
		}
	}
	if strings.Contains(line, "ecision") {
		for _, m := range decisions.FindAllStringSubmatch(line, -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				count++
				if !hasDecision(pages, n) {
					faults = append(faults, "there is no decision "+n)
				}
			}
		}
	}
	return count, faults
}

// TestLinksResolve fails if a link between pages leads nowhere.
func TestLinksResolve(t *testing.T) {
	t.Parallel()
	all := files(t)
	pages := pagesOf(all)
	there := map[string]bool{".": true}
	for _, f := range all {
		for dir := f.path; dir != "."; dir = path.Dir(dir) {
			there[dir] = true
		}
	}
	count := 0
	for _, f := range all {
		if filepath.Ext(f.path) != ".md" {
			continue
		}
		text := withoutCode(string(f.text))
		for _, m := range link.FindAllStringSubmatchIndex(text, -1) {
			target := text[m[2]:m[3]]
			if strings.Contains(target, ":") { // an address
				continue
			}
			count++
			page, s, _ := strings.Cut(target, "#")
			page = path.Join(path.Dir(f.path), page)
			if strings.HasPrefix(target, "#") {
				page = f.path
			}
			switch {
			case !there[page] && !binary(page):
				t.Errorf("%s: there is no %s", f.at(m[0]), page)
			case s != "" && !pages[page][s]:
				t.Errorf("%s: %s has no section %q", f.at(m[0]), page, s)
			}
		}
	}
	if count < 100 {
		t.Errorf("found %d links: the rule looks at too little", count)
	}
}

// binary reports whether a file is one that files leaves out because it is no text.
func binary(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".webp", ".gif"}, path.Ext(name))
}

// at is a place in the file, as compilers write it.
func (f file) at(offset int) string {
	return fmt.Sprintf("%s:%d", f.path, 1+strings.Count(string(f.text[:offset]), "\n"))
}

func hasDecision(pages map[string]map[string]bool, n string) bool {
	for page := range pages {
		if strings.HasPrefix(page, fmt.Sprintf("docs/decisions/%04s-", n)) {
			return true
		}
	}
	return false
}

// pagesOf returns the anchors of every page by its path: headings as GitHub names them, and anchors that are written.
func pagesOf(all []file) map[string]map[string]bool {
	pages := map[string]map[string]bool{}
	for _, f := range all {
		if filepath.Ext(f.path) != ".md" {
			continue
		}
		anchors := map[string]bool{}
		for line := range strings.Lines(withoutCode(string(f.text))) {
			if m := anchor.FindStringSubmatch(line); m != nil {
				anchors[m[1]] = true
			}
			m := heading.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				continue
			}
			name := slug(m[1])
			for n := 1; anchors[name]; n++ {
				name = fmt.Sprintf("%s-%d", slug(m[1]), n)
			}
			anchors[name] = true
		}
		pages[f.path] = anchors
	}
	return pages
}

// slug is the anchor that GitHub makes of a heading.
func slug(heading string) string {
	heading = linkText.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

// withoutCode blanks the blocks of code of a page, whose lines are neither headings nor links.
func withoutCode(text string) string {
	var out strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			line = "\n"
		}
		if fenced {
			line = strings.Repeat(" ", len(line)-1) + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
