package deadletter

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// showGroups shows dead letters by what they have in common.
func showGroups(c *command.Call, filter, usual string, wanted []string) error {
	columns, err := c.Pick(wanted, command.Same(groupColumns), usual)
	if err != nil {
		return err
	}
	query := url.Values{"by": {c.Options.Or("by", "reason")}, "filter": {filter}}
	if limit, ok := c.Options.Get("limit"); ok {
		query.Set("limit", limit)
	}
	var all struct {
		Groups  []command.Row
		Others  int64
		Without int64
		Partial bool
	}
	if _, err := c.Client.Do(c.Ctx, http.MethodGet, api.Path("x", "letters", c.VHost(), "groups")+"?"+query.Encode(), nil, &all); err != nil {
		return notFound(c, err)
	}
	if err := c.Show(columns, all.Groups); err != nil {
		return err
	}
	if all.Others > 0 {
		fmt.Fprintf(c.Stderr, "%d more groups not shown\n", all.Others)
	}
	if all.Without > 0 {
		fmt.Fprintf(c.Stderr, "%d dead letters have no %s\n", all.Without, query.Get("by"))
	}
	if all.Partial {
		fmt.Fprintln(c.Stderr, "Not all dead letters were checked")
	}
	return nil
}

func groupMessages(c *command.Call) error {
	c.Banner("Grouping dead letters of vhost %s by %s ...", c.VHost(), c.Options.Or("by", "reason"))
	return showGroups(c, c.Options.Or("where", ""), "value count first last note lost", c.Args)
}

func showDLQ(c *command.Call) error {
	queue := c.Args[0]
	c.Banner("Grouping dead letters of queue '%s' in vhost '%s' by %s ...", queue, c.VHost(), c.Options.Or("by", "reason"))
	if err := needQueue(c, queue); err != nil {
		return err
	}
	filter := strings.TrimSpace("queue:" + quoted(queue) + " " + c.Options.Or("where", ""))
	return showGroups(c, filter, "value count first last note", c.Args[1:])
}

// quoted writes a value as a filter reads it exactly.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
