package node

import (
	"net/http"
	"net/url"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func auditColumns(*command.Call) []command.Column {
	return command.Same("id at user from action object status detail")
}

// listAudit lists who changed what, the newest first, as many as --limit says.
func listAudit(c *command.Call) error {
	columns, err := c.Choose(auditColumns(c), "id at user action object status")
	if err != nil {
		return err
	}
	most, err := c.Limit(100, "records")
	if err != nil {
		return err
	}
	query := url.Values{}
	if user, ok := c.Options.Get("user"); ok {
		query.Set("user", user)
	}
	path := api.Path("x", "audit")
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	c.Banner("Listing the audit log of node %s ...", c.Node)
	var rows []command.Row
	if _, err := c.Client.Do(c.Ctx, http.MethodGet, path, nil, &rows); err != nil {
		return err
	}
	return c.Show(columns, rows[:min(len(rows), most)])
}
