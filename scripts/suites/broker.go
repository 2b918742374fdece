package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// A broker is what a suite talks to.
type broker struct {
	amqp   string // URL
	http   string // URL of the management API
	series string // which rules the cases shall expect
	stop   func() // returns when the broker has gone
}

// startBroker starts a broker and returns when it serves. It ends with ctx at the latest.
type startBroker func(ctx context.Context, log io.Writer) (broker, error)

// startMax is how long a broker may take to start.
const startMax = 60 * time.Second

// expand puts the broker's addresses into the arguments of a command.
func (b broker) expand(args []string) []string {
	r := strings.NewReplacer("$AMQP", b.amqp, "$HTTP", b.http, "$SERIES", b.series)
	expanded := make([]string, len(args))
	for i, a := range args {
		expanded[i] = r.Replace(a)
	}
	return expanded
}

// littleMemory has the cases meet small files, and messages of which nothing is in memory but where they are.
var littleMemory = []string{"--messages-in-memory", "1000", "--segment-size", "1048576"}

// startBartleby starts the binary on free ports of the loopback, with a data directory that goes with it.
func startBartleby(ctx context.Context, log io.Writer) (broker, error) {
	dir, err := os.MkdirTemp("", "bartleby-suite-")
	if err != nil {
		return broker{}, err
	}
	addresses, err := freeAddresses(3)
	if err != nil {
		return broker{}, errors.Join(err, os.RemoveAll(dir))
	}
	ctx, cancel := context.WithCancel(ctx)
	ready := &watcher{phrase: []byte("Server startup complete"), log: log, seen: make(chan struct{})}
	args := append([]string{binary, "serve", "--data", dir, "--listen", addresses[0], "--management", addresses[1],
		"--prometheus", addresses[2]}, littleMemory...)
	p := prepare(ctx, nil, args...)
	p.cmd.Stdout, p.cmd.Stderr = ready, ready // one writer: exec then keeps them in order
	if err := p.cmd.Start(); err != nil {
		cancel()
		return broker{}, errors.Join(err, os.RemoveAll(dir))
	}
	gone := make(chan error, 1)
	go func() { gone <- errors.Join(p.wait(), os.RemoveAll(dir)) }()
	select {
	case <-ready.seen:
		return broker{
			amqp:   "amqp://guest:guest@" + addresses[0] + "/",
			http:   "http://" + addresses[1],
			series: "bartleby",
			stop:   func() { cancel(); <-gone },
		}, nil
	case err := <-gone:
		cancel()
		return broker{}, fmt.Errorf("%s serve ended before it served: %w", binary, err)
	case <-time.After(startMax):
		cancel()
		<-gone
		return broker{}, fmt.Errorf("%s serve did not serve within %v", binary, startMax)
	}
}

// startRabbitMQ makes what starts the private rabbitmq-server of a script, installed if need be, on ports of its own.
func startRabbitMQ(script string) startBroker {
	return func(ctx context.Context, log io.Writer) (broker, error) {
		if _, err := output(ctx, log, script, "start"); err != nil {
			return broker{}, err
		}
		stop := func() {
			if _, err := output(context.WithoutCancel(ctx), log, script, "stop"); err != nil {
				fmt.Fprintln(log, err)
			}
		}
		var b broker
		for word, field := range map[string]*string{"url": &b.amqp, "http": &b.http, "series": &b.series} {
			said, err := output(ctx, log, script, word)
			if err != nil {
				stop()
				return broker{}, err
			}
			*field = said
		}
		b.stop = stop
		return b, nil
	}
}

// freeAddresses finds n ports of the loopback that nobody listens on. Another process may take one before it is used;
// the broker then says so and the suite fails, in words.
func freeAddresses(n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at once, so that they differ
		addresses[i] = l.Addr().String()
	}
	return addresses, nil
}

// A watcher copies to log and closes seen when phrase has come by in one line.
type watcher struct {
	phrase []byte
	log    io.Writer
	seen   chan struct{}
	once   sync.Once
	rest   []byte // the line so far; only the goroutine that copies the command's output touches it
}

func (w *watcher) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	if bytes.Contains(w.rest, w.phrase) {
		w.once.Do(func() { close(w.seen) })
	}
	if end := bytes.LastIndexByte(w.rest, '\n'); end >= 0 {
		w.rest = append(w.rest[:0], w.rest[end+1:]...)
	}
	return w.log.Write(p)
}
