package deadletter

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// showGroups shows dead letters by what they have in common; held is how many messages there are where all of them
// were looked for, 0 if that says nothing. The index comes after what happens: whoever asks at once reads that it may
// lack some.
func showGroups(c *command.Call, filter, usual string, wanted []string, held int64) error {
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
		Total   int64
		Others  int64
		Without int64
		Partial bool
		Index   *api.IndexState
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
	} else if more := held - all.Total - all.Without; more > 0 {
		fmt.Fprintf(c.Stderr, "%d more messages in the queue are not dead letters, or not indexed yet\n", more)
	} else if all.Index != nil && all.Index.Behind > 0 {
		fmt.Fprintf(c.Stderr, "About %d messages are not indexed yet\n", all.Index.Behind)
	}
	return nil
}

func groupMessages(c *command.Call) error {
	c.Banner("Grouping dead letters of vhost %s by %s ...", c.VHost(), c.Options.Or("by", "reason"))
	return showGroups(c, c.Options.Or("where", ""), "value count first last note lost", c.Args, 0)
}

func showDLQ(c *command.Call) error {
	queue := c.Args[0]
	c.Banner("Grouping dead letters of queue '%s' in vhost '%s' by %s ...", queue, c.VHost(), c.Options.Or("by", "reason"))
	held, err := messagesIn(c, queue)
	if err != nil {
		return err
	}
	where := c.Options.Or("where", "")
	if where != "" {
		held = 0
	}
	filter := strings.TrimSpace("queue:" + quoted(queue) + " " + where)
	return showGroups(c, filter, "value count first last note", c.Args[1:], held)
}

// quoted writes a value as a filter reads it exactly.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
