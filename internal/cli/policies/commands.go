package policies

import "github.com/bartleby-mq/bartleby/internal/cli/command"

const policyUsage = command.InVHost + "[--priority <priority>] [--apply-to <apply-to>] [--dry-run] <name> <pattern> <definition>"

// Commands are the commands under the title "Policies".
func Commands() []command.Command {
	return []command.Command{
		{Name: "set_policy", Tools: command.Ctl, Usage: policyUsage, About: "Creates or changes a policy: settings for all queues and exchanges whose names match a regular expression.", Least: 3, Most: 3, Options: "priority apply-to dry-run", Run: setPolicy, FewHint: gluedPolicy, ManyHint: scatteredPolicy, More: policyHelp, Example: policyExample},
		{Name: "clear_policy", Tools: command.Ctl, Usage: command.InVHost + "[--dry-run] <name>", About: "Deletes a policy.", Least: 1, Most: 1, Options: "dry-run", Run: clearPolicy},
		{Name: "list_policies", Tools: command.Both, Usage: command.InVHost, About: "Lists policies, lowest priority first.", Run: listPolicies},
		{Name: "set_operator_policy", Tools: command.Ctl, Usage: policyUsage, About: "Creates or changes an operator policy, which limits the settings of policies and queue arguments.", Least: 3, Most: 3, Options: "priority apply-to dry-run", Run: setPolicy, FewHint: gluedPolicy, ManyHint: scatteredPolicy, More: policyHelp, Example: `set_operator_policy bounded '.*' '{"max-length":100000}' --apply-to queues`},
		{Name: "clear_operator_policy", Tools: command.Ctl, Usage: command.InVHost + "[--dry-run] <name>", About: "Deletes an operator policy.", Least: 1, Most: 1, Options: "dry-run", Run: clearPolicy},
		{Name: "list_operator_policies", Tools: command.Both, Usage: command.InVHost, About: "Lists operator policies, lowest priority first.", Run: listPolicies},
		{Name: "explain_queue", Tools: command.Both, Usage: command.InVHost + "<queue>", About: "Shows every effective setting of a queue: its value, its source and the reason.", Least: 1, Most: 1, Run: explain, More: explainHelp, Example: "explain_queue orders"},
		{Name: "explain_exchange", Tools: command.Both, Usage: command.InVHost + "<exchange>", About: "Shows the alternate exchange of an exchange, its source and the reason.", Least: 1, Most: 1, Run: explain, More: explainHelp},
		{Name: "explain_path", Tools: command.Both, Usage: command.InVHost + "[--event <event>] <queue>", About: "Shows where a message of a queue goes when it is rejected or expires, the queue is full, or the broker crashes.", Least: 1, Most: 1, Options: "event", Run: explainPath, More: explainPathHelp, Example: "explain_path orders --event reject"},
		{Name: "lint", Tools: command.Both, Usage: "[--vhost <vhost>] [--severity <severity>] [--fail-on <severity>]", About: "Finds settings that will lose, delay or circulate messages: missing dead-letter exchanges, cycles, full targets, unused policies.", Options: "severity fail-on", Run: lint, More: lintHelp, Example: "lint --fail-on error"},
		{Name: "list_policies_that_match", Tools: command.Diagnostics, Usage: command.InVHost + "[--object-type queue | exchange] <name>", About: "Lists the policies that match a queue or an exchange; the first of each kind applies.", Least: 1, Most: 1, Options: "object-type", Run: listMatchingPolicies},
		{Name: "set_parameter", Tools: command.Ctl, Usage: command.InVHost + "<component> <name> <value>", About: "Sets a runtime parameter.", Least: 3, Most: 3, Run: setParameter},
		{Name: "clear_parameter", Tools: command.Ctl, Usage: command.InVHost + "<component> <name>", About: "Deletes a runtime parameter.", Least: 2, Most: 2, Run: clearParameter},
		{Name: "list_parameters", Tools: command.Both, Usage: command.InVHost, About: "Lists runtime parameters: limits, options and operator policies of a virtual host.", Run: listParameters},
		{Name: "set_global_parameter", Tools: command.Ctl, Usage: "<name> <value>", About: "Sets a global runtime parameter to a JSON value.", Least: 2, Most: 2, Run: setGlobalParameter, Example: `set_global_parameter mine '{"k":"v"}'`},
		{Name: "clear_global_parameter", Tools: command.Ctl, Usage: "<name>", About: "Deletes a global runtime parameter.", Least: 1, Most: 1, Run: clearGlobalParameter},
		{Name: "list_global_parameters", Tools: command.Both, About: "Lists global runtime parameters.", Run: listGlobalParameters},
	}
}
