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
			{name: "add_user", tools: ctl, usage: "[--pre-hashed-password] <username> [<password>]", about: "Makes a user. Without a password on the command line, it is read from standard input.", least: 1, most: 2, options: "pre-hashed-password", run: addUser, example: "add_user janeway secret\nadd_user janeway < password.txt"},
			{name: "delete_user", tools: ctl, usage: "<username>", about: "Deletes a user with its permissions.", least: 1, most: 1, run: deleteUser},
			{name: "change_password", tools: ctl, usage: "<username> [<password>]", about: "Changes a password; without one on the command line, it is read from standard input.", least: 1, most: 2, run: changePassword},
			{name: "clear_password", tools: ctl, usage: "<username>", about: "Takes a user's password away: nobody logs in with one.", least: 1, most: 1, run: clearPassword},
			{name: "hash_password", tools: ctl, usage: "[<password>]", about: "Prints the salted hash of a password, as add_user --pre-hashed-password and definitions take it.", most: 1, offline: true, run: hashPassword},
			{name: "authenticate_user", tools: ctl, usage: "<username> [<password>]", about: "Says whether a name and a password fit: exit code 0, or 65.", least: 1, most: 2, run: authenticateUser},
			{name: "set_user_tags", tools: ctl, usage: "<username> [<tag> ...]", about: "Gives a user tags, such as administrator, monitoring, policymaker, management; none clears them.", least: 1, most: unbounded, run: setUserTags, example: "set_user_tags janeway administrator"},
			{name: "list_users", tools: both, about: "Lists users and their tags.", run: listUsers},
			{name: "set_user_limits", tools: ctl, usage: "<username> <definition>", about: "Bounds the connections and channels of a user; -1 is no bound.", least: 2, most: 2, run: setUserLimits, example: `set_user_limits janeway '{"max-connections":10,"max-channels":100}'`},
			{name: "clear_user_limits", tools: ctl, usage: "<username> <limit> | all", about: "Takes a limit of a user away, or all.", least: 2, most: 2, run: clearUserLimits},
			{name: "list_user_limits", tools: both, usage: "[--user <username> | --global]", about: "Lists the limits of users.", options: "user global", run: listUserLimits},
		}},
		{"Permissions", []command{
			{name: "set_permissions", tools: ctl, usage: inVHost + "<username> <conf> <write> <read>", about: "Lets a user configure, write to and read from what has a name that the regular expressions match.", least: 4, most: 4, run: setPermissions, example: `set_permissions -p / janeway '^janeway-.*' '.*' '.*'`},
			{name: "set_permissions_globally", tools: ctl, usage: "<username> <conf> <write> <read>", about: "Does what set_permissions does in every virtual host that there is.", least: 4, most: 4, run: setPermissionsGlobally},
			{name: "clear_permissions", tools: ctl, usage: inVHost + "<username>", about: "Bars a user from a virtual host.", least: 1, most: 1, run: clearPermissions},
			{name: "list_permissions", tools: both, usage: inVHost, about: "Lists who may do what in a virtual host.", run: listPermissions},
			{name: "list_user_permissions", tools: both, usage: "<username>", about: "Lists what a user may do, by virtual host.", least: 1, most: 1, run: listUserPermissions},
			{name: "set_topic_permissions", tools: ctl, usage: inVHost + "<username> <exchange> <write> <read>", about: "Bounds the routing keys with which a user may publish to, and bind to, a topic exchange.", least: 4, most: 4, run: setTopicPermissions},
			{name: "clear_topic_permissions", tools: ctl, usage: inVHost + "<username> [<exchange>]", about: "Takes the bounds of set_topic_permissions away.", least: 1, most: 2, run: clearTopicPermissions},
			{name: "list_topic_permissions", tools: both, usage: inVHost, about: "Lists topic permissions of a virtual host.", run: listTopicPermissions},
			{name: "list_user_topic_permissions", tools: both, usage: "<username>", about: "Lists topic permissions of a user.", least: 1, most: 1, run: listUserTopicPermissions},
		}},
		{"Virtual hosts", []command{
			{name: "add_vhost", tools: ctl, usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", about: "Makes a virtual host; one that is there is left as it is, but for the options given.", least: 1, most: 1, options: "description tags default-queue-type", run: addVHost},
			{name: "delete_vhost", tools: ctl, usage: "<vhost>", about: "Deletes a virtual host with all that is in it.", least: 1, most: 1, run: deleteVHost},
			{name: "list_vhosts", tools: both, usage: "[<column> ...]", about: "Lists virtual hosts.", most: unbounded, run: listVHosts, more: columnsOf(vhostColumns)},
			{name: "update_vhost_metadata", tools: ctl, usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", about: "Changes what describes a virtual host.", least: 1, most: 1, options: "description tags default-queue-type", run: updateVHost},
			{name: "set_vhost_tags", tools: ctl, usage: "<vhost> [<tag> ...]", about: "Gives a virtual host tags; none clears them.", least: 1, most: unbounded, run: setVHostTags},
			{name: "enable_vhost_deletion_protection", tools: ctl, usage: "<vhost>", about: "Has delete_vhost refused until the protection is disabled.", least: 1, most: 1, run: protectVHost},
			{name: "disable_vhost_deletion_protection", tools: ctl, usage: "<vhost>", about: "Lets a virtual host be deleted again.", least: 1, most: 1, run: protectVHost},
			{name: "set_vhost_limits", tools: ctl, usage: inVHost + "<definition>", about: "Bounds the connections and queues of a virtual host, in place of the limits it has; -1 is no bound.", least: 1, most: 1, run: setVHostLimits, example: `set_vhost_limits -p / '{"max-connections":500,"max-queues":1000}'`},
			{name: "clear_vhost_limits", tools: ctl, usage: inVHost, about: "Takes the limits of a virtual host away.", run: clearVHostLimits},
			{name: "list_vhost_limits", tools: both, usage: "[--vhost <vhost> | --global]", about: "Shows the limits of one virtual host, or of all.", options: "global", run: listVHostLimits},
			{name: "list_vhost_options", tools: both, usage: inVHost, about: "Lists the options of a virtual host: those that were set, and what else is in force.", run: listVHostOptions},
			{name: "set_vhost_option", tools: ctl, usage: inVHost + "<name> <value>", about: "Sets an option of a virtual host.", least: 2, most: 2, run: setVHostOption, more: optionsHelp},
			{name: "clear_vhost_option", tools: ctl, usage: inVHost + "<name>", about: "Lets an option have its default.", least: 1, most: 1, run: clearVHostOption},
			{name: "restart_vhost", tools: ctl, usage: inVHost, about: "Starts a virtual host that has stopped.", run: restartVHost},
			{name: "trace_on", tools: ctl, usage: inVHost, about: "Is refused: there is no tracing.", run: refuse("tracing is not offered. What dies is listed by list_lost_letters and carries its history in the header x-death")},
			{name: "trace_off", tools: ctl, usage: inVHost, about: "Does nothing: there is no tracing.", run: traceOff},
		}},
		{"Policies", []command{
			{name: "set_policy", tools: ctl, usage: policyUsage, about: "Gives settings to the queues and exchanges whose names match a regular expression, at once.", least: 3, most: 3, options: "priority apply-to dry-run", run: setPolicy, fewHint: gluedPolicy, manyHint: scatteredPolicy, more: policyHelp, example: policyExample},
			{name: "clear_policy", tools: ctl, usage: inVHost + "[--dry-run] <name>", about: "Takes a policy away.", least: 1, most: 1, options: "dry-run", run: clearPolicy},
			{name: "list_policies", tools: both, usage: inVHost, about: "Lists policies, the least important first.", run: listPolicies},
			{name: "set_operator_policy", tools: ctl, usage: policyUsage, about: "Limits what policies and arguments of queues ask for.", least: 3, most: 3, options: "priority apply-to dry-run", run: setPolicy, fewHint: gluedPolicy, manyHint: scatteredPolicy, more: policyHelp, example: `set_operator_policy bounded '.*' '{"max-length":100000}' --apply-to queues`},
			{name: "clear_operator_policy", tools: ctl, usage: inVHost + "[--dry-run] <name>", about: "Takes an operator policy away.", least: 1, most: 1, options: "dry-run", run: clearPolicy},
			{name: "list_operator_policies", tools: both, usage: inVHost, about: "Lists operator policies, the least important first.", run: listPolicies},
			{name: "explain_queue", tools: both, usage: inVHost + "<queue>", about: "Tells each setting that a queue runs with: its value, where it comes from, and why.", least: 1, most: 1, run: explain, more: explainHelp, example: "explain_queue orders"},
			{name: "explain_exchange", tools: both, usage: inVHost + "<exchange>", about: "Tells the alternate exchange of an exchange, where it comes from, and why.", least: 1, most: 1, run: explain, more: explainHelp},
			{name: "explain_path", tools: both, usage: inVHost + "[--event <event>] <queue>", about: "Tells where a message of a queue goes if it is rejected, expires, finds no room, comes back too often, or the broker crashes.", least: 1, most: 1, options: "event", run: explainPath, more: explainPathHelp, example: "explain_path orders --event reject"},
			{name: "lint", tools: both, usage: "[--vhost <vhost>] [--severity <severity>] [--fail-on <severity>]", about: "Lists what will lose, delay or circulate messages: dead-letter exchanges that are missing or lead nowhere, loops, full targets, policies that do nothing.", options: "severity fail-on", run: lint, more: lintHelp, example: "lint --fail-on error"},
			{name: "list_policies_that_match", tools: diagnostics, usage: inVHost + "[--object-type queue | exchange] <name>", about: "Lists the policies that match a queue or an exchange; the first of each kind is in force.", least: 1, most: 1, options: "object-type", run: listMatchingPolicies},
			{name: "set_parameter", tools: ctl, usage: inVHost + "<component> <name> <value>", about: "Sets a runtime parameter.", least: 3, most: 3, run: setParameter},
			{name: "clear_parameter", tools: ctl, usage: inVHost + "<component> <name>", about: "Takes a runtime parameter away.", least: 2, most: 2, run: clearParameter},
			{name: "list_parameters", tools: both, usage: inVHost, about: "Lists runtime parameters: limits, options and operator policies of a virtual host.", run: listParameters},
			{name: "set_global_parameter", tools: ctl, usage: "<name> <value>", about: "Sets a global runtime parameter to JSON.", least: 2, most: 2, run: setGlobalParameter, example: `set_global_parameter mine '{"k":"v"}'`},
			{name: "clear_global_parameter", tools: ctl, usage: "<name>", about: "Takes a global runtime parameter away.", least: 1, most: 1, run: clearGlobalParameter},
			{name: "list_global_parameters", tools: both, about: "Lists global runtime parameters.", run: listGlobalParameters},
		}},
	}
}
