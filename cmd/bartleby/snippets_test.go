package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"go/format"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/config"
)

// languages are those that fenced code of a page may have, and what is done with it: commands are run, a file is read.
var languages = map[string]func(t *testing.T, b *block){
	"sh": nil, "console": nil, // TestCommandsOfPages
	"conf":    checkConf,
	"json":    func(t *testing.T, b *block) { readJSON(t, b.text) },
	"go":      checkGo,
	"ini":     checkUnit,
	"java":    nil, // TestProgramsOfTheClockPage
	"python":  nil, // TestProgramsOfTheClockPage, TestPythonOfTheDelayPage; README.md's: interop/python
	"yaml":    nil, // packaging/kubernetes
	"mermaid": nil, // printed by a command on the same page
	"text":    nil, // what programs print, bytes on disk, parts of larger texts
}

func TestCodeInPages(t *testing.T) {
	// If this fails, a user copies a file or a program out of the documentation that does not work.
	t.Parallel()
	for _, path := range documents(t) {
		for _, b := range blocksOf(t, path) {
			check, known := languages[b.language]
			switch {
			case !known:
				t.Errorf("%s:%d: name the language of the code, ```sh for commands, not %q", b.page, b.line, b.language)
			case check != nil:
				t.Run(fmt.Sprintf("%s:%d", b.page, b.line), func(t *testing.T) { check(t, &b) })
			}
		}
	}
}

func TestCodeIsTheSameInBothLanguages(t *testing.T) {
	// If this fails, who reads Chinese is given other commands than who reads English. Comments are translated.
	t.Parallel()
	comment := regexp.MustCompile(`(?m)\s*(#|//) .*$`)
	code := func(page string) (all []string) {
		for _, b := range blocksOf(t, page) {
			all = append(all, b.language+"\n"+comment.ReplaceAllString(b.text, ""))
		}
		return all
	}
	pages := map[string]string{filepath.Join(root, "README.zh-CN.md"): filepath.Join(root, "README.md")}
	chinese, err := filepath.Glob(filepath.Join(root, "docs/zh-CN/*.md"))
	if err != nil || len(chinese) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range chinese {
		if english := inEnglish(page); english != "" {
			pages[page] = english
		}
	}
	for zh, en := range pages {
		const end = "the end of the page"
		want, got := append(code(en), end), append(code(zh), end)
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Errorf("%s: block %d is\n%s\nin %s it is\n%s", zh, i+1, got[i], en, want[i])
				break
			}
		}
	}
}

func checkConf(t *testing.T, b *block) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "bartleby.conf")
	text := regexp.MustCompile(`/etc/bartleby/([\w.-]+)`).ReplaceAllStringFunc(b.text, func(named string) string {
		name := filepath.Join(dir, filepath.Base(named))
		contents := []byte("{}")
		if ext := filepath.Ext(name); ext == ".pem" || ext == ".key" {
			contents = keyPair(t)
		}
		if err := os.WriteFile(name, contents, 0o600); err != nil {
			t.Error(err)
		}
		return name
	})
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"ORDERS_PASSWORD=secret", "OPS_PASSWORD=secret"}
	if _, err := config.Check(file, environ); err != nil {
		t.Error(err)
	}
}

// keyPair is a key and its certificate, in one file. All have the same key.
var keyPair = func() func(t *testing.T) []byte {
	make := sync.OnceValues(func() ([]byte, error) {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1)}
		certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		if err != nil {
			return nil, err
		}
		key, err := x509.MarshalPKCS8PrivateKey(private)
		return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), err
	})
	return func(t *testing.T) []byte {
		t.Helper()
		both, err := make()
		if err != nil {
			t.Fatal(err)
		}
		return both
	}
}()

// readJSON reads a text in which … stands for what is left out.
func readJSON(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(regexp.MustCompile(`,?…`).ReplaceAllString(text, "")), &v); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	return v
}

