package cli

const (
	inVHost     = "[--vhost <vhost>] "
	policyUsage = inVHost + "[--priority <priority>] [--apply-to <apply-to>] [--dry-run] <name> <pattern> <definition>"
)

const both = ctl | diagnostics

// accessTable is about who may do what, and under which rules.
func accessTable() []group {
	return []group{
		{"Users", []command{
			{name: "add_user", tools: ctl, usage: "[--pre-hashed-password] <username> [<password>]", about: "Creates a user. Reads the password from standard input if it is not given.", least: 1, most: 2, options: "pre-hashed-password", run: addUser, example: "add_user janeway secret\nadd_user janeway < password.txt"},
			{name: "delete_user", tools: ctl, usage: "<username>", about: "Deletes a user and its permissions.", least: 1, most: 1, run: deleteUser},
			{name: "change_password", tools: ctl, usage: "<username> [<password>]", about: "Changes the password of a user. Reads it from standard input if it is not given.", least: 1, most: 2, run: changePassword},
			{name: "clear_password", tools: ctl, usage: "<username>", about: "Removes the password of a user: password login is disabled.", least: 1, most: 1, run: clearPassword},
			{name: "hash_password", tools: ctl, usage: "[<password>]", about: "Prints the salted hash of a password, for add_user --pre-hashed-password and for definitions.", most: 1, offline: true, run: hashPassword},
			{name: "authenticate_user", tools: ctl, usage: "<username> [<password>]", about: "Checks a user name and password: exit code 0 if they are valid, 65 if not.", least: 1, most: 2, run: authenticateUser},
			{name: "set_user_tags", tools: ctl, usage: "<username> [<tag> ...]", about: "Sets the tags of a user, such as administrator, monitoring, policymaker, management; no tags clears them.", least: 1, most: unbounded, run: setUserTags, example: "set_user_tags janeway administrator"},
			{name: "list_users", tools: both, about: "Lists users and their tags.", run: listUsers},
			{name: "set_user_limits", tools: ctl, usage: "<username> <definition>", about: "Limits the connections and channels of a user; -1 means no limit.", least: 2, most: 2, run: setUserLimits, example: `set_user_limits janeway '{"max-connections":10,"max-channels":100}'`},
			{name: "clear_user_limits", tools: ctl, usage: "<username> <limit> | all", about: "Clears one limit or all limits of a user.", least: 2, most: 2, run: clearUserLimits},
			{name: "list_user_limits", tools: both, usage: "[--user <username> | --global]", about: "Lists the limits of users.", options: "user global", run: listUserLimits},
		}},
		{"Permissions", []command{
			{name: "set_permissions", tools: ctl, usage: inVHost + "<username> <conf> <write> <read>", about: "Sets the permissions of a user: regular expressions for the names it may configure, write to and read from.", least: 4, most: 4, run: setPermissions, example: `set_permissions -p / janeway '^janeway-.*' '.*' '.*'`},
			{name: "set_permissions_globally", tools: ctl, usage: "<username> <conf> <write> <read>", about: "Sets the permissions of a user in all existing virtual hosts.", least: 4, most: 4, run: setPermissionsGlobally},
			{name: "clear_permissions", tools: ctl, usage: inVHost + "<username>", about: "Removes the access of a user to a virtual host.", least: 1, most: 1, run: clearPermissions},
			{name: "list_permissions", tools: both, usage: inVHost, about: "Lists the permissions of a virtual host.", run: listPermissions},
			{name: "list_user_permissions", tools: both, usage: "<username>", about: "Lists the permissions of a user.", least: 1, most: 1, run: listUserPermissions},
			{name: "set_topic_permissions", tools: ctl, usage: inVHost + "<username> <exchange> <write> <read>", about: "Limits the routing keys that a user may publish and bind with on a topic exchange.", least: 4, most: 4, run: setTopicPermissions},
			{name: "clear_topic_permissions", tools: ctl, usage: inVHost + "<username> [<exchange>]", about: "Clears topic permissions of a user.", least: 1, most: 2, run: clearTopicPermissions},
			{name: "list_topic_permissions", tools: both, usage: inVHost, about: "Lists the topic permissions of a virtual host.", run: listTopicPermissions},
			{name: "list_user_topic_permissions", tools: both, usage: "<username>", about: "Lists the topic permissions of a user.", least: 1, most: 1, run: listUserTopicPermissions},
		}},
		{"Virtual hosts", []command{
			{name: "add_vhost", tools: ctl, usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", about: "Creates a virtual host. If it exists, only the given options change.", least: 1, most: 1, options: "description tags default-queue-type", run: addVHost},
			{name: "delete_vhost", tools: ctl, usage: "<vhost>", about: "Deletes a virtual host and everything in it.", least: 1, most: 1, run: deleteVHost},
			{name: "list_vhosts", tools: both, usage: "[<column> ...]", about: "Lists virtual hosts.", most: unbounded, run: listVHosts, more: columnsOf(vhostColumns)},
			{name: "update_vhost_metadata", tools: ctl, usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", about: "Changes the description, tags or default queue type of a virtual host.", least: 1, most: 1, options: "description tags default-queue-type", run: updateVHost},
			{name: "set_vhost_tags", tools: ctl, usage: "<vhost> [<tag> ...]", about: "Sets the tags of a virtual host; no tags clears them.", least: 1, most: unbounded, run: setVHostTags},
			{name: "enable_vhost_deletion_protection", tools: ctl, usage: "<vhost>", about: "Protects a virtual host from deletion.", least: 1, most: 1, run: protectVHost},
			{name: "disable_vhost_deletion_protection", tools: ctl, usage: "<vhost>", about: "Removes the deletion protection of a virtual host.", least: 1, most: 1, run: protectVHost},
			{name: "set_vhost_limits", tools: ctl, usage: inVHost + "<definition>", about: "Replaces the connection and queue limits of a virtual host; -1 means no limit.", least: 1, most: 1, run: setVHostLimits, example: `set_vhost_limits -p / '{"max-connections":500,"max-queues":1000}'`},
			{name: "clear_vhost_limits", tools: ctl, usage: inVHost, about: "Clears the limits of a virtual host.", run: clearVHostLimits},
			{name: "list_vhost_limits", tools: both, usage: "[--vhost <vhost> | --global]", about: "Lists the limits of one or all virtual hosts.", options: "global", run: listVHostLimits},
			{name: "list_vhost_options", tools: both, usage: inVHost, about: "Lists the options of a virtual host, with defaults.", run: listVHostOptions},
			{name: "set_vhost_option", tools: ctl, usage: inVHost + "<name> <value>", about: "Sets an option of a virtual host.", least: 2, most: 2, run: setVHostOption, more: optionsHelp},
			{name: "clear_vhost_option", tools: ctl, usage: inVHost + "<name>", about: "Resets an option of a virtual host to its default.", least: 1, most: 1, run: clearVHostOption},
			{name: "restart_vhost", tools: ctl, usage: inVHost, about: "Starts a stopped virtual host.", run: restartVHost},
			{name: "trace_on", tools: ctl, usage: inVHost, about: "Not supported: the broker has no tracing.", run: refuse("tracing is not supported. Use list_lost_letters, and the x-death header, which records the deaths of a message")},
			{name: "trace_off", tools: ctl, usage: inVHost, about: "Does nothing: the broker has no tracing.", run: traceOff},
		}},
		{"Policies", []command{
			{name: "set_policy", tools: ctl, usage: policyUsage, about: "Creates or changes a policy: settings for all queues and exchanges whose names match a regular expression.", least: 3, most: 3, options: "priority apply-to dry-run", run: setPolicy, fewHint: gluedPolicy, manyHint: scatteredPolicy, more: policyHelp, example: policyExample},
			{name: "clear_policy", tools: ctl, usage: inVHost + "[--dry-run] <name>", about: "Deletes a policy.", least: 1, most: 1, options: "dry-run", run: clearPolicy},
			{name: "list_policies", tools: both, usage: inVHost, about: "Lists policies, lowest priority first.", run: listPolicies},
			{name: "set_operator_policy", tools: ctl, usage: policyUsage, about: "Creates or changes an operator policy, which limits the settings of policies and queue arguments.", least: 3, most: 3, options: "priority apply-to dry-run", run: setPolicy, fewHint: gluedPolicy, manyHint: scatteredPolicy, more: policyHelp, example: `set_operator_policy bounded '.*' '{"max-length":100000}' --apply-to queues`},
			{name: "clear_operator_policy", tools: ctl, usage: inVHost + "[--dry-run] <name>", about: "Deletes an operator policy.", least: 1, most: 1, options: "dry-run", run: clearPolicy},
			{name: "list_operator_policies", tools: both, usage: inVHost, about: "Lists operator policies, lowest priority first.", run: listPolicies},
			{name: "explain_queue", tools: both, usage: inVHost + "<queue>", about: "Shows every effective setting of a queue: its value, its source and the reason.", least: 1, most: 1, run: explain, more: explainHelp, example: "explain_queue orders"},
			{name: "explain_exchange", tools: both, usage: inVHost + "<exchange>", about: "Shows the alternate exchange of an exchange, its source and the reason.", least: 1, most: 1, run: explain, more: explainHelp},
			{name: "explain_path", tools: both, usage: inVHost + "[--event <event>] <queue>", about: "Shows where a message of a queue goes when it is rejected or expires, the queue is full, or the broker crashes.", least: 1, most: 1, options: "event", run: explainPath, more: explainPathHelp, example: "explain_path orders --event reject"},
			{name: "lint", tools: both, usage: "[--vhost <vhost>] [--severity <severity>] [--fail-on <severity>]", about: "Finds settings that will lose, delay or circulate messages: missing dead-letter exchanges, cycles, full targets, unused policies.", options: "severity fail-on", run: lint, more: lintHelp, example: "lint --fail-on error"},
			{name: "list_policies_that_match", tools: diagnostics, usage: inVHost + "[--object-type queue | exchange] <name>", about: "Lists the policies that match a queue or an exchange; the first of each kind applies.", least: 1, most: 1, options: "object-type", run: listMatchingPolicies},
			{name: "set_parameter", tools: ctl, usage: inVHost + "<component> <name> <value>", about: "Sets a runtime parameter.", least: 3, most: 3, run: setParameter},
			{name: "clear_parameter", tools: ctl, usage: inVHost + "<component> <name>", about: "Deletes a runtime parameter.", least: 2, most: 2, run: clearParameter},
			{name: "list_parameters", tools: both, usage: inVHost, about: "Lists runtime parameters: limits, options and operator policies of a virtual host.", run: listParameters},
			{name: "set_global_parameter", tools: ctl, usage: "<name> <value>", about: "Sets a global runtime parameter to a JSON value.", least: 2, most: 2, run: setGlobalParameter, example: `set_global_parameter mine '{"k":"v"}'`},
			{name: "clear_global_parameter", tools: ctl, usage: "<name>", about: "Deletes a global runtime parameter.", least: 1, most: 1, run: clearGlobalParameter},
			{name: "list_global_parameters", tools: both, about: "Lists global runtime parameters.", run: listGlobalParameters},
		}},
	}
}
