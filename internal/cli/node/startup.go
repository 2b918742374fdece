package node

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func awaitOnlineNodes(c *command.Call) error {
	n, err := strconv.Atoi(c.Args[0])
	if err != nil || n < 1 {
		return c.Invalid(fmt.Sprintf("'%s' is not a number of nodes", c.Args[0]))
	}
	c.Banner("Will wait for at least %d nodes to join the cluster of %s. Timeout: %.0f seconds.", n, c.Node, c.Timeout.Seconds())
	if n > 1 {
		return command.Failf(command.ExitUnavailable, "the broker is a single node: %d nodes will never join", n)
	}
	return awaitStartup(c)
}

// wait waits until a broker serves whose process is named, by number or in a file that may still have to come.
// Source: RabbitMQ rabbitmqctl wait.
func wait(c *command.Call) error {
	pid, err := waitedFor(c)
	if err != nil {
		return err
	}
	return await(c, func() error {
		if pid > 0 && hasGone(pid) {
			return command.Failf(command.ExitUnavailable, "process %d exited before the broker was ready", pid)
		}
		return c.Client.Get(c.Ctx, nil, "health", "checks", "ready-to-serve-clients")
	})
}

// waitedFor is the number of the process to wait for, 0 if none is named.
func waitedFor(c *command.Call) (int, error) {
	given, named := c.Options.Get("pid")
	switch {
	case named && len(c.Args) > 0:
		return 0, c.Invalid("give either a pid file or --pid, not both.")
	case named:
		c.Banner("Waiting for pid %s ...", given)
		return pidOf(c, given)
	case len(c.Args) == 0:
		return 0, nil
	}
	c.Banner("Waiting for pid file '%s' to appear", c.Args[0])
	for {
		b, err := os.ReadFile(c.Args[0])
		if text := strings.TrimSpace(string(b)); err == nil && text != "" {
			return pidOf(c, text)
		}
		select {
		case <-c.Ctx.Done():
			return 0, c.Ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// ping asks once, or until the timeout if one is given. Whatever the answer is, who answers is alive.
func ping(c *command.Call) error {
	c.Banner("Will ping %s. Timeout: %d ms.", c.Node, c.Timeout.Milliseconds())
	ask := func() error {
		err := c.Client.Get(c.Ctx, nil, "version")
		if command.Status(err) != 0 {
			return nil
		}
		return err
	}
	var err error
	if _, patient := c.Options.Get("timeout"); patient {
		err = await(c, ask)
	} else {
		err = ask()
	}
	if err != nil {
		return err
	}
	return c.Done("Ping succeeded", nil)
}

func awaitStartup(c *command.Call) error {
	return await(c, func() error { return c.Client.Get(c.Ctx, nil, "health", "checks", "ready-to-serve-clients") })
}

// await asks again while nobody answers or the broker is not ready.
func await(c *command.Call, ask func() error) error {
	for {
		err := ask()
		if !command.Unanswered(err) && command.Status(err) != http.StatusServiceUnavailable {
			return err
		}
		select {
		case <-c.Ctx.Done():
			return c.Ctx.Err()
		case <-time.After(retryPause):
		}
	}
}
