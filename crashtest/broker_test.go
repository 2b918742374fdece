//go:build linux

package crashtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for something that must happen. Nothing takes this long unless it never comes.
const patience = 30 * time.Second

// A broker is a process under test. It ends with the test.
type broker struct {
	t       testing.TB
	dir     string
	cmd     *exec.Cmd
	stdout  transcript
	stderr  transcript
	started time.Time
	exited  chan struct{} // closed at the end, then code is set
	code    int           // -1: by a signal
	killed  bool          // on purpose
	asked   chan struct{} // closed when it was asked to end, or is about to be killed
	asking  sync.Once
	clock   struct {
		sync.Mutex
		stopped   time.Time     // by freeze; zero: it runs
		stoppedIn time.Duration // all earlier stops together
	}
}

// launch starts a broker, with options beside those that every broker here gets, and does not wait for it.
func launch(t testing.TB, dir string, options ...string) *broker {
	t.Helper()
	b := &broker{t: t, dir: dir, exited: make(chan struct{}), asked: make(chan struct{}), started: time.Now()}
	b.cmd = exec.Command(*program, append([]string{"serve", "--data", dir,
		"--listen", "127.0.0.1:0", "--management", "127.0.0.1:0", "--prometheus", "127.0.0.1:0"}, options...)...)
	// A test run that is itself killed leaves no broker behind.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := b.cmd.StdoutPipe()
	must(t, err)
	stderr, err := b.cmd.StderrPipe()
	must(t, err)
	must(t, b.cmd.Start())
	var reading sync.WaitGroup
	reading.Go(func() { b.stdout.read(stdout) })
	reading.Go(func() { b.stderr.read(stderr) })
	go func() {
		reading.Wait()
		_ = b.cmd.Wait() // ProcessState says the same
		b.code = b.cmd.ProcessState.ExitCode()
		close(b.exited)
	}()
	t.Cleanup(func() {
		alive := !b.killed
		b.kill()
		if t.Failed() && alive {
			t.Logf("the broker's last words:\n%s", b.stderr.tail(40))
		}
	})
	return b
}

// start starts a broker and waits until it serves.
func start(t testing.TB, dir string, options ...string) *broker {
	t.Helper()
	b := launch(t, dir, options...)
	b.await(&b.stdout, "Server startup complete")
	return b
}

// await waits for a line with text, and returns it.
func (b *broker) await(from *transcript, text string) string {
	b.t.Helper()
	line, ok := from.await(text, patience, b.exited)
	if !ok {
		b.t.Fatalf("the broker did not say %q; it said:\n%s%s", text, b.stdout.tail(20), b.stderr.tail(40))
	}
	return line
}

// addr is where the listener of a protocol is.
func (b *broker) addr(protocol string) string {
	b.t.Helper()
	m := regexp.MustCompile(`started ` + protocol + ` listener on (\S+)`).FindStringSubmatch(b.stdout.tail(20))
	if m == nil {
		b.t.Fatalf("no listener for %s", protocol)
	}
	return m[1]
}

// kill is kill -9. On return the process is gone.
func (b *broker) kill() {
	b.endSoon()
	b.killed = true
	_ = b.cmd.Process.Kill() // an error means that it is gone
	b.awaitExit()
}

// ending is closed from when on a broker that does not answer is none to complain about.
func (b *broker) ending() <-chan struct{} { return b.asked }

func (b *broker) endSoon() { b.asking.Do(func() { close(b.asked) }) }

func (b *broker) terminate() { must(b.t, b.cmd.Process.Signal(syscall.SIGTERM)) }

// freeze stops the process without its knowledge, thaw lets it go on. A frozen one can be killed.
func (b *broker) freeze() {
	must(b.t, b.cmd.Process.Signal(syscall.SIGSTOP))
	b.clock.Lock()
	defer b.clock.Unlock()
	b.clock.stopped = time.Now()
}

func (b *broker) thaw() {
	b.clock.Lock()
	b.clock.stoppedIn += time.Since(b.clock.stopped)
	b.clock.stopped = time.Time{}
	b.clock.Unlock()
	must(b.t, b.cmd.Process.Signal(syscall.SIGCONT))
}

// lived is for how long the process has run, without the time for which it was frozen.
func (b *broker) lived() time.Duration {
	b.clock.Lock()
	defer b.clock.Unlock()
	until := time.Now()
	if !b.clock.stopped.IsZero() {
		until = b.clock.stopped
	}
	return until.Sub(b.started) - b.clock.stoppedIn
}

