package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// list asks for rows, of which the broker sends no more than the columns chosen, and shows these.
func (c *call) list(columns []column, segments ...string) error {
	var paths []string
	for _, k := range columns {
		if k.path != "" && !slices.Contains(paths, k.path) {
			paths = append(paths, k.path)
		}
	}
	path := api.Path(segments...)
	if paths != nil {
		path += "?columns=" + strings.Join(paths, ",")
	}
	var rows []row
	_, err := c.client.Do(c.ctx, http.MethodGet, path, nil, &rows)
	if status(err) == http.StatusNotFound && len(segments) > 1 {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return err
	}
	return c.show(columns, rows)
}

func (c *call) timeoutBanner() { c.banner("Timeout: %.1f seconds ...", c.timeout.Seconds()) }

func queueColumns(*call) []column {
	known := same("name durable auto_delete arguments policy operator_policy effective_policy_definition exclusive " +
		"exclusive_consumer_tag single_active_consumer_tag messages_ready messages_unacknowledged messages messages_ready_ram " +
		"messages_unacknowledged_ram messages_ram messages_persistent message_bytes message_bytes_ready message_bytes_unacknowledged " +
		"message_bytes_ram message_bytes_persistent head_message_timestamp consumers consumer_utilisation consumer_capacity " +
		"memory state type leader members online delivery_limit delayed_retry messages_delayed messages_dlx message_bytes_dlx")
	known = append(known, column{name: "pid", path: "node"}, column{name: "owner_pid", path: "owner_pid_details.name"})
	return append(known, absent("exclusive_consumer_pid single_active_consumer_pid disk_reads disk_writes slave_pids "+
		"synchronised_slave_pids mirror_pids synchronised_mirror_pids recoverable_slaves recoverable_mirrors")...)
}

func listQueues(c *call) error {
	columns, err := c.choose(queueColumns(c), "name messages")
	if err != nil {
		return err
	}
	c.timeoutBanner()
	c.banner("Listing queues for vhost %s ...", c.vhost())
	if c.words.on("offline") {
		return c.show(columns, nil)
	}
	return c.list(columns, "queues", c.vhost())
}

func exchangeColumns(*call) []column {
	return same("name type durable auto_delete internal arguments policy user_who_performed_action messages_delayed")
}

func listExchanges(c *call) error {
	columns, err := c.choose(exchangeColumns(c), "name type")
	if err != nil {
		return err
	}
	c.banner("Listing exchanges for vhost %s ...", c.vhost())
	return c.list(columns, "exchanges", c.vhost())
}

func bindingColumns(*call) []column {
	return []column{
		{name: "source_name", path: "source"},
		{name: "source_kind", path: "source", as: func(cell) cell { return textCell("exchange") }},
		{name: "destination_name", path: "destination"},
		{name: "destination_kind", path: "destination_type"},
		{name: "routing_key", path: "routing_key"},
		{name: "arguments", path: "arguments"},
		{name: "vhost", path: "vhost"},
	}
}

func listBindings(c *call) error {
	columns, err := c.choose(bindingColumns(c), "source_name source_kind destination_name destination_kind routing_key arguments")
	if err != nil {
		return err
	}
	c.banner("Listing bindings for vhost %s...", c.vhost())
	return c.list(columns, "bindings", c.vhost())
}

func connectionColumns(*call) []column {
	known := same("name node user vhost protocol state channels channel_max frame_max timeout host port peer_host peer_port " +
		"auth_mechanism ssl ssl_protocol ssl_key_exchange ssl_cipher ssl_hash peer_cert_subject peer_cert_issuer " +
		"peer_cert_validity client_properties connected_at recv_oct recv_cnt send_oct send_cnt send_pend user_provided_name")
	return append(known, column{name: "pid", path: "name"})
}

func listConnections(c *call) error {
	columns, err := c.choose(connectionColumns(c), "user peer_host peer_port state")
	if err != nil {
		return err
	}
	c.banner("Listing connections ...")
	return c.list(columns, "connections")
}

func channelColumns(*call) []column {
	known := same("name number user vhost node state confirm transactional consumer_count prefetch_count global_prefetch_count " +
		"messages_unacknowledged messages_unconfirmed messages_uncommitted acks_uncommitted")
	return append(known, column{name: "pid", path: "name"}, column{name: "connection", path: "connection_details.name"})
}

func listChannels(c *call) error {
	columns, err := c.choose(channelColumns(c), "pid user consumer_count messages_unacknowledged")
	if err != nil {
		return err
	}
	c.banner("Listing channels ...")
	return c.list(columns, "channels")
}

func consumerColumns(*call) []column {
	return append(same("consumer_tag ack_required prefetch_count active activity_status exclusive arguments consumer_timeout"),
		column{name: "queue_name", path: "queue.name"}, column{name: "channel_pid", path: "channel_details.name"})
}

func listConsumers(c *call) error {
	const usual = "queue_name channel_pid consumer_tag ack_required prefetch_count active arguments"
	columns, err := c.choose(consumerColumns(c), usual)
	if err != nil {
		return err
	}
	c.banner("Listing consumers in vhost %s ...", c.vhost())
	return c.list(columns, "consumers", c.vhost())
}

// noQueue says what of a queue's address does not exist.
func (c *call) noQueue(queue, text string, code int) error {
	if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	return failf(code, "%s", fmt.Sprintf(text, queue, c.vhost()))
}

func purgeQueue(c *call) error {
	queue := c.args[0]
	c.banner("Purging queue '%s' in vhost '%s' ...", queue, c.vhost())
	var before api.Queue
	err := c.client.Get(c.ctx, &before, "queues", c.vhost(), queue)
	if err == nil {
		err = c.client.Delete(c.ctx, "queues", c.vhost(), queue, "contents")
	}
	if status(err) == http.StatusNotFound {
		// Source: RabbitMQ 3.10 rabbitmqctl purge_queue, for a virtual host that is not there, too.
		return failf(exitUnavailable, "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", queue, c.vhost())
	}
	if err != nil {
		return err
	}
	ready := strconv.FormatInt(before.MessagesReady, 10)
	return c.done("", cell(ready))
}

func deleteQueue(c *call) error {
	queue := c.args[0]
	c.banner("Deleting queue '%s' on vhost '%s' ...", queue, c.vhost())
	var before api.Queue
	err := c.client.Get(c.ctx, &before, "queues", c.vhost(), queue)
	if err == nil {
		path := api.Path("queues", c.vhost(), queue)
		if query := c.deleteQuery(); query != "" {
			path += "?" + query
		}
		_, err = c.client.Do(c.ctx, http.MethodDelete, path, nil, nil)
	}
	switch {
	case status(err) == http.StatusNotFound:
		return c.noQueue(queue, "No such queue was found: '%s' in virtual host '%s'", exitUsage)
	case status(err) == http.StatusBadRequest && strings.Contains(reasonOf(err), "not empty"):
		return failf(exitUsage, "The queue is not empty")
	case status(err) == http.StatusBadRequest && strings.Contains(reasonOf(err), "in use"):
		return failf(exitUsage, "The queue is in use")
	case err != nil:
		return err
	}
	ready := strconv.FormatInt(before.MessagesReady, 10)
	return c.done("Queue was successfully deleted with "+ready+" ready messages", cell(ready))
}

func (c *call) deleteQuery() string {
	var conditions []string
	for _, name := range []string{"if-empty", "if-unused"} {
		if c.words.on(name) {
			conditions = append(conditions, name+"=true")
		}
	}
	return strings.Join(conditions, "&")
}
