package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func TestTables(t *testing.T) {
	// If this fails, a command cannot be called as its help says, or help leaves something out.
	t.Parallel()
	seen := map[string]command.Tool{}
	for _, cmd := range commands() {
		if seen[cmd.Name]&cmd.Tools != 0 {
			t.Errorf("%s is there twice", cmd.Name)
		}
		seen[cmd.Name] |= cmd.Tools
		if !strings.HasSuffix(cmd.About, ".") || cmd.Run == nil || cmd.Most != command.Unbounded && cmd.Most < cmd.Least {
			t.Errorf("%s: %q, %d to %d arguments", cmd.Name, cmd.About, cmd.Least, cmd.Most)
		}
		for _, name := range strings.Fields(cmd.Options) {
			if _, ok := command.FindOption(func(o command.Option) bool { return o.Name == name }); !ok {
				t.Errorf("%s takes --%s, which there is not", cmd.Name, name)
			}
		}
		for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(cmd.Usage, -1) {
			if !cmd.Takes(m[1]) && !command.IsGlobal(m[1]) {
				t.Errorf("the usage of %s has --%s, which it does not take", cmd.Name, m[1])
			}
		}
		for line := range strings.Lines(cmd.Example) {
			words := shell(t, strings.TrimSuffix(line, "\n"))
			if words[0] != cmd.Name {
				t.Errorf("an example of %s is of %s", cmd.Name, words[0])
			}
			words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "|<>") })
			if _, err := command.Parse(words); err != nil {
				t.Errorf("an example of %s: %v", cmd.Name, err)
			}
		}
	}
	for _, cmd := range commands() {
		shorts := map[string]bool{}
		for _, o := range command.KnownOptions() {
			if !o.Global && !cmd.Takes(o.Name) || o.Short == "" {
				continue
			}
			if shorts[o.Short] {
				t.Errorf("%s takes -%s twice", cmd.Name, o.Short)
			}
			shorts[o.Short] = true
		}
	}
	for _, o := range command.KnownOptions() {
		own := slices.ContainsFunc(commands(), func(c command.Command) bool { return c.Takes(o.Name) })
		if !o.Global && !own {
			t.Errorf("no command takes --%s", o.Name)
		}
	}
}

func TestReferenceCommands(t *testing.T) {
	// If this fails, a script that calls one of RabbitMQ's commands stops at "Command not found".
	t.Parallel()
	for name, list := range map[string]string{
		"rabbitmqctl": `status cluster_status ping list_queues list_exchanges list_bindings list_connections list_channels list_consumers
			list_vhosts add_vhost delete_vhost add_user change_password delete_user clear_password authenticate_user set_user_tags list_users
			set_permissions set_permissions_globally clear_permissions list_permissions list_user_permissions set_topic_permissions
			clear_topic_permissions list_topic_permissions list_user_topic_permissions set_policy clear_policy list_policies
			set_operator_policy clear_operator_policy list_operator_policies set_parameter clear_parameter list_parameters
			set_global_parameter clear_global_parameter list_global_parameters set_vhost_limits clear_vhost_limits list_vhost_limits
			set_user_limits clear_user_limits list_user_limits purge_queue delete_queue close_connection close_all_connections
			close_all_user_connections export_definitions import_definitions await_startup await_online_nodes wait stop_app start_app reset
			stop shutdown set_cluster_name set_log_level rotate_logs set_vm_memory_high_watermark set_disk_free_limit enable_feature_flag
			list_feature_flags list_deprecated_features environment report version hash_password join_cluster forget_cluster_node
			force_boot suspend_listeners resume_listeners restart_vhost trace_on trace_off list_hashes list_ciphers
			list_unresponsive_queues enable_vhost_deletion_protection disable_vhost_deletion_protection set_vhost_tags
			update_vhost_metadata encode decode encrypt_conf_value node_health_check eval force_gc update_cluster_nodes
			rename_cluster_node reconcile_vhosts explain_queue`,
		"rabbitmq-diagnostics": `ping status check_running check_alarms check_local_alarms check_port_connectivity check_port_listener
			check_protocol_listener check_virtual_hosts check_certificate_expiration check_if_node_is_quorum_critical is_running is_booting
			alarms listeners memory_breakdown server_version os_env list_policies_that_match log_tail log_tail_stream log_location
			consume_event_stream metadata_store_status maybe_stuck cipher_suites tls_versions resolve_hostname discover_peers
			message_size_stats list_node_auth_attempt_stats erlang_version cluster_status environment report list_queues`,
		"rabbitmq-plugins": "list enable disable set is_enabled directories",
		"rabbitmq-queues": `rebalance peek quorum_status grow shrink add_member delete_member check_if_node_is_quorum_critical force_checkpoint
			reclaim_quorum_memory`,
		"rabbitmq-upgrade": `drain revive await_online_quorum_plus_one await_online_synchronized_mirror post_upgrade has_reached_target_cluster_size`,
	} {
		c := &command.Call{}
		c.Program, c.Tool = programOf(name)
		for command := range strings.FieldsSeq(list) {
			if _, ok := find(c, command); !ok {
				t.Errorf("%s has no command %s", name, command)
			}
		}
	}
}

func TestNothingHarmfulIsProposed(t *testing.T) {
	// If this fails, a user who mistypes the name of a command is shown one that deletes or stops something, and
	// runs it.
	t.Parallel()
	c := &command.Call{Tool: command.EveryTool}
	taken := regexp.MustCompile(`delete|purge|reset|stop|shutdown|forget|discard|close|clear|cancel|force`)
	for _, typed := range []string{
		"foo", "declare_queu", "delete_queu", "declare", "purge", "stp", "stop_ap", "rest", "forget_redriv", "clear",
		"clear_polic", "close", "cancel_redriv", "shutdwn", "discard_dl", "delete_user", "frce_boot",
	} {
		for _, name := range similar(c, typed) {
			if taken.MatchString(name) {
				t.Errorf("%s: did you mean %s", typed, name)
			}
		}
	}
	for typed, want := range map[string]string{"list_queue": "list_queues", "lsit_queues": "list_queues", "statu": "status"} {
		if names := similar(c, typed); !slices.Contains(names, want) {
			t.Errorf("%s: %s is not proposed, but %s", typed, want, names)
		}
	}
	takes := regexp.MustCompile(`^(Deletes|Cancels|Stops|Closes|Removes|Discards|Resets)\b`)
	for _, cmd := range commands() { // a new verb is judged: it takes something away, or it does not
		if takes.MatchString(cmd.About) && harmless(cmd) {
			t.Errorf("%s is proposed to users who type something else: %s", cmd.Name, cmd.About)
		}
	}
}
