package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/cli"
)

// TestMain lets the test's binary be bartleby, and RabbitMQ's tools, under their names.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if name == "bartleby" || strings.HasPrefix(name, "rabbitmq") {
		os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	exit = func(int) {} // tests go on after the time in which a broker has to stop
	os.Exit(m.Run())
}

// A place is a directory with a running broker in bartleby-data, and bartleby in the PATH of its shell.
type place struct {
	dir    string
	broker *bartleby.Broker
	moved  *strings.Replacer // puts ports and paths of this place in where a text has the usual ones
}

// newPlace starts a broker, which ends with the test.
func newPlace(t *testing.T, clock bool) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := bartleby.Start(bartleby.Config{
		Data: filepath.Join(dir, "bartleby-data"), TestClock: clock, ReserveBytes: -1,
		AMQP: "127.0.0.1:0", Management: "127.0.0.1:0", Prometheus: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(cli.Tools(), "bartleby") {
		if err := os.Symlink(own, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not here: `make deps` installs it")
	}
	// A refusal of a request is a failure, and sudo is not wanted.
	strict := "exec " + curl + ` --fail-with-body -sS "$@"`
	for name, text := range map[string]string{"curl": strict, "sudo": `exec "$@"`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	port := func(a net.Addr) string { _, p, _ := net.SplitHostPort(a.String()); return p }
	p := &place{dir: dir, broker: b}
	p.moved = strings.NewReplacer(
		":5672", ":"+port(b.AMQPAddr()), ":15672", ":"+port(b.ManagementAddr()), ":15692", ":"+port(b.PrometheusAddr()),
		"/backups/", dir+"/backups/", "/etc/", dir+"/etc/", "/usr/local/", dir+"/usr/local/", "/var/", dir+"/var/",
		"build/bartleby ", "bartleby ", "go run ./cmd/bartleby ctl ", "bartleby ctl ",
	)
	return p
}

// preamble has what the pages' own commands use; die publishes a message to a queue and rejects it.
const preamble = `
status=0
http=http://guest:guest@localhost:15672/api
die() {
	curl "$http/exchanges/%2F/amq.default/publish" >/dev/null \
		-d '{"properties":{"delivery_mode":2},"payload":"x","payload_encoding":"string","routing_key":"'"$1"'"}'
	curl "$http/queues/%2F/$1/get" -d '{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}' >/dev/null
}
`

// A result is what came of a command.
type result struct {
	code   int
	output string
}

// marks are written before and after each command. The status of a command is there for the next one.
var marks = regexp.MustCompile(`(?s)\x01(\d+)\n(.*?)\x02(\d+)\n`)

// play types commands into one shell. What is in before runs first, what a command has to be there in front of it.
func (p *place) play(t *testing.T, before string, commands []command) []result {
	t.Helper()
	script := strings.Builder{}
	script.WriteString(p.moved.Replace(preamble + before))
	for i, c := range commands {
		first, typed := p.moved.Replace(c.first), p.moved.Replace(c.typed)
		for placeholder, variable := range c.words { // first by what stands for nothing else
			typed = strings.ReplaceAll(typed, placeholder, "‹"+variable+"›")
		}
		fmt.Fprintf(&script, "\n%s\ncommand=$(cat <<'END OF COMMAND'\n%s\nEND OF COMMAND\n)\n", first, typed)
		for _, variable := range c.words {
			fmt.Fprintf(&script, "command=${command//‹%s›/$%[1]s}\n", variable)
		}
		fmt.Fprintf(&script, "printf '\\001%d\\n'; (exit $status); eval \"$command\"\n", i)
		script.WriteString("status=$?; printf '\\002%d\\n' $status\n")
	}
	file := filepath.Join(p.dir, "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", file)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) } // its commands with it
	shell.Dir = p.dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"), "BARTLEBY_MANAGEMENT=",
		"BARTLEBY_DATA=", "RABBITMQ_NODENAME=", "HOME="+p.dir)
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out // one writer: in the order in which it was written
	err := shell.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(out.String(), "\x01"); first != "" {
		t.Errorf("what had to be there first: %s", first)
	}
	results := make([]result, len(commands))
	for i := range results {
		results[i] = result{-1, "it was not run:\n" + out.String()}
	}
	for _, m := range marks.FindAllStringSubmatch(out.String(), -1) {
		i, _ := strconv.Atoi(m[1])
		code, _ := strconv.Atoi(m[3])
		results[i] = result{code, m[2]}
	}
	return results
}
