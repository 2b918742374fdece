package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	amqpURL       = "amqp://guest:guest@127.0.0.1:5672/"
	managementURL = "http://127.0.0.1:15672"
)

// inside runs a suite against a broker on the usual ports of this network, which has nothing else.
func (s settings) inside(name string) error {
	c, err := named(name)
	if err != nil {
		return err
	}
	for _, variable := range os.Environ() { // another broker's
		if key, _, _ := strings.Cut(variable, "="); strings.HasPrefix(key, "BARTLEBY_") {
			os.Unsetenv(key)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	s.directory = filepath.Join(root, work)
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("the loopback of a network of its own: %w: %s", err, out)
	}
	temporary, err := os.MkdirTemp("", "clienttests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	start := s.startBartleby
	if s.rabbitmq {
		start = s.startRabbitMQ
	}
	ctl, stop, err := start(root, temporary)
	if err != nil {
		return err
	}
	ranErr := s.tests(c, root, ctl)
	return errors.Join(ranErr, stop())
}

func (s settings) tests(c suite, root, ctl string) error {
	for _, user := range c.users {
		name, password, _ := strings.Cut(user, ":")
		if err := put("users/"+name, fmt.Sprintf(`{"password":%q,"tags":"administrator"}`, password)); err != nil {
			return err
		}
		if err := put("permissions/%2F/"+name, `{"configure":".*","write":".*","read":".*"}`); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	os.Setenv("CTL", ctl)
	os.Setenv("AMQP_URL", amqpURL)
	os.Setenv("MANAGEMENT_URL", managementURL)
	os.Setenv("SUITES", filepath.Join(root, "interop/clienttests"))
	if c.setup != "" {
		if err := shell(ctx, s.of(c), c.setup).Run(); err != nil {
			return fmt.Errorf("the broker is not set up: %w", err)
		}
	}
	err := shell(ctx, s.of(c), c.run).Run()
	if ctx.Err() != nil {
		return fmt.Errorf("the tests took longer than %v", c.limit)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil // the results tell what failed
	}
	return err
}

// shell runs commands whose processes all end with them.
func shell(ctx context.Context, directory, commands string) *exec.Cmd {
	bash := exec.CommandContext(ctx, "bash", "-uc", commands)
	bash.Dir = directory
	bash.Stdout, bash.Stderr = os.Stdout, os.Stdout
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	bash.Cancel = func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
	return bash
}

// startBartleby returns the command that behaves as rabbitmqctl, and how to stop the broker, which must end well.
func (s settings) startBartleby(_, temporary string) (ctl string, stop func() error, err error) {
	binary, err := filepath.Abs(s.binary)
	if err != nil {
		return "", nil, err
	}
	broker := exec.Command(binary, "serve", "--data", filepath.Join(temporary, "data"))
	log, err := os.Create(filepath.Join(temporary, "log"))
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	broker.Stdout, broker.Stderr = log, log
	if err := broker.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- broker.Wait() }()
	stop = func() error {
		broker.Process.Signal(syscall.SIGTERM)
		var err error
		select {
		case err = <-ended:
		case <-time.After(20 * time.Second):
			broker.Process.Kill()
			err = errors.New("it did not stop within 20 s")
		}
		text, _ := os.ReadFile(log.Name())
		fmt.Printf("--- the broker's log\n%s", text)
		if err != nil {
			return fmt.Errorf("the broker: %w", err)
		}
		return nil
	}
	if err := awaitBroker(ended); err != nil {
		return "", nil, errors.Join(err, stop())
	}
	ctl = filepath.Join(temporary, "rabbitmqctl")
	return ctl, stop, os.Symlink(binary, ctl)
}

// awaitBroker returns when the broker answers on both ports.
func awaitBroker(ended <-chan error) error {
	for range 600 {
		select {
		case err := <-ended:
			return fmt.Errorf("the broker ended: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if request("GET", "vhosts", "") != nil {
			continue
		}
		if conn, err := net.Dial("tcp", "127.0.0.1:5672"); err == nil {
			return conn.Close()
		}
	}
	return errors.New("the broker did not start within a minute")
}

// startRabbitMQ starts a node as the conformance suite does. Its management API is passed on to the usual port.
func (s settings) startRabbitMQ(root, temporary string) (ctl string, stop func() error, err error) {
	os.Setenv("RABBITMQ_PRIVATE_PORT", "5672")
	os.Setenv("RABBITMQ_PRIVATE_DIR", filepath.Join(temporary, "rabbitmq"))
	script := filepath.Join(root, "conformance/rabbitmq.sh")
	if out, err := exec.Command(script, "start").CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("%w: %s", err, tail(out))
	}
	if err := forward("127.0.0.1:15672", "127.0.0.1:5673"); err != nil {
		return "", nil, err
	}
	ctl = filepath.Join(temporary, "rabbitmqctl")
	text := fmt.Sprintf("#!/bin/sh\nHOME=%[1]s ERL_EPMD_PORT=5675 exec /usr/lib/rabbitmq/bin/rabbitmqctl "+
		"-n bartleby-peer-5672@localhost \"$@\"\n", filepath.Join(temporary, "rabbitmq"))
	if err := os.WriteFile(ctl, []byte(text), 0o755); err != nil {
		return "", nil, err
	}
	return ctl, exec.Command(script, "stop").Run, awaitBroker(nil)
}

// forward passes connections on, both ways, until the process ends.
func forward(from, to string) error {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			go func() { io.Copy(server, client); server.(*net.TCPConn).CloseWrite() }()
			go func() { io.Copy(client, server); client.Close(); server.Close() }()
		}
	}()
	return nil
}

func put(path, body string) error { return request("PUT", path, body) }

func request(method, path, body string) error {
	r, err := http.NewRequest(method, managementURL+"/api/"+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	r.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return nil
}
