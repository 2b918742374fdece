package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// closeOne closes a connection; gone reports that there was none of that name.
func (c *call) closeOne(name, reason string) (gone bool, err error) {
	c.client.Reason = oneLine(reason)
	err = c.client.Delete(c.ctx, "connections", name)
	if status(err) == http.StatusNotFound {
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

func closeConnection(c *call) error {
	if c.args[0] == "" {
		return c.invalid("the name of the connection is empty.")
	}
	c.banner("Closing connection %s, reason: %s...", c.args[0], c.args[1])
	gone, err := c.closeOne(c.args[0], c.args[1])
	if err != nil {
		return err
	}
	if gone {
		return failf(exitData, "Connection '%s' does not exist; use 'list_connections name' to list connections", c.args[0])
	}
	return c.done("", nil)
}

// closeAllConnections closes those to a virtual host, or all, perhaps not all at once.
// Source: RabbitMQ rabbitmqctl close_all_connections.
func closeAllConnections(c *call) error {
	limit, err := c.number("limit", "a number of connections")
	if err != nil {
		return err
	}
	pause, err := c.number("per-connection-delay", "a number of milliseconds")
	if err != nil {
		return err
	}
	path := []string{"vhosts", c.vhost(), "connections"}
	where := "in vhost " + c.vhost()
	how := "all"
	if limit > 0 {
		how = strconv.Itoa(limit)
	}
	if c.words.on("global") {
		path, where = []string{"connections"}, "to node "+c.node+" (across all vhosts)"
	}
	c.banner("Closing %s connections %s, reason: %s...", how, where, c.args[0])
	rows, err := c.vhostRows(path...)
	if err != nil {
		return err
	}
	closed := 0
	for _, r := range rows {
		if limit > 0 && closed == limit {
			break
		}
		gone, err := c.closeOne(text(r["name"]), c.args[0])
		if err != nil {
			return err
		}
		if !gone {
			closed++
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(time.Duration(pause) * time.Millisecond):
		}
	}
	return c.done(fmt.Sprintf("Closed %d connections", closed), cell(strconv.Itoa(closed)))
}

// number reads an option that is a number, 0 if it is not there.
func (c *call) number(option, what string) (int, error) {
	given, ok := c.words.get(option)
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 {
		return 0, c.invalid(fmt.Sprintf("'%s' is not %s", given, what))
	}
	return n, nil
}

func closeUserConnections(c *call) error {
	c.banner("Closing connections of user %s, reason: %s...", c.args[0], c.args[1])
	if _, err := c.user(c.args[0]); err != nil {
		return err
	}
	c.client.Reason = oneLine(c.args[1])
	if err := c.client.Delete(c.ctx, "connections", "username", c.args[0]); err != nil {
		return err
	}
	return c.done("", nil)
}
