package deadletter

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// reindex has the search index of a virtual host rebuilt.
func reindex(c *command.Call) error {
	c.Banner("Rebuilding the search index of virtual host '%s' ...", c.VHost())
	_, err := c.Client.Do(c.Ctx, http.MethodPost, api.Path("x", "index", c.VHost(), "rebuild"), nil, nil)
	if command.Status(err) == http.StatusBadRequest {
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	}
	return err
}
