package command

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// hard are words that shells change unless they are quoted.
var hard = []string{
	"", "plain", "two words", `it's`, `"`, `\`, `\\`, `a\"b`, `ends with \`, `^(a|b)$`, "$HOME", "`id`", "!x", "~", "*",
	"100%", "%PATH%", `%PATH:a=b% & "c"`, "死信", "a&b", "<>", "{a,b}", "#", "-", "--x",
	`{"dead-letter-exchange":"my-dlx","pattern":"a|b & \"c\""}`,
	"tab\there", ";", "(x)", "a^b", `C:\dir\`, "line\nbreak",
}

func TestQuotedForAShell(t *testing.T) {
	// If this fails, a command that an error or the documentation shows does something else when it is typed.
	t.Parallel()
	for _, shell := range []string{"sh", "bash"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Fatal(err)
		}
		line := "printf '%s\\0'"
		for _, word := range hard {
			line += " " + Quote(word, false)
		}
		out, err := exec.Command(program, "-c", line).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, hard) {
			t.Errorf("%s: %q", shell, got)
		}
	}
}

func TestQuotedForCmd(t *testing.T) {
	// If this fails, a command that an error shows on Windows does something else when it is typed.
	t.Parallel()
	for _, word := range hard {
		if strings.Contains(word, "\n") {
			continue // cmd.exe has no way to type it
		}
		typed := Quote(word, true)
		want := []string{"program", word, "next"}
		if got := words(t, cmdLine(t, "program "+typed+" next")); !slices.Equal(got, want) {
			t.Errorf("%s is typed as %s, and arrives as %q", word, typed, got)
		}
	}
	if got := Quote(`{"a":"b"}`, true); got != `"{\"a\":\"b\"}"` {
		t.Errorf("a plain definition is typed as %s", got)
	}
}

// cmdLine is what cmd.exe hands to a program when a line is typed. Source: how the Windows command interpreter parses
// scripts, phases 1 and 2, without a batch file and without delayed expansion.
func cmdLine(t *testing.T, typed string) string {
	t.Helper()
	if strings.Contains(typed, "%PATH%") || strings.Contains(typed, "%PATH:") { // a variable that is there
		t.Errorf("a variable is expanded in %s", typed)
	}
	var b strings.Builder
	quoted, escaped := false, false
	for _, r := range typed {
		switch {
		case escaped:
			escaped = false
		case r == '"':
			quoted = !quoted
		case !quoted && r == '^':
			escaped = true
			continue
		case !quoted && strings.ContainsRune("&|<>()", r):
			t.Errorf("%c means something to cmd.exe in %s", r, typed)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// words divides a command line as Go does. Source: Go, readNextArg of os/exec_windows.go.
func words(t *testing.T, line string) (all []string) {
	t.Helper()
	for line != "" {
		var b []byte
		slashes, quoted := 0, false
		for ; line != ""; line = line[1:] {
			c := line[0]
			if (c == ' ' || c == '\t') && !quoted {
				line = line[1:]
				break
			}
			if c == '\\' {
				slashes++
				continue
			}
			kept := slashes
			if c == '"' {
				kept /= 2
			}
			b = append(b, strings.Repeat(`\`, kept)...)
			odd := slashes%2 == 1
			slashes = 0
			switch {
			case c != '"' || odd:
				b = append(b, c)
			case quoted && strings.HasPrefix(line, `""`):
				b = append(b, c)
				line = line[1:]
				quoted = false
			default:
				quoted = !quoted
			}
		}
		all = append(all, string(b)+strings.Repeat(`\`, slashes))
	}
	return all
}
