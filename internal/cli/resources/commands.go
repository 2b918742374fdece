package resources

import "github.com/bartleby-mq/bartleby/internal/cli/command"

// Users are the commands under the title "Users".
func Users() []command.Command {
	return []command.Command{
		{Name: "add_user", Tools: command.Ctl, Usage: "[--pre-hashed-password] <username> [<password>]", About: "Creates a user. Reads the password from standard input if it is not given.", Least: 1, Most: 2, Options: "pre-hashed-password", Run: addUser, Example: "add_user janeway secret\nadd_user janeway < password.txt"},
		{Name: "delete_user", Tools: command.Ctl, Usage: "<username>", About: "Deletes a user and its permissions.", Least: 1, Most: 1, Run: deleteUser},
		{Name: "change_password", Tools: command.Ctl, Usage: "<username> [<password>]", About: "Changes the password of a user. Reads it from standard input if it is not given.", Least: 1, Most: 2, Run: changePassword},
		{Name: "clear_password", Tools: command.Ctl, Usage: "<username>", About: "Removes the password of a user: password login is disabled.", Least: 1, Most: 1, Run: clearPassword},
		{Name: "hash_password", Tools: command.Ctl, Usage: "[<password>]", About: "Prints the salted hash of a password, for add_user --pre-hashed-password and for definitions.", Most: 1, Offline: true, Run: hashPassword},
		{Name: "authenticate_user", Tools: command.Ctl, Usage: "<username> [<password>]", About: "Checks a user name and password: exit code 0 if they are valid, 65 if not.", Least: 1, Most: 2, Run: authenticateUser},
		{Name: "set_user_tags", Tools: command.Ctl, Usage: "<username> [<tag> ...]", About: "Sets the tags of a user, such as administrator, monitoring, policymaker, management; no tags clears them.", Least: 1, Most: command.Unbounded, Run: setUserTags, Example: "set_user_tags janeway administrator"},
		{Name: "list_users", Tools: command.Both, About: "Lists users and their tags.", Run: listUsers},
		{Name: "set_user_limits", Tools: command.Ctl, Usage: "<username> <definition>", About: "Limits the connections and channels of a user; -1 means no limit.", Least: 2, Most: 2, Run: setUserLimits, Example: `set_user_limits janeway '{"max-connections":10,"max-channels":100}'`},
		{Name: "clear_user_limits", Tools: command.Ctl, Usage: "<username> <limit> | all", About: "Clears one limit or all limits of a user.", Least: 2, Most: 2, Run: clearUserLimits},
		{Name: "list_user_limits", Tools: command.Both, Usage: "[--user <username> | --global]", About: "Lists the limits of users.", Options: "user global", Run: listUserLimits},
	}
}

// Permissions are the commands under the title "Permissions".
func Permissions() []command.Command {
	return []command.Command{
		{Name: "set_permissions", Tools: command.Ctl, Usage: command.InVHost + "<username> <conf> <write> <read>", About: "Sets the permissions of a user: regular expressions for the names it may configure, write to and read from.", Least: 4, Most: 4, Run: setPermissions, Example: `set_permissions -p / janeway '^janeway-.*' '.*' '.*'`},
		{Name: "set_permissions_globally", Tools: command.Ctl, Usage: "<username> <conf> <write> <read>", About: "Sets the permissions of a user in all existing virtual hosts.", Least: 4, Most: 4, Run: setPermissionsGlobally},
		{Name: "clear_permissions", Tools: command.Ctl, Usage: command.InVHost + "<username>", About: "Removes the access of a user to a virtual host.", Least: 1, Most: 1, Run: clearPermissions},
		{Name: "list_permissions", Tools: command.Both, Usage: command.InVHost, About: "Lists the permissions of a virtual host.", Run: listPermissions},
		{Name: "list_user_permissions", Tools: command.Both, Usage: "<username>", About: "Lists the permissions of a user.", Least: 1, Most: 1, Run: listUserPermissions},
		{Name: "set_topic_permissions", Tools: command.Ctl, Usage: command.InVHost + "<username> <exchange> <write> <read>", About: "Limits the routing keys that a user may publish and bind with on a topic exchange.", Least: 4, Most: 4, Run: setTopicPermissions},
		{Name: "clear_topic_permissions", Tools: command.Ctl, Usage: command.InVHost + "<username> [<exchange>]", About: "Clears topic permissions of a user.", Least: 1, Most: 2, Run: clearTopicPermissions},
		{Name: "list_topic_permissions", Tools: command.Both, Usage: command.InVHost, About: "Lists the topic permissions of a virtual host.", Run: listTopicPermissions},
		{Name: "list_user_topic_permissions", Tools: command.Both, Usage: "<username>", About: "Lists the topic permissions of a user.", Least: 1, Most: 1, Run: listUserTopicPermissions},
	}
}

