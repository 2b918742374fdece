package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// grace is how long a command that is asked to end may take to clean up, and how long its children may hold on to its
// output after it has ended.
const grace = 10 * time.Second

// A process is a command in a process group of its own, so that all it started can be ended with it.
type process struct {
	cmd *exec.Cmd
}

// prepare makes a command that gets SIGTERM, its children too, when ctx ends, and SIGKILL after grace. It reads
// nothing.
func prepare(ctx context.Context, env []string, args ...string) process {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return process{cmd}
}

// wait returns when the command has ended, and ends what it left behind in its group.
func (p process) wait() error {
	err := p.cmd.Wait()
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, exec.ErrWaitDelay) {
		return errors.New("left processes behind that hold its output")
	}
	return err
}

// run runs the step's command to its end and counts what it prints. All of it goes to log.
func (s step) run(ctx context.Context, progress, log io.Writer) tally {
	name, began := strings.Join(s.args, " "), time.Now()
	fmt.Fprintf(log, "$ %s\n", name)
	var tail lastLines
	p := prepare(ctx, s.env, s.args...)
	p.cmd.Stderr = io.MultiWriter(log, &tail)
	out, in := io.Pipe()
	p.cmd.Stdout = in
	if err := p.cmd.Start(); err != nil {
		var t tally
		t.fail(name, err.Error()+"\n")
		return t
	}
	counted := make(chan tally)
	go func() { counted <- s.count(name, out, progress, log) }()
	exit := p.wait()
	in.Close()
	t := <-counted
	if cause := context.Cause(ctx); cause != nil {
		exit = cause
		t.fail(name, tail.String()+"\n"+cause.Error()+"\n")
	}
	t.settle(name, exit, tail.String())
	fmt.Fprintf(progress, "%-5s %s: %d passed, %d failed (%.1fs)\n",
		verdict(len(t.failures)), name, t.passed, len(t.failures), time.Since(began).Seconds())
	return t
}

// output runs a short command and returns what it printed, without white space around it.
func output(ctx context.Context, log io.Writer, args ...string) (string, error) {
	var out strings.Builder
	p := prepare(ctx, nil, args...)
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(&out, log), log
	if err := p.cmd.Start(); err != nil {
		return "", err
	}
	if err := p.wait(); err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out.String()), nil
}
