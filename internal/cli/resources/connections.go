package resources

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// CloseOne closes a connection; gone reports that there was none of that name.
func CloseOne(c *command.Call, name, reason string) (gone bool, err error) {
	c.Client.Reason = oneLine(reason)
	err = c.Client.Delete(c.Ctx, "connections", name)
	if command.Status(err) == http.StatusNotFound {
		return true, nil
	}
	return false, err
}

// oneLine is text as a header takes it.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

func closeConnection(c *command.Call) error {
	if c.Args[0] == "" {
		return c.Invalid("the name of the connection is empty.")
	}
	c.Banner("Closing connection %s, reason: %s...", c.Args[0], c.Args[1])
	gone, err := CloseOne(c, c.Args[0], c.Args[1])
	if err != nil {
		return err
	}
	if gone {
		return command.Failf(command.ExitData, "Connection '%s' does not exist; use 'list_connections name' to list connections", c.Args[0])
	}
	return c.Done("", nil)
}

// closeAllConnections closes those to a virtual host, or all, perhaps not all at once.
// Source: RabbitMQ rabbitmqctl close_all_connections.
func closeAllConnections(c *command.Call) error {
	limit, err := readNumber(c, "limit", "a number of connections")
	if err != nil {
		return err
	}
	pause, err := readNumber(c, "per-connection-delay", "a number of milliseconds")
	if err != nil {
		return err
	}
	path := []string{"vhosts", c.VHost(), "connections"}
	where := "in vhost " + c.VHost()
	how := "all"
	if limit > 0 {
		how = strconv.Itoa(limit)
	}
	if c.Options.On("global") {
		path, where = []string{"connections"}, "to node "+c.Node+" (across all vhosts)"
	}
	c.Banner("Closing %s connections %s, reason: %s...", how, where, c.Args[0])
	rows, err := c.VhostRows(path...)
	if err != nil {
		return err
	}
	closed := 0
	for _, r := range rows {
		if limit > 0 && closed == limit {
			break
		}
		gone, err := CloseOne(c, output.Text(r["name"]), c.Args[0])
		if err != nil {
			return err
		}
		if !gone {
			closed++
		}
		select {
		case <-c.Ctx.Done():
			return c.Ctx.Err()
		case <-time.After(time.Duration(pause) * time.Millisecond):
		}
	}
	return c.Done(fmt.Sprintf("Closed %d connections", closed), output.Cell(strconv.Itoa(closed)))
}

// readNumber reads an option that is a number, 0 if it is not there.
func readNumber(c *command.Call, option, what string) (int, error) {
	given, ok := c.Options.Get(option)
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 {
		return 0, c.Invalid(fmt.Sprintf("'%s' is not %s", given, what))
	}
	return n, nil
}

func closeUserConnections(c *command.Call) error {
	c.Banner("Closing connections of user %s, reason: %s...", c.Args[0], c.Args[1])
	if _, err := userNamed(c, c.Args[0]); err != nil {
		return err
	}
	c.Client.Reason = oneLine(c.Args[1])
	if err := c.Client.Delete(c.Ctx, "connections", "username", c.Args[0]); err != nil {
		return err
	}
	return c.Done("", nil)
}
