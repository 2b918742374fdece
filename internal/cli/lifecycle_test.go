package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test's binary be the process of a broker, which ends at SIGTERM.
func TestMain(m *testing.M) {
	if os.Getenv("BE_A_BROKER") != "" {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		<-signals
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process starts one of the test's binary; ended yields how it went.
func process(t *testing.T) (pid int, ended <-chan error) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := exec.Command(own)
	p.Env = append(os.Environ(), "BE_A_BROKER=1")
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // which has ended, if the test has passed
	if _, err := io.ReadFull(out, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Wait() }()
	return p.Process.Pid, done
}

// brokerAt answers for a broker whose process has a number, and which takes a secret only.
func brokerAt(t *testing.T, pid int, secret string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+secret:
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/overview"):
			io.WriteString(w, `{"node":"rabbit@n"}`)
		default:
			fmt.Fprintf(w, `{"name":"rabbit@n","os_pid":"%d"}`, pid)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestStop(t *testing.T) {
	// If this fails, 'rabbitmqctl stop' leaves the broker running, does not wait for its end, or ends something else.
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ctl-secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"stop"}, {"shutdown"}, {"shutdown", "--no-wait"}} {
		pid, ended := process(t)
		s := brokerAt(t, pid, "s")
		if code, _, errs := outcome(nil, append([]string{"rabbitmqctl", "-n", s.URL, "--data", dir}, words...)...); code != 0 {
			t.Fatalf("%v: exit %d, %s", words, code, errs)
		}
		if err := <-ended; err != nil {
			t.Errorf("%v: %v", words, err)
		}
	}
	// Of a process that runs another program, as one behind a tunnel or in a container would seem to, it keeps its
	// hands.
	s := brokerAt(t, 1, "s")
	if code, _, errs := outcome(nil, "rabbitmqctl", "-n", s.URL, "--data", dir, "stop"); code != 69 || !strings.Contains(errs, "Stop this one the way it was started") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestWait(t *testing.T) {
	// If this fails, a script that has started a broker waits for ever for one that has died, or not at all.
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer s.Close()
	pid, ended := process(t)
	file := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(file, []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{file}, {"--pid", strconv.Itoa(pid)}, nil} {
		if code, _, errs := outcome(nil, append([]string{"rabbitmqctl", "-n", s.URL, "wait"}, words...)...); code != 0 {
			t.Errorf("%v: exit %d, %s", words, code, errs)
		}
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ended
	for _, c := range []struct {
		code  int
		words []string
		say   string
	}{
		{69, []string{file}, "exited before the broker was ready"},
		{65, []string{"--pid", "x"}, "not a process id"},
		{64, []string{file, "--pid", "1"}, "not both"},
		{75, []string{file + "-never", "-t", "0.05"}, "timed out"},
	} {
		if code, _, errs := outcome(nil, append([]string{"rabbitmqctl", "-n", s.URL, "wait"}, c.words...)...); code != c.code || !strings.Contains(errs, c.say) {
			t.Errorf("%v: exit %d, %s", c.words, code, errs)
		}
	}
}
