package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

const (
	// dialEvery is how long a client waits before it tries again to reach a broker that starts.
	dialEvery = time.Millisecond

	// startMax is how long a broker may take from exec to its first delivery, and to stop.
	startMax = 10 * time.Minute

	// lastWordsBytes is how much of what a broker says is kept, for when it fails.
	lastWordsBytes = 8 << 10
)

// child is a Bartleby that the generator starts itself.
type child struct {
	cmd    *exec.Cmd
	target target
	began  int64 // just before exec
	words  lastWords
	exited chan struct{}
}

// launch starts the program over a directory and does not wait for it; it is killed when ctx is done.
func launch(ctx context.Context, o *options, address string) (*child, error) {
	arguments := []string{"serve", "--data", o.data, "--listen", address, "--management", "127.0.0.1:0", "--prometheus", "127.0.0.1:0"}
	c := &child{
		cmd:    exec.CommandContext(ctx, o.program, append(arguments, strings.Fields(o.serve)...)...),
		target: target{address: address, user: "guest", password: "guest", vhost: "/"},
		exited: make(chan struct{}),
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.words, &c.words
	c.began = now()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // how it ended does not matter; that it did, does
		close(c.exited)
	}()
	return c, nil
}

func (c *child) process() process { return process(c.cmd.Process.Pid) }

// kill is kill -9. On return the process is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // an error means that it is gone
	<-c.exited
}

// stop ends it in good order, and returns how long that took.
func (c *child) stop() (time.Duration, error) {
	began := now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case <-c.exited:
	case <-time.After(startMax):
		return 0, fmt.Errorf("the broker does not stop; %s", c.words.String())
	}
	return time.Duration(now() - began), nil
}

// firstly are the instants of a start, counted from exec, and what the broker had used by the last of them.
type firstly struct {
	accepted  time.Duration // the first connection
	delivered time.Duration // the first message
	used      usage
}

// first waits for a message of a queue as a client does that the broker's end has cut off: it dials in a loop.
func (c *child) first(ctx context.Context, queue string) (firstly, error) {
	var f firstly
	for {
		l, err := dial(ctx, c.target)
		if err == nil {
			f.accepted = time.Duration(now() - c.began)
			err = consumeOne(l, queue)
			f.delivered = time.Duration(now() - c.began)
			if err != nil {
				return f, fmt.Errorf("the first delivery: %w", err)
			}
			if f.used, err = c.process().usage(); err != nil {
				return f, err
			}
			return f, l.close()
		}
		if err := c.pause(ctx, err); err != nil {
			return f, err
		}
	}
}

// link returns a connection to it once it takes one.
func (c *child) link(ctx context.Context) (*link, error) {
	for {
		l, err := dial(ctx, c.target)
		if err == nil {
			return l, nil
		}
		if err := c.pause(ctx, err); err != nil {
			return nil, err
		}
	}
}

// pause waits until it is time to dial again after an error, or returns why there is no point in it.
func (c *child) pause(ctx context.Context, last error) error {
	var refused net.Error
	if time.Duration(now()-c.began) > startMax || errors.As(last, &refused) && refused.Timeout() {
		return fmt.Errorf("the broker cannot be reached: %w; %s", last, c.words.String())
	}
	select {
	case <-c.exited:
		return fmt.Errorf("the broker exited: %s", c.words.String())
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(dialEvery):
		return nil
	}
}

// consumeOne subscribes to a queue and waits for its first message, which must be the one that was published first. It
// stays unacked.
func consumeOne(l *link, queue string) error {
	if _, err := call[*wire.BasicQosOk](l, &wire.BasicQos{PrefetchCount: 1}); err != nil {
		return err
	}
	if err := l.sendMethod(channel, &wire.BasicConsume{Queue: queue, ConsumerTag: "first", NoWait: true}); err != nil {
		return err
	}
	l.conn.SetReadDeadline(time.Now().Add(replyTimeout))
	defer l.resume()
	got, err := l.receive()
	switch {
	case err != nil:
		return err
	case len(got.deliveries) == 0 || got.deliveries[0].short:
		return errors.New("not a message of the load generator")
	case got.deliveries[0].id&(1<<placeBits-1) != 0:
		return errors.New("not the first message of its queue")
	}
	return nil
}

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mu struct {
		sync.Mutex
		tail []byte
	}
}

// Write is that of io.Writer.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.tail = append(w.mu.tail, p...)
	if extra := len(w.mu.tail) - lastWordsBytes; extra > 0 {
		w.mu.tail = append(w.mu.tail[:0], w.mu.tail[extra:]...)
	}
	return len(p), nil
}

// String returns it, introduced.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return "last output:\n" + string(bytes.TrimSpace(w.mu.tail))
}

// freeAddress returns a port of this host that nobody listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// evict makes the kernel forget the files of a directory, so that they are read from the disk again.
func evict(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := directory + string(os.PathSeparator) + entry.Name()
		if entry.IsDir() {
			if err := evict(path); err != nil {
				return err
			}
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = forget(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