// VirtualHosts are the commands under the title "Virtual hosts".
func VirtualHosts() []command.Command {
	return []command.Command{
		{Name: "add_vhost", Tools: command.Ctl, Usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", About: "Creates a virtual host. If it exists, only the given options change.", Least: 1, Most: 1, Options: "description tags default-queue-type", Run: addVHost},
		{Name: "delete_vhost", Tools: command.Ctl, Usage: "<vhost>", About: "Deletes a virtual host and everything in it.", Least: 1, Most: 1, Run: deleteVHost},
		{Name: "list_vhosts", Tools: command.Both, Usage: "[<column> ...]", About: "Lists virtual hosts.", Most: command.Unbounded, Run: listVHosts, More: command.ColumnsOf(vhostColumns)},
		{Name: "update_vhost_metadata", Tools: command.Ctl, Usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", About: "Changes the description, tags or default queue type of a virtual host.", Least: 1, Most: 1, Options: "description tags default-queue-type", Run: updateVHost},
		{Name: "set_vhost_tags", Tools: command.Ctl, Usage: "<vhost> [<tag> ...]", About: "Sets the tags of a virtual host; no tags clears them.", Least: 1, Most: command.Unbounded, Run: setVHostTags},
		{Name: "enable_vhost_deletion_protection", Tools: command.Ctl, Usage: "<vhost>", About: "Protects a virtual host from deletion.", Least: 1, Most: 1, Run: protectVHost},
		{Name: "disable_vhost_deletion_protection", Tools: command.Ctl, Usage: "<vhost>", About: "Removes the deletion protection of a virtual host.", Least: 1, Most: 1, Run: protectVHost},
		{Name: "set_vhost_limits", Tools: command.Ctl, Usage: command.InVHost + "<definition>", About: "Replaces the connection and queue limits of a virtual host; -1 means no limit.", Least: 1, Most: 1, Run: setVHostLimits, Example: `set_vhost_limits -p / '{"max-connections":500,"max-queues":1000}'`},
		{Name: "clear_vhost_limits", Tools: command.Ctl, Usage: command.InVHost, About: "Clears the limits of a virtual host.", Run: clearVHostLimits},
		{Name: "list_vhost_limits", Tools: command.Both, Usage: "[--vhost <vhost> | --global]", About: "Lists the limits of one or all virtual hosts.", Options: "global", Run: listVHostLimits},
		{Name: "list_vhost_options", Own: true, Tools: command.Both, Usage: command.InVHost, About: "Lists the options of a virtual host, with defaults.", Run: listVHostOptions},
		{Name: "set_vhost_option", Tools: command.Ctl, Usage: command.InVHost + "<name> <value>", About: "Sets an option of a virtual host.", Least: 2, Most: 2, Run: setVHostOption, More: optionsHelp},
		{Name: "clear_vhost_option", Tools: command.Ctl, Usage: command.InVHost + "<name>", About: "Resets an option of a virtual host to its default.", Least: 1, Most: 1, Run: clearVHostOption},
		{Name: "restart_vhost", Tools: command.Ctl, Usage: command.InVHost, About: "Starts a stopped virtual host.", Run: restartVHost},
		{Name: "trace_on", Tools: command.Ctl, Usage: command.InVHost, About: "Not supported: the broker has no tracing.", Run: command.Refuse("tracing is not supported. Use list_lost_letters, and the x-death header, which records the deaths of a message")},
		{Name: "trace_off", Tools: command.Ctl, Usage: command.InVHost, About: "Does nothing: the broker has no tracing.", Run: traceOff},
	}
}

const withQueue = command.InVHost + "<queue>"

const oneMember = "queues have one member, on this node"

// QuorumQueues are the commands under the title "Quorum queues".
func QuorumQueues() []command.Command {
	return []command.Command{
		{Name: "rebalance", Tools: command.Queues, Usage: "all | classic | quorum | stream", About: "Does nothing: the broker is a single node.", Least: 1, Most: 1, Options: "vhost-pattern queue-pattern", Run: command.Already("Nothing to rebalance: there is only one node.")},
		{Name: "quorum_status", Tools: command.Queues, Usage: withQueue, About: "Shows the members of a quorum queue: only this node.", Least: 1, Most: 1, Run: quorumStatus},
		{Name: "peek", Tools: command.Queues, Usage: command.InVHost + "<queue> <position>", About: "Shows the message at a position, 1 being the oldest, and does not change it.", Least: 2, Most: 2, Run: peek},
		{Name: "grow", Tools: command.Queues, Usage: "<node> <all | even>", About: "Not supported: the broker is a single node.", Least: 2, Most: 2, Options: "vhost-pattern queue-pattern membership errors-only", Run: command.Refuse(oneMember)},
		{Name: "shrink", Tools: command.Queues, Usage: "<node>", About: "Not supported: the broker is a single node.", Least: 1, Most: 1, Options: "errors-only", Run: command.Refuse(oneMember)},
		{Name: "add_member", Tools: command.Queues, Usage: command.InVHost + "<queue> <node>", About: "Not supported: the broker is a single node.", Least: 2, Most: 2, Options: "membership", Run: command.Refuse(oneMember)},
		{Name: "delete_member", Tools: command.Queues, Usage: command.InVHost + "<queue> <node>", About: "Not supported: the broker is a single node.", Least: 2, Most: 2, Run: command.Refuse(oneMember)},
		{Name: "force_checkpoint", Tools: command.Queues, About: "Does nothing: checkpoints are automatic.", Options: "vhost-pattern queue-pattern errors-only", Run: command.Already("Checkpoints are automatic.")},
		{Name: "reclaim_quorum_memory", Tools: command.Queues, Usage: withQueue, About: "Does nothing: memory is reclaimed automatically.", Least: 1, Most: 1, Run: command.Already("Memory is reclaimed automatically.")},
	}
}

// Queues are the commands under the title "Queues, exchanges, bindings".
func Queues() []command.Command {
	return append(declarations(), []command.Command{
		{Name: "list_queues", Tools: command.Both | command.Queues, Usage: command.InVHost + "[--online] [--offline] [--local] " + command.AnyColumn, About: "Lists queues.", Most: command.Unbounded, Options: "online offline local", Run: listQueues, More: command.ColumnsOf(queueColumns), Example: "list_queues name messages consumers policy\nlist_queues -p shop -q name messages | awk '$2 > 1000'"},
		{Name: "list_exchanges", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists exchanges.", Most: command.Unbounded, Run: listExchanges, More: command.ColumnsOf(exchangeColumns)},
		{Name: "list_bindings", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists bindings.", Most: command.Unbounded, Run: listBindings, More: command.ColumnsOf(bindingColumns)},
		{Name: "list_consumers", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists consumers.", Most: command.Unbounded, Run: listConsumers, More: command.ColumnsOf(consumerColumns)},
		{Name: "list_unresponsive_queues", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists unresponsive queues: always none.", Most: command.Unbounded, Options: "local", Run: command.ListNothing("Listing unresponsive queues for vhost %s ...")},
		{Name: "purge_queue", Tools: command.Ctl, Usage: command.InVHost + "<queue>", About: "Deletes the ready messages of a queue.", Least: 1, Most: 1, Run: purgeQueue},
		{Name: "delete_queue", Tools: command.Ctl, Usage: command.InVHost + "<queue> [--if-empty] [--if-unused]", About: "Deletes a queue and its messages.", Least: 1, Most: 1, Options: "if-empty if-unused force", Run: deleteQueue},
		{Name: "delete_exchange", Tools: command.Ctl, Usage: command.InVHost + "<exchange> [--if-unused]", About: "Deletes an exchange.", Least: 1, Most: 1, Options: "if-unused", Run: deleteExchange},
	}...)
}

const bindingUsage = command.InVHost +
	"[--routing-key <key>] [--arguments <json>] <exchange> (<queue> | --to-exchange <exchange>)"

const declareUsage = command.InVHost + "[--type <type>] [--auto-delete] "

// declarations declare objects, and publish and get messages.
func declarations() []command.Command {
	return []command.Command{
		{
			Name: "declare_queue", Tools: command.Ctl, Usage: declareUsage + "[--arguments <json>] <queue>",
			About: "Declares a durable queue.", Least: 1, Most: 1, Options: "type auto-delete arguments", Run: declareQueue,
			Example: "declare_queue orders\n" +
				`declare_queue work --type quorum --arguments '{"x-dead-letter-exchange":"dlx"}'`,
		},
		{
			Name: "declare_exchange", Tools: command.Ctl, Usage: declareUsage + "[--internal] [--arguments <json>] <exchange>",
			About: "Declares a durable exchange, of the type direct unless another is given.",
			Least: 1, Most: 1, Options: "type auto-delete internal arguments", Run: declareExchange,
			Example: "declare_exchange events --type topic\n" +
				`declare_exchange later --type x-delayed-message --arguments '{"x-delayed-type":"direct"}'`,
		},
		{
			Name: "declare_binding", Tools: command.Ctl,
			Usage: bindingUsage,
			About: "Binds a queue, or an exchange, to an exchange.",
			Least: 2, Most: 2, Options: "routing-key arguments to-exchange", Run: declareBinding,
			Example: "declare_binding events orders --routing-key 'order.*'",
		},
		{
			Name: "publish_message", Tools: command.Ctl,
			Usage: command.InVHost + "[--exchange <exchange>] [--properties <properties>] <routing key> [<payload>]",
			About: "Publishes a persistent message. Reads the payload from standard input if it is not given.",
			Least: 1, Most: 2, Options: "exchange properties", Run: publishMessage, More: publishHelp,
			Example: "publish_message orders 'order 42'\n" +
				`publish_message order.new '{"id":42}' --exchange events --properties '{"headers":{"tenant":"acme"}}'`,
		},
		{
			Name: "get_messages", Own: true, Tools: command.Ctl,
			Usage: command.InVHost + "[--limit <number>] [--ack] <queue> " + command.AnyColumn,
			About: "Shows the oldest ready messages of a queue and returns them to it; with --ack, removes them.",
			Least: 1, Most: command.Unbounded, Options: "limit ack", Run: getMessages, More: getHelp,
			Example: "get_messages orders\nget_messages orders --limit 10 routing_key properties payload",
		},
	}
}

func getHelp() string {
	return command.FixedColumns(gotColumns)() + `

A message that is returned was delivered once more: with a delivery limit or delayed retries it waits, and can become a
dead letter. 'dlq peek' shows messages without any effect.`
}

func publishHelp() string {
	return `Without --exchange, the message goes to the default exchange: the routing key is the name of a queue. If no queue
takes the message, the command fails. --properties replaces delivery_mode 2, which makes the message persistent.`
}

// Connections are the commands under the title "Connections".
func Connections() []command.Command {
	return []command.Command{
		{Name: "list_connections", Tools: command.Both, Usage: command.AnyColumn, About: "Lists connections.", Most: command.Unbounded, Run: listConnections, More: command.ColumnsOf(connectionColumns)},
		{Name: "list_channels", Tools: command.Both, Usage: command.AnyColumn, About: "Lists channels.", Most: command.Unbounded, Run: listChannels, More: command.ColumnsOf(channelColumns)},
		{Name: "close_connection", Tools: command.Ctl, Usage: "<connection> <reason>", About: "Closes a connection, given as shown by list_connections pid or name.", Least: 2, Most: 2, Run: closeConnection, Example: "close_connection '127.0.0.1:51001 -> 127.0.0.1:5672' 'go away'"},
		{Name: "close_all_connections", Tools: command.Ctl, Usage: "[--vhost <vhost> | --global] [--per-connection-delay <ms>] [--limit <number>] <reason>", About: "Closes all connections, or those of one virtual host.", Least: 1, Most: 1, Options: "global per-connection-delay limit", Run: closeAllConnections},
		{Name: "close_all_user_connections", Tools: command.Ctl, Usage: "<username> <reason>", About: "Closes the connections of a user.", Least: 2, Most: 2, Run: closeUserConnections},
	}
}

// Definitions are the commands under the title "Definitions".
func Definitions() []command.Command {
	return []command.Command{
		{Name: "export_definitions", Tools: command.Ctl, Usage: "[--format json] <file> | -", About: "Exports users, virtual hosts, permissions, policies, queues, exchanges and bindings to a file or standard output.", Least: 1, Most: 1, Options: "format", Run: exportDefinitions, More: definitionsHelp, Example: "export_definitions definitions.json\nexport_definitions - | jq .queues"},
		{Name: "import_definitions", Tools: command.Ctl, Usage: "[--format json] [--skip-if-unchanged] [--dry-run] [<file> | -]", About: "Imports definitions from a file or standard input; --dry-run only checks them.", Most: 1, Options: "format skip-if-unchanged dry-run", Patience: definitionsPatience, Run: importDefinitions, More: definitionsHelp, Example: "import_definitions definitions.json"},
	}
}
