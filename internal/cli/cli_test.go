package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected part of testdata/*.txt; read the difference")

// A case in testdata/*.txt is, up to a line ====, what the fake broker answers, what is typed, and what comes of it:
//
//	< METHOD PATH STATUS BODY     an answer; whatever else is asked for is not found
//	stdin TEXT
//	$ rabbitmqctl -q list_queues  words quoted as in a shell
//	----
//	exit CODE
//	> METHOD PATH BODY            what was asked, in order
//	output                        on standard output
//	! output                      on standard error
func TestScripts(t *testing.T) {
	// If this fails, scripts written for RabbitMQ's tools see other output, exit codes or effects.
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cases := strings.Split(string(b), "====\n")
			for i, text := range cases {
				typed, want, _ := strings.Cut(text, "----\n")
				got := play(t, typed)
				if got != want && !*update {
					t.Errorf("%s\n--- got\n%s--- want\n%s", typed, got, want)
				}
				cases[i] = typed + "----\n" + got
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(cases, "====\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs one case and writes down what came of it.
func play(t *testing.T, typed string) string {
	t.Helper()
	answers := map[string]string{}
	var command, stdin string
	for line := range strings.Lines(typed) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "< "):
			method, rest, _ := strings.Cut(line[2:], " ")
			path, answer, _ := strings.Cut(rest, " ")
			answers[method+" "+path] = answer
		case strings.HasPrefix(line, "stdin "):
			stdin = line[6:] + "\n"
		case strings.HasPrefix(line, "$ "):
			command = line[2:]
		}
	}
	var asked bytes.Buffer
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		target := r.URL.EscapedPath()
		if target == "/api/whoami" && r.Method == "GET" && answers["GET "+target] == "" {
			return // an API it is
		}
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		fmt.Fprintln(&asked, strings.TrimSpace(fmt.Sprintf("> %s %s %s", r.Method, target, body)))
		answer, ok := answers[r.Method+" "+target]
		if whole, _, cut := strings.Cut(target, "?columns="); cut && !ok {
			answer, ok = answers[r.Method+" "+whole] // columns that were not asked for do no harm
		}
		if !ok {
			answer = `404 {"error":"Object Not Found","reason":"Not Found"}`
		}
		code, text, _ := strings.Cut(answer, " ")
		n, err := strconv.Atoi(code)
		if err != nil {
			t.Errorf("bad answer %s", answer)
			return
		}
		w.WriteHeader(n)
		io.WriteString(w, text)
	}))
	defer s.Close()
	words := shell(t, command)
	var out, errs bytes.Buffer
	env := func(name string) string {
		if name == "BARTLEBY_MANAGEMENT" {
			return s.URL
		}
		return ""
	}
	code := Main(words[0], words[1:], strings.NewReader(stdin), &out, &errs, env)
	got := fmt.Sprintf("exit %d\n%s%s", code, &asked, &out)
	for line := range strings.Lines(errs.String()) {
		got += strings.TrimSuffix(strings.TrimSuffix("! "+line, "\n"), " ") + "\n"
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(got, "rabbit@"+host, "rabbit@here"), s.URL, "http://broker")
}

// shell splits a line into words as sh does, without expansions.
func shell(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	var mark rune
	inWord := false
	for _, r := range line {
		switch {
		case mark != 0 && r == mark:
			mark = 0
		case mark == 0 && (r == '\'' || r == '"'):
			mark, inWord = r, true
		case mark == 0 && r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if mark != 0 {
		t.Fatalf("unfinished quotation in %s", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
