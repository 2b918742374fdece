package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bartleby-mq/bartleby"
)

// Exit codes. Source: sysexits; reference cli 4, configuration 12.
const (
	exitUsage  = 64
	exitFailed = 1
	exitConfig = 78
)

// closeWithin is how long connections have to answer when the broker stops.
const closeWithin = 10 * time.Second

func serve(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bartleby serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	config := flags.String("config", "", "`file` with options, one 'key = value' on a line: data, listen, management, prometheus, segment-size, reserve, sparse-share, rewrite-ratio, messages-in-memory, sync, sync-interval, vm_memory_high_watermark.*, disk_free_limit.*, test-clock")
	c := bartleby.Config{Alone: true}
	flags.StringVar(&c.Data, "data", "./bartleby-data", "`directory` for everything the broker keeps")
	flags.StringVar(&c.AMQP, "listen", ":5672", "`host:port` for AMQP clients")
	flags.StringVar(&c.Management, "management", ":15672", "`host:port` for the management API; empty: none")
	flags.StringVar(&c.Prometheus, "prometheus", ":15692", "`host:port` for metrics; empty: none")
	bytesFlag(flags, &c.SegmentBytes, "segment-size", "`bytes` of a file of the log, from 64KiB; 0: 64MiB")
	bytesFlag(flags, &c.ReserveBytes, "reserve", "`bytes` kept free so that a full disk can be drained; 0: 256MiB, -1: none")
	flags.StringVar(&c.Sync, "sync", "always", "`when` the log is synced where a virtual host chooses nothing else: always (before a confirm), interval, never")
	intervalFlag(flags, &c.SyncInterval, "sync-interval", "how `long` sync=interval puts it off, such as 50ms or 1s; default 200ms")
	flags.Float64Var(&c.SparseShare, "sparse-share", 0, "live `share` of a segment above which it is not rewritten to give room back; 0: 0.87")
	flags.Float64Var(&c.RewriteRatio, "rewrite-ratio", 0, "`bytes` rewritten at most for each that traffic appends; 0: 0.66")
	flags.IntVar(&c.MessagesInMemory, "messages-in-memory", 0, "`number` of waiting messages whose entries a virtual host keeps in memory, 32 bytes each; 0: 524288")
	limitFlags(flags, &c)
	flags.BoolVar(&c.TestClock, "test-clock", false, "time stands still until POST /api/x/clock/advance moves it")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return exitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "bartleby serve: unexpected argument %q\n", flags.Arg(0))
		return exitUsage
	}
	if *config != "" {
		if err := readConfig(*config, flags); err != nil {
			fmt.Fprintf(stderr, "bartleby: %v\n", err)
			return exitConfig
		}
	}
	c.Log = slog.New(slog.NewTextHandler(stderr, nil))
	signals := make(chan os.Signal, 2) // from now on: one that comes during the start is obeyed after it
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	b, err := bartleby.Start(c)
	if err != nil {
		fmt.Fprintf(stderr, "bartleby: cannot start: %v\n", err)
		return exitFailed
	}
	for _, l := range b.Listeners() {
		fmt.Fprintf(stdout, "started %s listener on %s\n", l.Protocol, l.Addr)
	}
	fmt.Fprintln(stdout, "Server startup complete")
	service := newManager()
	service.tell(notifyReady)
	return wait(b, service, signals, stdout, stderr)
}

// wait serves until a signal comes, or the broker cannot go on; a second signal ends at once.
func wait(b *bartleby.Broker, service manager, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	failed := false
	select {
	case <-signals:
	case err := <-b.Failed():
		failed = true
		fmt.Fprintf(stderr, "bartleby: cannot go on: %v\n", err)
	}
	fmt.Fprintln(stdout, "Stopping")
	service.tell(notifyStopping)
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		closed <- b.Close(ctx)
	}()
	select {
	case err := <-closed:
		if err != nil {
			fmt.Fprintf(stderr, "bartleby: not stopped cleanly: %v\n", err)
			return exitFailed
		}
		fmt.Fprintln(stdout, "Stopped")
		if failed {
			return exitFailed
		}
		return 0
	case <-signals:
		fmt.Fprintln(stderr, "bartleby: stopped by a second signal")
		return exitFailed
	}
}
