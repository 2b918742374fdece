package cli

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func auditColumns(*call) []column { return same("id at user from action object status detail") }

// listAudit lists who changed what, the newest first, as many as --limit says.
func listAudit(c *call) error {
	columns, err := c.choose(auditColumns(c), "id at user action object status")
	if err != nil {
		return err
	}
	most := 100
	if given, ok := c.words.get("limit"); ok {
		if most, err = strconv.Atoi(given); err != nil || most < 1 {
			return c.invalid("the limit '" + given + "' is not a positive number")
		}
	}
	query := url.Values{}
	if user, ok := c.words.get("user"); ok {
		query.Set("user", user)
	}
	path := api.Path("x", "audit")
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	c.banner("Listing the audit log of node %s ...", c.node)
	var rows []row
	if _, err := c.client.Do(c.ctx, http.MethodGet, path, nil, &rows); err != nil {
		return err
	}
	return c.show(columns, rows[:min(len(rows), most)])
}