// awaitExit returns the exit code.
func (b *broker) awaitExit() int {
	b.t.Helper()
	select {
	case <-b.exited:
		return b.code
	case <-time.After(patience):
		b.t.Fatalf("the broker did not exit; it said:\n%s", b.stderr.tail(40))
		return 0
	}
}

// A figure is one of /proc/PID/status, such as VmRSS or Threads; sizes are in bytes.
func (b *broker) figure(name string) int64 {
	b.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	must(b.t, err)
	m := regexp.MustCompile(name + `:\s+(\d+)( kB)?`).FindStringSubmatch(string(status))
	if m == nil {
		b.t.Fatalf("no %s in /proc/PID/status", name)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	must(b.t, err)
	if m[2] != "" {
		n <<= 10
	}
	return n
}

// sockets counts the broker's open sockets.
func (b *broker) sockets() int {
	b.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", b.cmd.Process.Pid)
	fds, err := os.ReadDir(dir)
	must(b.t, err)
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// page fetches a page of metrics or of the management API.
func (b *broker) page(protocol, path string) string {
	b.t.Helper()
	status, body, err := b.ask(protocol, http.MethodGet, path, nil)
	must(b.t, err)
	if status != http.StatusOK {
		b.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	return string(body)
}

// ask sends a request, with JSON if it has content, and returns the answer's status and body.
func (b *broker) ask(protocol, method, path string, content any) (int, []byte, error) {
	var sent io.Reader
	if content != nil {
		text, err := json.Marshal(content)
		if err != nil {
			return 0, nil, err
		}
		sent = bytes.NewReader(text)
	}
	ask, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.addr(protocol)+path, sent)
	if err != nil {
		return 0, nil, err
	}
	ask.SetBasicAuth("guest", "guest")
	ask.Close = true // a connection kept would be counted among the broker's sockets
	answer, err := (&http.Client{Timeout: patience}).Do(ask)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// list fetches a list of the management API.
func (b *broker) list(path string, into any) {
	b.t.Helper()
	must(b.t, json.Unmarshal([]byte(b.page("http", path)), into))
}

// change sends a request that must succeed.
func (b *broker) change(method, path string, content any) []byte {
	b.t.Helper()
	status, body, err := b.ask("http", method, path, content)
	must(b.t, err)
	if status >= 300 {
		b.t.Fatalf("%s %s: %d %s", method, path, status, body)
	}
	return body
}

// goroutines is how many the broker says it has, in RabbitMQ's word for them.
func (b *broker) goroutines() int {
	b.t.Helper()
	m := regexp.MustCompile(`(?m)^rabbitmq_erlang_processes_used (\d+)`).FindStringSubmatch(b.page("http/prometheus", "/metrics"))
	if m == nil {
		b.t.Fatal("the page of metrics does not count goroutines")
	}
	n, err := strconv.Atoi(m[1])
	must(b.t, err)
	return n
}

// A transcript is what a process said so far.
type transcript struct {
	mu struct {
		sync.Mutex
		lines []string
		more  chan struct{} // closed with the next line
	}
}

func (s *transcript) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.mu.lines = append(s.mu.lines, lines.Text())
		if s.mu.more != nil {
			close(s.mu.more)
			s.mu.more = nil
		}
		s.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, from) // a line beyond the buffer must not stop the process
}

// find returns the first line with text, or a channel that is closed when there are more.
func (s *transcript) find(text string) (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.lines {
		if strings.Contains(l, text) {
			return l, nil
		}
	}
	if s.mu.more == nil {
		s.mu.more = make(chan struct{})
	}
	return "", s.mu.more
}

func (s *transcript) await(text string, within time.Duration, exited <-chan struct{}) (string, bool) {
	deadline := time.After(within)
	for {
		line, more := s.find(text)
		if more == nil {
			return line, true
		}
		select {
		case <-more:
		case <-exited:
			line, more = s.find(text)
			return line, more == nil
		case <-deadline:
			return "", false
		}
	}
}

// tail returns the last n lines, at most. Of the many about connections that come and go it has none.
func (s *transcript) tail(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, l := range slices.Backward(s.mu.lines) {
		if !strings.Contains(l, ` connection="`) {
			lines = append(lines, l+"\n")
		}
		if len(lines) == n {
			break
		}
	}
	slices.Reverse(lines)
	return strings.Join(lines, "")
}
