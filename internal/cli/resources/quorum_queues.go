package resources

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func quorumStatus(c *command.Call) error {
	c.Banner("Status of quorum queue %s on node %s ...", c.Args[0], c.Node)
	var q api.Queue
	err := c.Client.Get(c.Ctx, &q, "queues", c.VHost(), c.Args[0])
	switch {
	case command.Status(err) == http.StatusNotFound:
		return c.NoObject(c.Args[0])
	case err != nil:
		return err
	case q.Type != "quorum":
		return command.Failf(command.ExitUsage, "Operation is not supported for queue type %s: the queue is not a quorum queue", q.Type)
	}
	return c.Table([]string{"Node Name", "Raft State", "Membership"}, [][]output.Cell{{output.StringCell(q.Node), output.StringCell("leader"), output.StringCell("voter")}})
}
