package cli

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// reindex has the letters of a virtual host indexed anew.
func reindex(c *call) error {
	c.banner("Rebuilding the search index of virtual host '%s' ...", c.vhost())
	_, err := c.client.Do(c.ctx, http.MethodPost, api.Path("x", "index", c.vhost(), "rebuild"), nil, nil)
	if status(err) == http.StatusBadRequest {
		return failf(exitData, "%s", reasonOf(err))
	}
	return err
}
