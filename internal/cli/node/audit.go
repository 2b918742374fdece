package node

import (
	"net/http"
	"net/url"
	"strconv"

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
	most := 100
	if given, ok := c.Options.Get("limit"); ok {
		if most, err = strconv.Atoi(given); err != nil || most < 1 {
			return c.Invalid("the limit '" + given + "' is not a positive number")
		}
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
