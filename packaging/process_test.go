package packaging

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startMax is how long a broker may take to start or to stop.
const startMax = 60 * time.Second

// A jail is a root directory, and whom and how a command in it runs as.
type jail struct {
	root      string
	user      uint32
	group     uint32
	directory string
	env       []string
}

func (j jail) command(args ...string) *exec.Cmd {
	path := args[0]
	if !strings.Contains(path, "/") {
		path = "/usr/bin/" + path
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Env = args[0], j.directory, j.env
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Err = nil // whether the path is there is for the root directory to say
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: j.root, Credential: &syscall.Credential{Uid: j.user, Gid: j.group}}
	return cmd
}

// run returns what the command prints, and fails the test if it fails.
func (j jail) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := j.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A service is a process that has been started.
type service struct {
	cmd  *exec.Cmd
	text *transcript
	gone chan error
}

// start returns when the process has said that it serves.
func (j jail) start(t *testing.T, args ...string) *service {
	t.Helper()
	s := &service{cmd: j.command(args...), text: &transcript{seen: make(chan struct{})}, gone: make(chan error, 1)}
	s.cmd.Stdout, s.cmd.Stderr = s.text, s.text
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.gone <- s.cmd.Wait() }()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	select {
	case <-s.text.seen:
	case err := <-s.gone:
		t.Fatalf("%s ended before it served: %v\n%s", args, err, s.text)
	case <-time.After(startMax):
		t.Fatalf("%s does not serve after %v:\n%s", args, startMax, s.text)
	}
	return s
}

// stop ends the process as service managers do, and fails the test unless it ends well.
func (s *service) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.gone:
		if err != nil {
			t.Fatalf("asked to stop: %v\n%s", err, s.text)
		}
	case <-time.After(startMax):
		t.Fatalf("does not stop within %v:\n%s", startMax, s.text)
	}
}

// A transcript is what a process prints; seen is closed when it has said that it serves.
type transcript struct {
	seen chan struct{}
	mu   struct {
		sync.Mutex
		text bytes.Buffer
		done bool
	}
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.text.Write(p)
	if !w.mu.done && bytes.Contains(w.mu.text.Bytes(), []byte("Server startup complete")) {
		w.mu.done = true
		close(w.seen)
	}
	return len(p), nil
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.text.String()
}

// api asks the broker on this namespace's own port 15672, as guest, and returns the answer's body.
func api(t *testing.T, method, path, body string) string {
	t.Helper()
	return apiAt(t, "127.0.0.1", method, path, body)
}

func apiAt(t *testing.T, host, method, path, body string) string {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+host+":15672/api"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v: %s", method, path, answer.Status, err, text)
	}
	return string(text)
}

// keep puts a persistent message into a new durable queue.
func keep(t *testing.T, queue, text string) {
	t.Helper()
	api(t, "PUT", "/queues/%2F/"+queue, `{"durable":true}`)
	answer := api(t, "POST", "/exchanges/%2F/amq.default/publish", fmt.Sprintf(
		`{"properties":{"delivery_mode":2},"routing_key":%q,"payload":%q,"payload_encoding":"string"}`, queue, text))
	if strings.TrimSpace(answer) != `{"routed":true}` {
		t.Fatalf("publish: %s", answer)
	}
}

// kept fails the test unless the queue's first message is that text.
func kept(t *testing.T, queue, text string) {
	t.Helper()
	answer := api(t, "POST", "/queues/%2F/"+queue+"/get", `{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}`)
	if !strings.Contains(answer, fmt.Sprintf(`"payload":%q`, text)) {
		t.Fatalf("%s has %s, not %q", queue, answer, text)
	}
}

// owner tells whose a file is, and how open.
func owner(t *testing.T, path string) (user uint32, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid, info.Mode().Perm()
}

// names returns what the binary below a directory of the jail is called beside its own name, and what it would like to
// be.
func (j jail) names(t *testing.T, directory string) (called, wanted []string) {
	t.Helper()
	for line := range strings.Lines(j.run(t, "bartleby", "install-shims", "/tmp/names")) {
		path, _, _ := strings.Cut(line, ":")
		wanted = append(wanted, filepath.Base(path))
	}
	entries, err := os.ReadDir(j.root + directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(j.root, directory, e.Name())); err == nil && target == "bartleby" {
			called = append(called, e.Name())
		}
	}
	slices.Sort(wanted)
	slices.Sort(called)
	return called, wanted
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
