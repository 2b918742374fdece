package console

import (
	"cmp"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestConsoleModules(t *testing.T) {
	// If this fails, a page of the console asks for a module that is not there, or writes style that the policy
	// forbids.
	t.Parallel()
	files, err := readConsole(consoleFiles)
	if err != nil {
		t.Fatal(err)
	}
	later := regexp.MustCompile(`\bimport\(["'](\.[^"']+)["']\)`)
	for name, text := range files {
		if ext := path.Ext(name); ext != ".js" && ext != ".mjs" {
			continue
		}
		for _, m := range slices.Concat(imports.FindAllSubmatch(text, -1), later.FindAllSubmatch(text, -1)) {
			if to := path.Join(path.Dir(name), string(m[1])); files[to] == nil {
				t.Errorf("%s imports %s, which is not there", name, to)
			}
		}
		if !strings.HasPrefix(name, "vendor/") && regexp.MustCompile(`[< ]style="`).Match(text) {
			t.Errorf("%s writes a style attribute", name)
		}
	}
}

// firstViewMax bounds what a browser fetches for the first page that it shows, compressed, in bytes.
const firstViewMax = 300_000

func TestFirstViewIsSmall(t *testing.T) {
	// If this fails, the console is slow to appear over a thin line.
	t.Parallel()
	files, err := readConsole(consoleFiles)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for _, name := range slices.Concat(
		files.closure(entryName), files.closure("pages/overview.js"),
		[]string{indexName, styleName, "favicon.svg", "lib/early.js", "lib/ahead.js", "i18n/zh-CN.json", "vendor/uPlot.iife.min.js", "vendor/uPlot.min.css"},
	) {
		a := newAsset(name, files[name])
		if files[name] == nil {
			t.Errorf("there is no %s", name)
		}
		sizes[name] = len(cmp.Or(string(a.zipped()), string(a.text)))
	}
	total := 0
	for _, n := range sizes {
		total += n
	}
	t.Logf("%d files, %d bytes", len(sizes), total)
	if total > firstViewMax {
		t.Errorf("the first view takes %d bytes, more than %d: %v", total, firstViewMax, sizes)
	}
}

func TestDictionariesThatAreWrong(t *testing.T) {
	// If this fails, a dictionary that is none is served, or two of a language do not become one.
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	if _, err := readConsole(fstest.MapFS{"ui/i18n/en/a.json": file(`{"x":1}`)}); err == nil {
		t.Error("a word may be a number")
	}
	files, err := readConsole(fstest.MapFS{"ui/i18n/en/a.json": file(`{"x":"1"}`), "ui/i18n/en/b.json": file(`{"x":"3","y":"2"}`)})
	if err != nil || string(files["i18n/en.json"]) != `{"x":"1","y":"2"}` {
		t.Errorf("%s, %v", files["i18n/en.json"], err)
	}
}

func TestConsoleScripts(t *testing.T) {
	// If this fails, a part of the console that computes computes something else, or a language lacks a word.
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here: `make deps` installs it")
	}
	tests, err := filepath.Glob("ui/test/*.test.mjs")
	if err != nil || len(tests) == 0 {
		t.Fatalf("%d tests: %v", len(tests), err)
	}
	run := exec.Command(node, append([]string{"--test"}, tests...)...)
	run.Env = append(os.Environ(), "NODE_OPTIONS=", "BARTLEBY_SETTINGS="+writeSettings(t))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
