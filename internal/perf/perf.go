package perf

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// scenario is one kind of measurement.
type scenario struct {
	name  string
	about string
	run   func(ctx context.Context, o *options) (*Report, error)
	flags []group

	// Defaults.
	size     int
	count    int64
	rate     float64
	confirms int
	queues   int  // 0: one
	flows    bool // measured over a duration rather than to the last message
}

func scenarios() []scenario {
	return []scenario{
		{name: "throughput", run: flow, flags: []group{remote, load}, size: 1024, flows: true,
			about: "Publishes and consumes at the same time, at full speed or at -rate."},
		{name: "latency", run: flow, flags: []group{remote, load, paced}, size: 128, rate: 5000, flows: true,
			about: "Publishes at -rate and measures the time until delivery."},
		{name: "dead-letter", run: deadLetter, flags: []group{remote, rejecting, load}, size: 1024, flows: true,
			about: "Rejects every message of a queue and consumes them from its dead-letter queue."},
		{name: "expire", run: expire, flags: []group{remote, load, expiry}, size: 128, count: 100_000, confirms: 1000,
			about: "Publishes messages that expire, and measures their delay in the dead-letter queue."},
		{name: "delay", run: delay, flags: []group{remote, load, delaying}, size: 128, count: 100_000, confirms: 1000,
			about: "Publishes delayed messages to an x-delayed-message exchange, and measures how late they arrive."},
		{name: "backlog", run: backlog, flags: []group{remote, load, longQueue}, size: 1024, count: 1_000_000, confirms: 1000,
			about: "Fills queues, then empties them; with -short, also measures the rate of a queue that stays short."},
		{name: "settle", run: settleSteadily, flags: []group{remote, load, stocked}, size: 1024, confirms: 1000, flows: true,
			about: "Keeps -live messages unacked, acks a random one for each published message, and measures disk use."},
		{name: "halve", run: halve, flags: []group{remote, load, stocked}, size: 1024, confirms: 1000, flows: true,
			about: "Acks a random half of -live messages, and waits until the broker has reclaimed the disk space."},
		{name: "restart", run: restart, flags: []group{load, restarting}, size: 128, count: 1_000_000, confirms: 1000, queues: 1000,
			about: "Starts its own Bartleby, fills queues, kills and stops it, and measures the time from exec to the first delivery."},
		{name: "declare", run: declarations, flags: []group{remote, declaring},
			about: "Declares and deletes durable queues."},
		{name: "connect", run: connections, flags: []group{remote, connecting},
			about: "Connects, opens a channel and closes the connection, again and again."},
		{name: "idle", run: idle, flags: []group{remote, idling},
			about: "Opens idle connections and measures their memory use."},
		{name: "disk", run: disk, flags: []group{disks},
			about: "Measures the disk itself, as a reference for the other scenarios."},
	}
}

// Exit codes of Main.
const (
	exitDone       = 0
	exitFailed     = 1 // the run could not be completed
	exitUnbalanced = 2 // it was, but messages were lost, doubled, out of order, altered or early
	exitUsage      = 64
)

// Main runs `bartleby perf` with the arguments after these words, prints the result to stdout and what went wrong to
// stderr, and returns the exit code: 0; 1 if the run could not be completed; 2 if messages were lost, doubled, out of
// order, altered or early; 64 for arguments that make no sense. An interrupt ends the run early and removes its queues.
func Main(args []string, stdout, stderr io.Writer) int {
	s := find(args)
	if s == nil {
		fmt.Fprintln(stderr, "usage: bartleby perf SCENARIO [flags]; -h after a scenario shows its flags")
		for _, one := range scenarios() {
			fmt.Fprintf(stderr, "  %-12s %s\n", one.name, one.about)
		}
		return exitUsage
	}
	o, err := parseOptions(s, args[1:], stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		return exitUsage
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	report, err := s.run(ctx, o)
	if report != nil {
		if err := printReport(report, o.json, stdout); err != nil {
			fmt.Fprintf(stderr, "bartleby perf %s: %v\n", s.name, err)
			return exitFailed
		}
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "bartleby perf %s: %v\n", s.name, err)
		return exitFailed
	case !report.Balanced():
		fmt.Fprintf(stderr, "bartleby perf %s: messages were lost, duplicated or reordered\n", s.name)
		return exitUnbalanced
	}
	return exitDone
}

func find(args []string) *scenario {
	if len(args) == 0 {
		return nil
	}
	for _, s := range scenarios() {
		if s.name == args[0] {
			return &s
		}
	}
	return nil
}

func printReport(r *Report, asJSON bool, w io.Writer) error {
	if !asJSON {
		_, err := io.WriteString(w, r.Text())
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
