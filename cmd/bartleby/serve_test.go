package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said is what a broker prints.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newSaid() *said { return &said{more: make(chan struct{}, 1)} }

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until it is said, and returns what matches.
func (s *said) await(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	late := time.After(30 * time.Second)
	for {
		if m := re.FindStringSubmatch(s.String()); m != nil {
			return m
		}
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("nobody said %s, but:\n%s", pattern, s)
		}
	}
}

func TestStartIsShownOnceOnATerminal(t *testing.T) {
	// If this fails, who starts the broker reads each listener twice, or does not learn where the console is.
	data := filepath.Join(t.TempDir(), "data")
	start := func(data string, more ...string) string {
		t.Helper()
		read, both, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		text := newSaid()
		go io.Copy(text, read)
		ended := make(chan int, 1)
		go func() {
			args := []string{"bartleby", "serve", "--data", data, "--listen", "127.0.0.1:0", "--management", ":0", "--prometheus", "none"}
			args = append(args, more...)
			ended <- run(args, strings.NewReader(""), both, both)
			both.Close()
		}()
		text.await(t, `(Console: .*)\n`)
		shown := text.String()
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-ended
		return shown
	}
	first := start(data)
	if strings.Count(first, "listener") != 2 || strings.Count(first, "Server startup complete") != 1 {
		t.Errorf("it said:\n%s", first)
	}
	if !regexp.MustCompile(`\nConsole: http://127\.0\.0\.1:\d+ \(user guest, password guest\)\n$`).MatchString(first) {
		t.Errorf("it ended with:\n%s", first)
	}
	if again := start(data); !regexp.MustCompile(`\nConsole: http://127\.0\.0\.1:\d+\n$`).MatchString(again) {
		t.Errorf("a broker with data ended with:\n%s", again)
	}
	file := filepath.Join(t.TempDir(), "definitions.json")
	if err := os.WriteFile(file, []byte(`{"vhosts":[{"name":"/"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if loaded := start(t.TempDir(), "--load_definitions", file); strings.Contains(loaded, "guest") {
		t.Errorf("a new broker whose users are those of a file ended with:\n%s", loaded)
	}
}

func TestServeObeysSignals(t *testing.T) {
	// If this fails, the broker does not run with what it was told, ends at SIGHUP, or waits at SIGTERM for who is
	// silent.
	dir := t.TempDir()
	conf := filepath.Join(dir, "bartleby.conf")
	log := filepath.Join(dir, "log", "b.log")
	text := "listeners.tcp.local = 127.0.0.1:0\nmanagement = none\nprometheus = none\nreserve = -1\nlog.file = " + log +
		"\nhipe_compile = true\nmotd_file = " + conf + "\npid_file = " + filepath.Join(dir, "pid") + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RABBITMQ_DEFAULT_USER", "alice")
	t.Setenv("RABBITMQ_DEFAULT_PASS", "secret")
	stdout, stderr := newSaid(), newSaid()
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"bartleby", "serve", "--config", conf, "--data", filepath.Join(dir, "data")}, strings.NewReader(""), stdout, stderr)
	}()
	address := stdout.await(t, `started amqp listener on (\S+)`)[1]
	stdout.await(t, `(hipe_compile) = true`)
	stderr.await(t, `\[info\] <[0-9.]+> Server startup complete; 8 plugins started\.`)
	if said := stderr.String(); !strings.Contains(said, "without effect: hipe_compile") || strings.Contains(said, "secret") {
		t.Errorf("said:\n%s", said)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "pid")); err != nil || len(text) == 0 {
		t.Errorf("pid file: %q, %v", text, err)
	}
	if err := os.Rename(log, log+".old"); err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGHUP)
	stderr.await(t, "certificates reloaded")
	if _, err := os.Stat(log); err != nil {
		t.Errorf("the log's file was not opened anew: %v", err)
	}
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	signal(syscall.SIGTERM)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("stopped after %v", took)
	}
}

func TestConfigCommand(t *testing.T) {
	// If this fails, a mistake in a file is found only by a broker that does not start.
	t.Parallel()
	dir := t.TempDir()
	path := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := path("good.conf", "heartbeat = 10\nreverse_dns_lookups = true\n")
	bad := path("bad.conf", "hartbeat = 10\nfoo\n")
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"check", good}, 0, good + " is valid\n", "without effect: reverse_dns_lookups"},
		{[]string{"check", good, bad}, exitConfig, good + " is valid\n", bad + `:1: unknown key "hartbeat", did you mean "heartbeat"?`},
		{[]string{"check", filepath.Join(dir, "none")}, exitConfig, "", "no such file"},
		{[]string{"check"}, exitUsage, "", "Usage:"},
		{[]string{"show", "--config", good, "--set", "frame_max=9000"}, 0, "frame_max = 9000", ""},
		{[]string{"show", "--config", bad}, exitConfig, "", "hartbeat"},
		{[]string{"show", "--set", "colour=red"}, exitConfig, "", `option --set: unknown key "colour"`},
		{[]string{"help"}, 0, "bartleby config check", ""},
	} {
		var stdout, stderr bytes.Buffer
		code := run(append([]string{"bartleby", "config"}, c.args...), strings.NewReader(""), &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%v: exit code %d\n%s\n%s", c.args, code, &stdout, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"bartleby", "serve", "--config", bad}, strings.NewReader(""), &stdout, &stderr); code != exitConfig {
		t.Errorf("serve with mistakes: exit code %d: %s", code, &stderr)
	}
	if code := run([]string{"bartleby", "serve", "--colour", "red"}, strings.NewReader(""), &stdout, &stderr); code != exitUsage {
		t.Errorf("serve with an option that does not exist: exit code %d", code)
	}
}

// If this fails, a process that was told to stop and cannot, for the disk does not answer, stays for ever, or ends as
// if nothing was amiss.
func TestEndsThoughItCannotStop(t *testing.T) {
	stderr, code := newSaid(), make(chan int, 1)
	tooLate(stderr, func(c int) { code <- c })
	if got := <-code; got == 0 {
		t.Error("exit code 0")
	}
	stderr.await(t, `shutdown did not finish within 10s .* Confirmed messages are on disk`)
}
