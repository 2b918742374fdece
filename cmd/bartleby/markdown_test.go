package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is where the repository is, from this package.
const root = "../.."

// A block is fenced code in a page of the documentation.
type block struct {
	page     string // below root
	line     int    // of the fence
	language string
	text     string
}

// documents are README.md, in both languages, and all below docs whose code is not that of an English page.
func documents(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" && inEnglish(path) == "" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	return append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "README.zh-CN.md"))
}

// inEnglish is the English page that a Chinese one translates, or nothing: TestCodeIsTheSameInBothLanguages compares
// their code, and that of the English page is run.
func inEnglish(path string) string {
	dir, name := filepath.Split(path)
	if filepath.Base(dir) != "zh-CN" {
		return ""
	}
	path = filepath.Join(dir, "..", name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// blocksOf are the blocks of a page, in their order.
func blocksOf(t *testing.T, path string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	var b *block
	for i, line := range strings.Split(string(text), "\n") {
		language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && b == nil:
			b = &block{page: page, line: i + 1, language: language}
		case fence:
			all = append(all, *b)
			b = nil
		case b != nil:
			b.text += line + "\n"
		}
	}
	return all
}

// A command is what is typed at once, and what a page says that it prints, if it does.
type command struct {
	line  int
	typed string
	shown []string

	first string            // what is typed before it, which the page does not show
	words map[string]string // placeholders in it, and variables of the shell that have what is meant
}

// commands are those of a block of the languages sh or console. In the latter, each has a prompt, and output may
// follow.
func (b *block) commands() (all []command) {
	complete := true
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		typed, prompt := strings.CutPrefix(line, "$ ")
		last := len(all) - 1
		switch {
		case !complete:
			all[last].typed += "\n" + line
			complete = isComplete(all[last].typed)
		case b.language == "console" && !prompt && last >= 0:
			all[last].shown = append(all[last].shown, line)
		case strings.TrimSpace(line) == "" || strings.HasPrefix(typed, "#"):
		default:
			all = append(all, command{line: b.line + 1 + i, typed: typed})
			complete = isComplete(typed)
		}
	}
	return all
}

// isComplete reports whether a shell runs what was typed: no quotation is open, and the last line does not continue.
func isComplete(typed string) bool {
	quote, before := rune(0), ' '
	comment, escaped := false, false
	for _, r := range typed {
		switch {
		case comment && r != '\n':
			continue
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
			continue
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && r == '#' && (before == ' ' || before == '\n'):
			comment = true
			continue
		}
		comment = comment && r != '\n'
		before = r
	}
	return quote == 0 && !escaped
}

func TestCommandsOfABlock(t *testing.T) {
	// If this fails, commands of the documentation are not run, or others than it shows.
	t.Parallel()
	b := block{language: "console", line: 10, text: "$ a 'b\n  c' \\\n  d # it's a\nout 1\nout 2\n\n$ e\n"}
	all := b.commands()
	shown := []string{"out 1", "out 2", ""}
	if len(all) != 2 || all[0].typed != "a 'b\n  c' \\\n  d # it's a" || !slices.Equal(all[0].shown, shown) ||
		all[1].typed != "e" || all[1].line != 17 {
		t.Errorf("%+v", all)
	}
	b = block{language: "sh", text: "# comment\na\n\nb \"\nc\"\n"}
	if all := b.commands(); len(all) != 2 || all[1].typed != "b \"\nc\"" {
		t.Errorf("%+v", all)
	}
}
