//go:build linux

package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sys/unix"
)

const (
	// A broker's reserve and the segments it makes ahead take 384 MiB; what is published before and after the disk is
	// full must not fill the rest by itself.
	diskBytes = 1 << 30
	bigBody   = 16 << 10
)

// smallDisk mounts a disk in memory. It takes the right to mount.
func smallDisk(t testing.TB, size int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
	if errors.Is(err, unix.EPERM) {
		t.Skip("a small disk needs the right to mount one; run as root (in a container, with CAP_SYS_ADMIN)")
	}
	must(t, err)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// ballast takes all the space that is left on a disk, and returns the file that has it.
func ballast(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else {
			must(t, err)
		}
	}
	return path
}

// A flood publishes numbered messages until its connection ends.
type flood struct {
	conn     *amqp.Connection
	progress chan struct{} // a confirm has come
	done     chan struct{}
	mu       struct {
		sync.Mutex
		confirmed map[uint64]bool
	}
}

// startFlood publishes messages of bigBody bytes to a queue, some ahead of the confirms.
func startFlood(b *broker, queue string) *flood {
	b.t.Helper()
	f := &flood{conn: b.dial(), progress: make(chan struct{}, 1), done: make(chan struct{})}
	f.mu.confirmed = map[uint64]bool{}
	ch := channelOn(b.t, f.conn)
	must(b.t, ch.Confirm(false))
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, outstanding))
	room := make(chan struct{}, 100)
	go func() {
		for i := 1; ; i++ {
			select {
			case room <- struct{}{}:
			case <-f.done:
				return
			}
			body := make([]byte, bigBody)
			copy(body, fmt.Sprintf("%d.", i))
			if ch.Publish("", queue, false, false, persistent(body)) != nil {
				return
			}
		}
	}()
	go func() {
		defer close(f.done)
		for c := range confirms {
			if c.Ack {
				f.mu.Lock()
				f.mu.confirmed[c.DeliveryTag] = true
				f.mu.Unlock()
			}
			select {
			case f.progress <- struct{}{}:
			default:
			}
			<-room
		}
	}()
	return f
}

// count is how many messages are confirmed.
func (f *flood) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.mu.confirmed)
}

// await waits until n messages are confirmed.
func (f *flood) await(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(patience)
	for f.count() < n {
		select {
		case <-f.progress:
		case <-f.done:
			t.Fatalf("the connection ended after %d of %d confirms", f.count(), n)
		case <-deadline:
			t.Fatalf("%d of %d confirms in %v", f.count(), n, patience)
		}
	}
}

// silence waits until no confirm has come for a while: that something stays away has no event.
func (f *flood) silence(t testing.TB, while time.Duration) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-f.progress:
		case <-time.After(while):
			return
		case <-deadline:
			t.Fatalf("confirms do not stop")
		}
	}
}

// end waits for the end of the connection and returns what was confirmed.
func (f *flood) end(t testing.TB) map[uint64]bool {
	t.Helper()
	_ = f.conn.CloseDeadline(time.Now().Add(time.Second))
	<-f.done
	return f.mu.confirmed // nobody writes it any more
}

// read takes everything out of a queue, and fails the test if a confirmed message is not there or one is there twice.
func read(t testing.TB, b *broker, queue string, confirmed ...map[uint64]bool) {
	t.Helper()
	ch := b.channel()
	must(t, ch.Qos(100, 0, false))
	n := depth(t, ch, queue)
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	must(t, err)
	seen := map[uint64]bool{}
	for range n {
		d := await(t, "a message of "+queue, deliveries)
		var i uint64
		if _, err := fmt.Sscanf(string(d.Body[:20]), "%d.", &i); err != nil || len(d.Body) != bigBody {
			t.Errorf("a message of %d bytes: %v", len(d.Body), err)
		}
		if seen[i] {
			t.Errorf("message %d is there twice", i)
		}
		seen[i] = true
		must(t, d.Ack(false))
	}
	depth(t, ch, queue) // answered behind the acks
	lost, told := 0, 0
	for _, some := range confirmed {
		told += len(some)
		for i := range some {
			if !seen[i] {
				lost++
			}
		}
	}
	t.Logf("%s: %d confirmed, %d there", queue, told, len(seen))
	if lost > 0 {
		t.Errorf("%d of %d confirmed messages are lost", lost, told)
	}
}

// expectBlocked waits until the broker has said that publishing has to wait, or that it goes on.
func expectBlocked(t testing.TB, told <-chan amqp.Blocking, blocked bool) {
	t.Helper()
	want := amqp.Blocking{Active: blocked}
	if blocked {
		want.Reason = "low on disk"
	}
	if got := await(t, "connection.blocked or unblocked", told); got != want {
		t.Errorf("told %+v, want %+v", got, want)
	}
}

