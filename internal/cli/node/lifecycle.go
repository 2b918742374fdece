package node

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
	"github.com/bartleby-mq/bartleby/internal/cli/resources"
)

func startApp(c *command.Call) error {
	c.Banner("Starting node %s ...", c.Node)
	if err := setSuspended(c, false); err != nil && !command.Unanswered(err) && command.Status(err) != http.StatusNotFound {
		return err
	}
	if err := awaitStartup(c); err != nil {
		return err
	}
	return c.Done("", nil)
}

// stopApp lets no client in any more, and closes the connections that there are; what the broker holds, and its API,
// stay.
// Source: RabbitMQ rabbitmqctl stop_app.
func stopApp(c *command.Call) error {
	c.Banner("Stopping rabbit application on node %s ...", c.Node)
	if err := setSuspended(c, true); err != nil {
		return err
	}
	rows, err := c.VhostRows("connections")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := resources.CloseOne(c, output.Text(r["name"]), "stop_app"); err != nil {
			return err
		}
	}
	return c.Done("", nil)
}

func pidOf(c *command.Call, given string) (int, error) {
	pid, err := strconv.Atoi(given)
	if err != nil || pid < 1 {
		return 0, command.Failf(command.ExitData, "'%s' is not a process id", given)
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
func stopNode(c *command.Call) error {
	var o api.Overview
	if err := c.Client.Get(c.Ctx, &o, "overview"); err != nil {
		return err
	}
	var n api.Node
	if err := c.Client.Get(c.Ctx, &n, "nodes", o.Node); err != nil {
		return err
	}
	c.Node = o.Node
	pid, err := pidOf(c, n.OSPid)
	if err != nil {
		return err
	}
	if !c.SecretTaken() || !command.IsLocal(c.Client.Base) || !isBroker(pid) {
		return command.Failf(command.ExitUnavailable, "%s only stops a broker on this machine, found by its data directory (--data). "+
			"Stop this one the way it was started: 'systemctl stop', 'docker stop', 'kubectl delete pod', or SIGTERM to process %d on its machine", c.Command.Name, pid)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return command.Failf(command.ExitUnavailable, "cannot signal process %d to stop: %v", pid, err)
	}
	if c.Options.On("no-wait") {
		c.Banner("Shutting down RabbitMQ node %s running at PID %d", c.Node, pid)
		return c.Done("", nil)
	}
	c.Banner("Stopping and halting node %s ...", c.Node)
	c.Banner("Waiting for PID %d to terminate", pid)
	for !hasGone(pid) {
		select {
		case <-c.Ctx.Done():
			return c.Ctx.Err()
		case <-time.After(retryPause / 4):
		}
	}
	return c.Done("", nil)
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
