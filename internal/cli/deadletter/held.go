package deadletter

import (
	"net/http"
	"net/url"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func listHeld(c *command.Call) error {
	queue := c.Args[0]
	columns, err := c.Pick(c.Args[1:], command.Same(heldColumns), "id cause reason since took")
	if err != nil {
		return err
	}
	c.Banner("Listing dead letters that queue '%s' in vhost '%s' holds ...", queue, c.VHost())
	rows, err := c.Page(url.Values{}, "dead letters", "x", "held", c.VHost(), queue)
	if command.Status(err) == http.StatusNotFound {
		return c.NoObject(queue)
	}
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}