// If this fails, a full disk loses confirmed messages, confirms messages that it cannot store, or cannot be drained; or
// publishers are not blocked, or consumers are.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, diskBytes)
	b := start(t, dir)
	ch := b.channel()
	declare(t, ch, "drained", true, nil)
	declare(t, ch, "kept", true, nil)
	declare(t, ch, "drained-later", true, nil)
	first := startFlood(b, "drained")
	first.await(t, 100)
	drained := first.end(t)
	kept := startFlood(b, "kept")
	kept.await(t, 100)
	told := kept.conn.NotifyBlocked(make(chan amqp.Blocking, 10))
	consumer := b.dial()
	spared := consumer.NotifyBlocked(make(chan amqp.Blocking, 10))
	_, err := channelOn(t, consumer).Consume("drained-later", "", true, false, false, false, nil)
	must(t, err)
	path := ballast(t, dir)
	b.await(&b.stderr, "disk resource limit alarm set")
	expectBlocked(t, told, true)
	kept.silence(t, 500*time.Millisecond)
	read(t, b, "drained", drained) // a consumer goes on

	// With space again the same connection goes on.
	stopped := kept.count()
	must(t, os.Remove(path))
	b.await(&b.stderr, "disk resource limit alarm cleared")
	expectBlocked(t, told, false)
	kept.await(t, stopped+50)
	must(t, consumer.Close())
	if blocking, ok := <-spared; ok {
		t.Errorf("a consumer was told %+v", blocking)
	}

	// Full once more, and killed.
	path = ballast(t, dir)
	kept.silence(t, 500*time.Millisecond)
	b.kill()
	confirmed := kept.end(t)
	must(t, os.Remove(path))
	b = start(t, dir)
	read(t, b, "kept", confirmed)
	publish(t, b.channel(), "kept", []byte("again"))
}

// If this fails, a broker on a full disk cannot be stopped, or its next start fails.
func TestStopOnFullDisk(t *testing.T) {
	dir := smallDisk(t, diskBytes)
	b := start(t, dir)
	declare(t, b.channel(), "kept", true, nil)
	kept := startFlood(b, "kept")
	kept.await(t, 100)
	ballast(t, dir)
	b.await(&b.stderr, "disk resource limit alarm set")
	kept.silence(t, 500*time.Millisecond)
	b.terminate()
	b.awaitExit()
	confirmed := kept.end(t)
	b = start(t, dir) // still full
	read(t, b, "kept", confirmed)
}

// fileLimit makes every write of a running broker beyond so many bytes of a file fail, until it is raised again.
func (b *broker) fileLimit(bytes uint64) {
	b.t.Helper()
	var old unix.Rlimit
	must(b.t, unix.Prlimit(b.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &old))
	must(b.t, unix.Prlimit(b.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: old.Max}, nil))
}

// If this fails, a broker that cannot write at all continues as if it could, or loses messages confirmed before.
func TestWritesFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir)
	declare(t, b.channel(), "kept", true, nil)
	f := startFlood(b, "kept")
	f.await(t, 100)
	b.fileLimit(1)
	if code := b.awaitExit(); code <= 0 {
		t.Errorf("exit code %d, want a failure", code)
	}
	b.await(&b.stderr, "fatal error")
	confirmed := f.end(t)
	b = start(t, dir)
	read(t, b, "kept", confirmed)
	publish(t, b.channel(), "kept", []byte("again"))
}

// If this fails, the batches of a failed write are not dropped, its clients get no error, or the broker cannot continue
// in a new file.
func TestWritesFailForAWhile(t *testing.T) {
	t.Parallel()
	const safeInNewFiles = 1 << 20
	b := start(t, t.TempDir())
	declare(t, b.channel(), "kept", true, nil)
	first := startFlood(b, "kept")
	closed := first.conn.NotifyClose(make(chan *amqp.Error, 1))
	first.await(t, 2*safeInNewFiles/bigBody)
	b.fileLimit(safeInNewFiles)
	if err := await(t, "the end of the connection", closed); err.Code != amqp.InternalError {
		t.Errorf("the connection was closed with %v, want 541", err)
	}
	b.await(&b.stderr, "journal failed")
	b.fileLimit(unix.RLIM_INFINITY)
	confirmed := first.end(t)
	var conn *amqp.Connection
	eventually(t, "the vhost is open again", func() (ok bool) {
		var err error
		conn, _, err = b.dialValve(beat)
		return err == nil
	})
	must(t, conn.Close())
	read(t, b, "kept", confirmed)
	publish(t, b.channel(), "kept", []byte("again"))
	b.kill()
	b = start(t, b.dir)
	if n := depth(t, b.channel(), "kept"); n != 1 {
		t.Errorf("%d messages after the restart, want the last one", n)
	}
}
