//go:build linux

package crashtest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// stream publishes numbered messages to a queue, without end, and acks some of them.
type stream struct {
	confirmed atomic.Int64 // messages 1 to that
	mu        sync.Mutex
	acked     map[int]bool // perhaps
	quit      chan struct{}
	ended     sync.WaitGroup
}

const streamQueue = "stream"

func streamBody(k int) []byte {
	return append(fmt.Appendf(nil, "%d ", k), bytes.Repeat([]byte{'x'}, k*7919%3000)...)
}

func newStream(b *broker) *stream {
	b.t.Helper()
	s := &stream{acked: map[int]bool{}, quit: make(chan struct{})}
	ch := b.channel()
	declare(b.t, ch, streamQueue, true, nil)
	must(b.t, ch.Confirm(false))
	s.ended.Go(func() { s.publish(ch) })
	taker := b.channel()
	must(b.t, taker.Qos(50, 0, false))
	deliveries, err := taker.Consume(streamQueue, "", false, false, false, false, nil)
	must(b.t, err)
	s.ended.Go(func() { s.ack(deliveries) })
	return s
}

// publish ends when the broker or the test does.
func (s *stream) publish(ch *amqp.Channel) {
	for k := 1; ; {
		var last *amqp.DeferredConfirmation
		for range 50 {
			c, err := ch.PublishWithDeferredConfirm("", streamQueue, false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: streamBody(k)})
			if err != nil {
				return
			}
			last = c
			k++
		}
		select {
		case <-s.quit:
			return
		case <-last.Done():
		}
		if !last.Acked() { // in order: all before it are confirmed, too
			return
		}
		s.confirmed.Store(int64(k - 1))
	}
}

// ack settles half of what comes; of what it keeps the consumer may have fifty.
func (s *stream) ack(deliveries <-chan amqp.Delivery) {
	for d := range deliveries {
		s.mu.Lock()
		s.acked[numberOf(d.Body)] = true
		s.mu.Unlock()
		if d.Ack(false) != nil {
			return
		}
	}
}

func numberOf(body []byte) int {
	text, _, _ := strings.Cut(string(body), " ")
	k, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return k
}

// has fails unless a broker that starts on a copy has the messages up to confirmed that were not acked, each once.
func (s *stream) has(t *testing.T, dir string, confirmed int64) {
	t.Helper()
	b := start(t, dir)
	ch := b.channel()
	there := map[int]bool{}
	q, err := ch.QueueDeclarePassive(streamQueue, true, false, false, false, nil)
	must(t, err)
	deliveries, err := ch.Consume(streamQueue, "", true, false, false, false, nil)
	must(t, err)
	for range q.Messages {
		d := await(t, "a message of the copy", deliveries)
		k := numberOf(d.Body)
		if there[k] || !bytes.Equal(d.Body, streamBody(k)) {
			t.Fatalf("message %d is there twice, or is another one", k)
		}
		there[k] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := 0
	for k := 1; k <= int(confirmed); k++ {
		if !there[k] && !s.acked[k] {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d confirmed messages are missing from %s, which has %d", missing, confirmed, dir, len(there))
	}
	b.kill()
}

// backup runs the command.
func (b *broker) backup(to ...string) *exec.Cmd {
	return exec.Command(*program, append([]string{"backup", "--node", "http://" + b.addr("http"), "--data", b.dir}, to...)...)
}

// If this fails, a backup of a busy broker does not contain all messages confirmed before it, no broker starts from it,
// or a backup that was interrupted because the broker was killed is accepted as complete.
func TestKillBesideBackups(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), "--segment-size", "1048576")
	s := newStream(b)
	defer s.ended.Wait()
	defer close(s.quit)
	eventually(t, "20 MB of messages", func() bool { return s.confirmed.Load() > 15_000 })

	places := t.TempDir()
	confirmed := map[string]int64{}
	run := func(place string, to ...string) {
		t.Helper()
		confirmed[place] = s.confirmed.Load()
		if out, err := b.backup(to...).CombinedOutput(); err != nil || !strings.Contains(string(out), " files, ") {
			t.Errorf("backup %v: %v\n%s", to, err, out)
		}
	}
	for i := range 2 {
		place := filepath.Join(places, fmt.Sprint("copy", i))
		run(place, place)
	}
	unpacked, file := filepath.Join(places, "unpacked"), filepath.Join(places, "all.tar")
	run(unpacked, "--tar", file)
	untar(t, file, unpacked)
	if out, err := b.backup(filepath.Join(places, "copy0")).CombinedOutput(); err == nil || !strings.Contains(string(out), "not empty") {
		t.Errorf("a backup over another one: %v\n%s", err, out)
	}

	broken, cmd := s.halfABackup(b, places)
	b.kill()
	if cmd.Wait() == nil {
		t.Error("a backup succeeds of which the broker was killed")
	}
	for place, n := range confirmed {
		s.has(t, place, n)
	}
	half := launch(t, broken)
	if code := half.awaitExit(); code == 0 || !strings.Contains(half.stderr.tail(5), "this backup is incomplete") {
		t.Errorf("start from half a backup: exit code %d, %s", code, half.stderr.tail(5))
	}
	s.has(t, b.dir, s.confirmed.Load())
}

// halfABackup stops the broker in the middle of a backup: some segments are there, and the manifest, which comes last,
// is not.
func (s *stream) halfABackup(b *broker, places string) (dir string, cmd *exec.Cmd) {
	b.t.Helper()
	for i := range 20 {
		dir = filepath.Join(places, fmt.Sprint("broken", i))
		cmd = b.backup(dir)
		must(b.t, cmd.Start())
		eventually(b.t, "a backup begins", func() bool {
			segments, err := filepath.Glob(filepath.Join(dir, "journal", "*.segment"))
			return err == nil && len(segments) > 1
		})
		b.freeze()
		if _, err := os.Stat(filepath.Join(dir, "journal", "manifest")); errors.Is(err, os.ErrNotExist) {
			return dir, cmd
		}
		b.thaw() // it was too quick
		must(b.t, cmd.Wait())
	}
	b.t.Fatal("no backup was caught in the middle")
	return "", nil
}

// untar unpacks a tar file into a new directory.
func untar(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	for files := tar.NewReader(f); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		out, err := os.Create(path)
		must(t, err)
		_, err = io.Copy(out, files)
		must(t, errors.Join(err, out.Close()))
	}
}