// checkGo runs a program with a broker, and a test; a part of one is only parsed.
func checkGo(t *testing.T, b *block) {
	t.Parallel()
	if !strings.HasPrefix(b.text, "package ") {
		if _, err := format.Source([]byte(b.text)); err != nil {
			t.Error(err)
		}
		return
	}
	at := newPlace(t, false)
	verb, file := "test", filepath.Join(at.dir, "snippet_test.go")
	if strings.HasPrefix(b.text, "package main\n") {
		verb, file = "run", filepath.Join(at.dir, "main.go")
	}
	if err := os.WriteFile(file, []byte(at.moved.Replace(b.text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
	if out, err := exec.Command("go", verb, file).CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", verb, err, out)
	}
}

// checkUnit looks at a part of a unit of systemd.
func checkUnit(t *testing.T, b *block) {
	for line := range strings.Lines(b.text) {
		if !regexp.MustCompile(`^(\[[A-Z]\w+\]|[A-Z]\w+=.*)\n$`).MatchString(line) {
			t.Errorf("%q is no line of a unit", line)
		}
	}
}

func TestCommandsOfPages(t *testing.T) {
	// If this fails, a user types a command of the documentation and it fails, or prints something else.
	t.Parallel()
	for _, path := range documents(t) {
		var blocks []block
		for _, b := range blocksOf(t, path) {
			if b.language == "sh" || b.language == "console" {
				blocks = append(blocks, b)
			}
		}
		if blocks == nil {
			continue
		}
		t.Run(blocks[0].page, func(t *testing.T) {
			t.Parallel()
			playPage(t, pages[blocks[0].page], blocks)
		})
	}
}

func playPage(t *testing.T, p page, blocks []block) {
	at := newPlace(t, p.clock)
	if p.prepare != nil {
		p.prepare(t, at)
	}
	used := map[string]bool{}
	find := func(all map[string]string, typed string) (text string, found bool) {
		for prefix := range all {
			if strings.HasPrefix(typed, prefix) {
				used[prefix] = true
				return all[prefix], true
			}
		}
		return "", false
	}
	var commands []command
	for _, b := range blocks {
		first := "unset api\n" // each block can be copied alone
		for _, c := range b.commands() {
			if _, found := find(p.not, c.typed); found {
				continue
			}
			if _, found := find(p.other, c.typed); found {
				c.shown = nil
			}
			preparation, _ := find(p.first, c.typed)
			for word := range p.words {
				if strings.Contains(c.typed, word) {
					c.words = p.words
				}
			}
			if c.words != nil {
				first += p.each
			}
			c.first, first = first+preparation, ""
			c.typed = startsNothing.ReplaceAllString(c.typed, "${1}bartleby config show ")
			commands = append(commands, c)
		}
	}
	for i, r := range at.play(t, p.before, commands) {
		c := commands[i]
		code := "0"
		if i+1 < len(commands) && commands[i+1].typed == "echo $?" {
			code = strings.Join(commands[i+1].shown, "")
		}
		if strconv.Itoa(r.code) != code {
			t.Errorf("line %d: %s\nexit code %d:\n%s", c.line, c.typed, r.code, r.output)
		} else if err := compare(t, c.shown, r.output); err != nil {
			t.Errorf("line %d: %s\n%v:\n%s", c.line, c.typed, err, r.output)
		}
	}
	for _, all := range []map[string]string{p.not, p.other, p.first} {
		for prefix := range all {
			if !used[prefix] {
				t.Errorf("no command begins with %q", prefix)
			}
		}
	}
}

// startsNothing matches a command that starts a broker: its configuration is checked, it is not started.
var startsNothing = regexp.MustCompile(`(^|&& )bartleby serve `)

// changing matches what differs from run to run.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d+\.\d+s?|\d+ms`)

// compare compares what a page shows with what was printed. In a page … stands for anything, and blanks line up
// columns. The line that says what a command does is not shown. Of JSON, the kinds of the values are compared.
func compare(t *testing.T, shown []string, printed string) error {
	if strings.TrimSpace(strings.Join(shown, "")) == "" {
		return nil
	}
	if strings.HasPrefix(shown[0], "{") || strings.HasPrefix(shown[0], "[") {
		want, got := readJSON(t, strings.Join(shown, "\n")), readJSON(t, printed)
		return compareJSON(want, got)
	}
	var pattern strings.Builder
	for _, line := range shown {
		if line == "…" {
			pattern.WriteString(`(.*\n)?`)
			continue
		}
		line = changing.ReplaceAllString(strings.Join(strings.Fields(line), " "), "…")
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`)
	}
	var lines strings.Builder
	for line := range strings.Lines(printed) {
		if line = strings.Join(strings.Fields(line), " "); !strings.HasSuffix(line, "...") {
			lines.WriteString(line + "\n")
		}
	}
	want := regexp.MustCompile(`(?s)^` + strings.TrimSuffix(pattern.String(), `\n`) + `\n*$`)
	if !want.MatchString(lines.String()) {
		return fmt.Errorf("the page shows\n%s\nand it printed", strings.Join(shown, "\n"))
	}
	return nil
}

// compareJSON reports what is in want and not in got: keys, with values of the same kind.
func compareJSON(want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for key, value := range want {
			if err := compareJSON(value, got[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	case []any:
		got, isList := got.([]any)
		if !isList || len(want) > 0 && len(got) == 0 {
			return fmt.Errorf("the page shows %v, it is %v", want, got)
		}
		if len(want) > 0 {
			return compareJSON(want[0], got[0])
		}
	case nil:
	default:
		if reflect.TypeOf(want) != reflect.TypeOf(got) {
			return fmt.Errorf("the page shows %v, it is %v", want, got)
		}
	}
	return nil
}
