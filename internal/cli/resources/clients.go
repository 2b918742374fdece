package resources

import "github.com/bartleby-mq/bartleby/internal/cli/command"

func connectionColumns(*command.Call) []command.Column {
	known := command.Same("name node user vhost protocol state channels channel_max frame_max timeout host port peer_host peer_port " +
		"auth_mechanism ssl ssl_protocol ssl_key_exchange ssl_cipher ssl_hash peer_cert_subject peer_cert_issuer " +
		"peer_cert_validity client_properties connected_at recv_oct recv_cnt send_oct send_cnt send_pend user_provided_name")
	return append(known, command.Column{Name: "pid", Path: "name"})
}

func listConnections(c *command.Call) error {
	columns, err := c.Choose(connectionColumns(c), "user peer_host peer_port state")
	if err != nil {
		return err
	}
	c.Banner("Listing connections ...")
	return c.List(columns, "connections")
}

func channelColumns(*command.Call) []command.Column {
	known := command.Same("name number user vhost node state confirm transactional consumer_count prefetch_count global_prefetch_count " +
		"messages_unacknowledged messages_unconfirmed messages_uncommitted acks_uncommitted")
	return append(known, command.Column{Name: "pid", Path: "name"}, command.Column{Name: "connection", Path: "connection_details.name"})
}

func listChannels(c *command.Call) error {
	columns, err := c.Choose(channelColumns(c), "pid user consumer_count messages_unacknowledged")
	if err != nil {
		return err
	}
	c.Banner("Listing channels ...")
	return c.List(columns, "channels")
}

func consumerColumns(*command.Call) []command.Column {
	return append(command.Same("consumer_tag ack_required prefetch_count active activity_status exclusive arguments consumer_timeout"),
		command.Column{Name: "queue_name", Path: "queue.name"}, command.Column{Name: "channel_pid", Path: "channel_details.name"})
}

func listConsumers(c *command.Call) error {
	const usual = "queue_name channel_pid consumer_tag ack_required prefetch_count active arguments"
	columns, err := c.Choose(consumerColumns(c), usual)
	if err != nil {
		return err
	}
	c.Banner("Listing consumers in vhost %s ...", c.VHost())
	return c.List(columns, "consumers", c.VHost())
}
