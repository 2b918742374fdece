// Package tidy holds the rules of the repository that no compiler and no linter checks, as tests over its files.
package tidy

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linesMax is where a file asks for its second concept to be found.
const linesMax = 600

// long lists the files that are longer all the same, each with its reason.
var long = map[string]string{}

// sources are the kinds of file that people write and read as code.
var sources = []string{".go", ".java", ".py", ".js", ".mjs", ".sh", ".css", ".html"}

// unread are directories that hold nothing of ours.
var unread = []string{".git", "build", "target", "node_modules", "bartleby-data", "__pycache__", ".venv"}

var generated = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

// A file is one of the repository's, by its path from the root, with slashes.
type file struct {
	path string
	text []byte
}

// files reads every text file of the repository.
func files(t *testing.T) []file {
	t.Helper()
	const root = "../.."
	var all []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(unread, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // a file in a linked worktree
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 { // not text
			return nil
		}
		name, err := filepath.Rel(root, path)
		all = append(all, file{filepath.ToSlash(name), text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d files: the rules look at nothing", len(all))
	}
	return all
}

// report fails the test for each line of f that contains one of the words.
func (f file) report(t *testing.T, why string, words ...string) {
	t.Helper()
	number := 0
	for line := range bytes.Lines(f.text) {
		number++
		for _, word := range words {
			if bytes.Contains(line, []byte(word)) {
				t.Errorf("%s:%d: %q: %s", f.path, number, word, why)
			}
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	// If this fails, a file holds two concepts, or has grown without anyone saying why.
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range files(t) {
		if !slices.Contains(sources, filepath.Ext(f.path)) || generated.Match(f.text) {
			continue
		}
		count := bytes.Count(f.text, []byte("\n"))
		switch {
		case count > linesMax && long[f.path] == "":
			t.Errorf("%s has %d lines; look for its second concept, or give a reason in this test's list", f.path, count)
		case count <= linesMax && long[f.path] != "":
			t.Errorf("%s has only %d lines; take it off this test's list", f.path, count)
		}
		seen[f.path] = true
	}
	for name := range long {
		if !seen[name] {
			t.Errorf("%s is on this test's list, but does not exist", name)
		}
	}
}

func TestTestsDoNotSleep(t *testing.T) {
	// If this fails, a test hopes that a while is long enough, and makes all of them slow.
	t.Parallel()
	for _, f := range files(t) {
		// In a synctest bubble a sleep costs nothing: it is how time moves.
		if strings.HasSuffix(f.path, "_test.go") && !bytes.Contains(f.text, []byte(`"testing/synctest"`)) {
			f.report(t, "wait for an event, or move the clock", "time."+"Sleep(")
		}
	}
}

func TestNothingIsPutOff(t *testing.T) {
	// If this fails, a note stands where a decision should: do it, or write it in docs/.
	t.Parallel()
	for _, f := range files(t) {
		f.report(t, "do it, or write it in docs/", "TO"+"DO", "FIX"+"ME")
	}
}

func TestNoMachineIsNamed(t *testing.T) {
	// If this fails, a file works, or makes sense, on one machine only: a clone elsewhere has neither its paths nor its
	// mirrors.
	t.Parallel()
	words := []string{
		"/wo" + "rk/", "/tmp/" + "brief", "/ro" + "ot/",
		"proxy.golang" + ".org", "registry.npmjs" + ".org", "pypi" + ".org", "repo.maven.apache" + ".org",
		"repo1.maven" + ".org", "deb.debian" + ".org",
	}
	for _, f := range files(t) {
		f.report(t, "a path or registry of some machine", words...)
	}
}
