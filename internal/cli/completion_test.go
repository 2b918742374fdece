package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	// If this fails, pressing the tabulator proposes what cannot stand there, or nothing.
	t.Parallel()
	names := map[string]string{
		"/api/vhosts?columns=name": `[{"name":"/"},{"name":"shop"}]`, "/api/queues/shop?columns=name": `[{"name":"orders"},{"name":"old orders"},{"name":"z"}]`,
		"/api/policies/%2F?columns=name": `[{"name":"DLX"}]`, "/api/users?columns=name": `[{"name":"guest"}]`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, names[r.URL.RequestURI()])
	}))
	defer s.Close()
	env := map[string]string{"BARTLEBY_MANAGEMENT": s.URL}
	for typed, want := range map[string]string{
		"set_pol|":                             "set_policy",
		"-q|list_vhost_l|":                     "list_vhost_limits",
		"list_queues|--form|":                  "--formatter",
		"list_queues|--formatter|j|":           "json json_stream",
		"list_queues|--onl|":                   "--online",
		"list_users|--onl|":                    "",
		"set_policy|a|b|{}|--apply-to|q|":      "queues quorum_queues",
		"-p|s|":                                "shop",
		"purge_queue|-p|shop|o|":               "old_orders orders",
		"list_queues|messages_u|":              "messages_unacknowledged messages_unacknowledged_ram",
		"list_queues|name|messages_u|":         "messages_unacknowledged messages_unacknowledged_ram",
		"clear_policy||":                       "DLX",
		"set_permissions|g|":                   "guest",
		"set_user_tags|guest|a|":               "administrator",
		"enable|rabbitmq_p|":                   "rabbitmq_prometheus",
		"completion|b|":                        "bash",
		"set_vhost_option|dial|":               "dialect",
		"nonsense|x|":                          "",
		"set_permissions|guest|.*|.*|.*|more|": "",
	} {
		code, out, errs := outcome(env, append([]string{"bartleby", completeWord}, strings.Split(strings.TrimSuffix(typed, "|"), "|")...)...)
		got := strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(out, " ", "_")), "\n", " ")
		if code != 0 || got != want || errs != "" {
			t.Errorf("%s: %q, want %q; exit %d, %s", typed, got, want, code, errs)
		}
	}
	s.Close()
	if code, out, errs := outcome(env, "rabbitmqctl", completeWord, "purge_queue", ""); code != 0 || out+errs != "" {
		t.Errorf("without a broker: exit %d, %s%s", code, out, errs)
	}
}

func TestScriptsOfShells(t *testing.T) {
	// If this fails, a shell refuses its script, or asks another program.
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, script, errs := outcome(nil, "rabbitmq-diagnostics", "completion", shell)
		if !strings.Contains(script, "rabbitmq-diagnostics __complete") || strings.Contains(script, "%!") {
			t.Errorf("%s: %s%s", shell, script, errs)
		}
	}
	_, script, _ := outcome(nil, "rabbitmqctl", "completion", "bash")
	if out, err := exec.Command("bash", "-n", "-c", script).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if code, _, errs := outcome(nil, "rabbitmqctl", "completion", "csh"); code != 64 || !strings.Contains(errs, "bash, zsh, fish") {
		t.Errorf("exit %d, %s", code, errs)
	}
}
