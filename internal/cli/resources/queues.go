package resources

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func queueColumns(*command.Call) []command.Column {
	known := command.Same("name durable auto_delete arguments policy operator_policy effective_policy_definition exclusive " +
		"exclusive_consumer_tag single_active_consumer_tag messages_ready messages_unacknowledged messages messages_ready_ram " +
		"messages_unacknowledged_ram messages_ram messages_persistent message_bytes message_bytes_ready message_bytes_unacknowledged " +
		"message_bytes_ram message_bytes_persistent head_message_timestamp consumers consumer_utilisation consumer_capacity " +
		"memory state type leader members online delivery_limit delayed_retry messages_delayed messages_dlx message_bytes_dlx")
	known = append(known, command.Column{Name: "pid", Path: "node"}, command.Column{Name: "owner_pid", Path: "owner_pid_details.name"})
	return append(known, command.Absent("exclusive_consumer_pid single_active_consumer_pid disk_reads disk_writes slave_pids "+
		"synchronised_slave_pids mirror_pids synchronised_mirror_pids recoverable_slaves recoverable_mirrors")...)
}

func listQueues(c *command.Call) error {
	columns, err := c.Choose(queueColumns(c), "name messages")
	if err != nil {
		return err
	}
	c.TimeoutBanner()
	c.Banner("Listing queues for vhost %s ...", c.VHost())
	if c.Options.On("offline") {
		return c.Show(columns, nil)
	}
	return c.List(columns, "queues", c.VHost())
}

func purgeQueue(c *command.Call) error {
	queue := c.Args[0]
	c.Banner("Purging queue '%s' in vhost '%s' ...", queue, c.VHost())
	var before api.Queue
	err := c.Client.Get(c.Ctx, &before, "queues", c.VHost(), queue)
	if err == nil {
		err = c.Client.Delete(c.Ctx, "queues", c.VHost(), queue, "contents")
	}
	if command.Status(err) == http.StatusNotFound {
		// Source: RabbitMQ 3.10 rabbitmqctl purge_queue, for a virtual host that is not there, too.
		return command.Failf(command.ExitUnavailable, "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", queue, c.VHost())
	}
	if err != nil {
		return err
	}
	ready := strconv.FormatInt(before.MessagesReady, 10)
	return c.Done("", output.Cell(ready))
}

func deleteQueue(c *command.Call) error {
	queue := c.Args[0]
	c.Banner("Deleting queue '%s' on vhost '%s' ...", queue, c.VHost())
	var before api.Queue
	err := c.Client.Get(c.Ctx, &before, "queues", c.VHost(), queue)
	if err == nil {
		path := api.Path("queues", c.VHost(), queue)
		if query := deleteQuery(c); query != "" {
			path += "?" + query
		}
		_, err = c.Client.Do(c.Ctx, http.MethodDelete, path, nil, nil)
	}
	switch {
	case command.Status(err) == http.StatusNotFound:
		return c.NoQueue(queue, "No such queue was found: '%s' in virtual host '%s'", command.ExitUsage)
	case command.Status(err) == http.StatusBadRequest && strings.Contains(command.ReasonOf(err), "not empty"):
		return command.Failf(command.ExitUsage, "The queue is not empty")
	case command.Status(err) == http.StatusBadRequest && strings.Contains(command.ReasonOf(err), "in use"):
		return command.Failf(command.ExitUsage, "The queue is in use")
	case err != nil:
		return err
	}
	ready := strconv.FormatInt(before.MessagesReady, 10)
	return c.Done("Queue was successfully deleted with "+ready+" ready messages", output.Cell(ready))
}

func deleteQuery(c *command.Call) string {
	var conditions []string
	for _, name := range []string{"if-empty", "if-unused"} {
		if c.Options.On(name) {
			conditions = append(conditions, name+"=true")
		}
	}
	return strings.Join(conditions, "&")
}
