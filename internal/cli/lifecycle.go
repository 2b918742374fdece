package cli

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func startApp(c *call) error {
	c.banner("Starting node %s ...", c.node)
	if err := c.suspendListeners(false); err != nil && !unanswered(err) && status(err) != http.StatusNotFound {
		return err
	}
	if err := awaitStartup(c); err != nil {
		return err
	}
	return c.done("", nil)
}

// stopApp lets no client in any more, and closes the connections that there are; what the broker holds, and its API, stay.
// Source: RabbitMQ rabbitmqctl stop_app.
func stopApp(c *call) error {
	c.banner("Stopping rabbit application on node %s ...", c.node)
	if err := c.suspendListeners(true); err != nil {
		return err
	}
	rows, err := c.vhostRows("connections")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := c.closeOne(text(r["name"]), "stop_app"); err != nil {
			return err
		}
	}
	return c.done("", nil)
}

func suspendListeners(c *call) error {
	c.banner("Will suspend client connection listeners on node %s. The node will no longer accept client connections.", c.node)
	if err := c.suspendListeners(true); err != nil {
		return err
	}
	return c.done("", nil)
}

func resumeListeners(c *call) error {
	c.banner("Will resume client connection listeners on node %s. The node will now accept client connections.", c.node)
	if err := c.suspendListeners(false); err != nil {
		return err
	}
	return c.done("", nil)
}

// suspendListeners shuts the ports of AMQP, or opens them.
func (c *call) suspendListeners(on bool) error {
	_, err := c.client.Put(c.ctx, api.ListenerState{Suspended: api.Flag(on)}, "x", "listeners")
	return err
}

func awaitOnlineNodes(c *call) error {
	n, err := strconv.Atoi(c.args[0])
	if err != nil || n < 1 {
		return c.invalid(fmt.Sprintf("'%s' is not a number of nodes", c.args[0]))
	}
	c.banner("Will wait for at least %d nodes to join the cluster of %s. Timeout: %.0f seconds.", n, c.node, c.timeout.Seconds())
	if n > 1 {
		return failf(exitUnavailable, "the broker is a single node: %d nodes will never join", n)
	}
	return awaitStartup(c)
}

// wait waits until a broker serves whose process is named, by number or in a file that may still have to come.
// Source: RabbitMQ rabbitmqctl wait.
func wait(c *call) error {
	pid, err := c.waitedFor()
	if err != nil {
		return err
	}
	return c.await(func() error {
		if pid > 0 && hasGone(pid) {
			return failf(exitUnavailable, "process %d exited before the broker was ready", pid)
		}
		return c.client.Get(c.ctx, nil, "health", "checks", "ready-to-serve-clients")
	})
}

// waitedFor is the number of the process to wait for, 0 if none is named.
func (c *call) waitedFor() (int, error) {
	given, named := c.words.get("pid")
	switch {
	case named && len(c.args) > 0:
		return 0, c.invalid("give either a pid file or --pid, not both.")
	case named:
		c.banner("Waiting for pid %s ...", given)
		return c.pidOf(given)
	case len(c.args) == 0:
		return 0, nil
	}
	c.banner("Waiting for pid file '%s' to appear", c.args[0])
	for {
		b, err := os.ReadFile(c.args[0])
		if text := strings.TrimSpace(string(b)); err == nil && text != "" {
			return c.pidOf(text)
		}
		select {
		case <-c.ctx.Done():
			return 0, c.ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

func (c *call) pidOf(given string) (int, error) {
	pid, err := strconv.Atoi(given)
	if err != nil || pid < 1 {
		return 0, failf(exitData, "'%s' is not a process id", given)
	}
	return pid, nil
}

// hasGone reports whether there is no such process any more; where that cannot be told, there is.
func hasGone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// stopNode ends the broker of this machine with the signal that its service would send, and waits for its end.
// Only who knows the secret of its data directory may: that the broker took it proves that it is the one meant.
func stopNode(c *call) error {
	var o api.Overview
	if err := c.client.Get(c.ctx, &o, "overview"); err != nil {
		return err
	}
	var n api.Node
	if err := c.client.Get(c.ctx, &n, "nodes", o.Node); err != nil {
		return err
	}
	c.node = o.Node
	pid, err := c.pidOf(n.OSPid)
	if err != nil {
		return err
	}
	if !c.secretTaken() || !isLocal(c.client.Base) || !isBroker(pid) {
		return failf(exitUnavailable, "%s only stops a broker on this machine, found by its data directory (--data). "+
			"Stop this one the way it was started: 'systemctl stop', 'docker stop', 'kubectl delete pod', or SIGTERM to process %d on its machine", c.command.name, pid)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return failf(exitUnavailable, "cannot signal process %d to stop: %v", pid, err)
	}
	if c.words.on("no-wait") {
		c.banner("Shutting down RabbitMQ node %s running at PID %d", c.node, pid)
		return c.done("", nil)
	}
	c.banner("Stopping and halting node %s ...", c.node)
	c.banner("Waiting for PID %d to terminate", pid)
	for !hasGone(pid) {
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(retryPause / 4):
		}
	}
	return c.done("", nil)
}

// isBroker reports whether a process of this machine runs a broker's program. In a container, or behind a tunnel, the
// number is another one here.
func isBroker(pid int) bool {
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	if err != nil {
		_, noProc := os.Stat("/proc/self")
		return noProc != nil && !hasGone(pid) // where nothing can be looked up, the number has to do
	}
	own, err := os.Executable()
	return strings.HasPrefix(filepath.Base(program), "bartleby") || err == nil && filepath.Base(program) == filepath.Base(own)
}

func nodeHealth(c *call) error {
	c.banner("Testing node %s ...", c.node)
	return c.healthy("Health check passed", "is-in-service")
}
