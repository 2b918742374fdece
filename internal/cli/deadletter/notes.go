package deadletter

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func listNotes(c *command.Call) error {
	columns, err := c.Choose(command.Same(noteColumns), noteColumns)
	if err != nil {
		return err
	}
	c.Banner("Listing notes on dead letters of vhost %s ...", c.VHost())
	rows, err := c.VhostRows("x", "notes", c.VHost())
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}

func setNote(c *command.Call) error {
	by := c.Options.Or("by", "reason")
	c.Banner("Setting a note on dead letters of vhost %s ...", c.VHost())
	if _, err := c.Client.Put(c.Ctx, api.PutNote{Text: c.Args[1]}, "x", "notes", c.VHost(), by, c.Args[0]); err != nil {
		return notFound(c, err)
	}
	return c.Done("", nil)
}
