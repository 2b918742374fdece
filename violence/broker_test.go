//go:build linux

package violence

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// patience is how long a test waits for something that must happen. Nothing takes this long unless it never comes.
const patience = 30 * time.Second

var (
	program = flag.String("binary", "", "the broker under test; empty: built from this source")
	seed    = flag.Uint64("seed", 0, "of all dice; zero: a new one, printed")
	rounds  = flag.Int("rounds", 0, "how often the broker is killed under load on the same data; zero: no broker is started, the judge alone is tested")
)

// TestMain leaves the quick inner loop, which names no rounds, with the test of the judge.
func TestMain(m *testing.M) {
	flag.Parse()
	if *rounds == 0 {
		if err := flag.Set("test.run", "^TestKillLedger$"); err != nil {
			panic(err)
		}
	}
	os.Exit(run(m))
}

// run builds the binary if none is given.
func run(m *testing.M) int {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Printf("seed %d\n", *seed)
	if *rounds == 0 {
		return m.Run()
	}
	if *program != "" {
		path, err := filepath.Abs(*program)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "no binary:", err)
			return 2
		}
		*program = path
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "bartleby-violence")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	*program = filepath.Join(dir, "bartleby")
	build := exec.Command("go", "build", "-o", *program, "../cmd/bartleby")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the broker: %v\n%s", err, out)
		return 2
	}
	return m.Run()
}

// dice returns random numbers of a test's own, the same for the same seed.
func dice(t testing.TB) *rand.Rand {
	own := uint64(0)
	for _, c := range t.Name() {
		own = own*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(*seed, own))
}

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
}

// launch starts a broker and does not wait for it.
func launch(t testing.TB, dir string) *broker {
	t.Helper()
	b := &broker{t: t, dir: dir, exited: make(chan struct{}), started: time.Now()}
	b.cmd = exec.Command(*program, "serve", "--data", dir,
		"--listen", "127.0.0.1:0", "--management", "127.0.0.1:0", "--prometheus", "127.0.0.1:0")
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
		b.kill()
		if t.Failed() {
			t.Logf("the broker's last words:\n%s", b.stderr.tail(40))
		}
	})
	return b
}

// start starts a broker and waits until it serves.
func start(t testing.TB, dir string) *broker {
	t.Helper()
	b := launch(t, dir)
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
	_ = b.cmd.Process.Kill() // an error means that it is gone
	b.awaitExit()
}

func (b *broker) terminate() { must(b.t, b.cmd.Process.Signal(syscall.SIGTERM)) }

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

// dial connects as guest. The library waits for answers for ever: after twice our patience the socket is cut.
func (b *broker) dial() *amqp.Connection {
	b.t.Helper()
	c, _, err := b.dialValve()
	must(b.t, err)
	return c
}

func (b *broker) dialValve() (*amqp.Connection, *valve, error) {
	var v *valve
	config := amqp.Config{
		Heartbeat: 60 * time.Second, // none of ours: a stalled reader must not be taken for dead
		Vhost:     "/",
		Dial: func(network, addr string) (net.Conn, error) {
			conn, err := net.DialTimeout(network, addr, patience)
			if err != nil {
				return nil, err
			}
			late := time.AfterFunc(4*patience, func() { conn.Close() })
			b.t.Cleanup(func() { late.Stop() })
			v = &valve{Conn: conn, open: make(chan struct{})}
			close(v.open)
			return v, nil
		},
	}
	c, err := amqp.DialConfig("amqp://guest:guest@"+b.addr("amqp"), config)
	if err == nil {
		b.t.Cleanup(func() { _ = c.CloseDeadline(time.Now().Add(time.Second)) })
	}
	return c, v, err
}

// channel opens a channel on a connection of its own.
func (b *broker) channel() *amqp.Channel {
	b.t.Helper()
	return channelOn(b.t, b.dial())
}

func channelOn(t testing.TB, c *amqp.Connection) *amqp.Channel {
	t.Helper()
	ch, err := c.Channel()
	must(t, err)
	return ch
}

// A valve is a socket whose reader can be stopped.
type valve struct {
	net.Conn
	mu   sync.Mutex
	open chan struct{} // closed: reads go on
}

func (v *valve) Read(p []byte) (int, error) {
	v.mu.Lock()
	open := v.open
	v.mu.Unlock()
	<-open
	return v.Conn.Read(p)
}

// shut stops reads from the next one on; reopen lets them go on.
func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = make(chan struct{})
}

func (v *valve) reopen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.open)
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
	ask, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, "http://"+b.addr(protocol)+path, nil)
	must(b.t, err)
	ask.SetBasicAuth("guest", "guest")
	ask.Close = true // a connection kept would be counted among the broker's sockets
	answer, err := (&http.Client{Timeout: patience}).Do(ask)
	must(b.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(b.t, err)
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("GET %s: %s", path, answer.Status)
	}
	return string(body)
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

func (s *transcript) tail(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.mu.lines[max(0, len(s.mu.lines)-n):]
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks until yes: for what has no event that a client could wait for.
func eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for !yes() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// await returns the next event, and fails the test when none comes.
func await[E any](t testing.TB, what string, events <-chan E) E {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatalf("waiting for %s: the channel or connection has been closed", what)
		}
		return e
	case <-time.After(patience):
		t.Fatalf("waiting for %s: nothing in %v", what, patience)
	}
	panic("unreachable")
}

// depth is how many messages of a queue are ready.
func depth(t testing.TB, ch *amqp.Channel, queue string) int {
	t.Helper()
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	must(t, err)
	return q.Messages
}

// declare makes a queue and empties nothing.
func declare(t testing.TB, ch *amqp.Channel, name string, durable bool, args amqp.Table) {
	t.Helper()
	_, err := ch.QueueDeclare(name, durable, false, false, false, args)
	must(t, err)
}

// publish sends persistent messages to a queue and waits for their confirms.
func publish(t testing.TB, ch *amqp.Channel, queue string, bodies ...[]byte) {
	t.Helper()
	must(t, ch.Confirm(false))
	all := make([]*amqp.DeferredConfirmation, 0, len(bodies))
	for _, body := range bodies {
		c, err := ch.PublishWithDeferredConfirm("", queue, false, false, persistent(body))
		must(t, err)
		all = append(all, c)
	}
	deadline := time.After(patience)
	for i, c := range all {
		select {
		case <-c.Done():
			if !c.Acked() {
				t.Fatalf("message %d to %s was not confirmed", i, queue)
			}
		case <-deadline:
			t.Fatalf("%d of %d messages to %s confirmed in %v", i, len(all), queue, patience)
		}
	}
}

func persistent(body []byte) amqp.Publishing {
	return amqp.Publishing{DeliveryMode: amqp.Persistent, Body: body}
}

// refusal fails the test unless err is the broker's, with this code.
func refusal(t testing.TB, err error, code int) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want the refusal %d", err, code)
	}
}
