package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// typed runs the command line and returns what it says.
func typed(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if got := run(args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("%q: exit code %d, want %d: %s%s", args, got, code, &out, &errs)
	}
	return out.String() + errs.String()
}

func TestInstallShims(t *testing.T) {
	// If this fails, scripts that call rabbitmqctl do not find it, or RabbitMQ's own is overwritten.
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bin")
	typed(t, 0, "bartleby", "install-shims", dir)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rabbitmqctl", "rabbitmq-diagnostics", "rabbitmq-plugins", "rabbitmq-queues", "rabbitmq-upgrade", "rabbitmqadmin", "rabbitmq-server"} {
		if to, err := filepath.EvalSymlinks(filepath.Join(dir, name)); err != nil || to != own {
			t.Errorf("%s is %s, %v", name, to, err)
		}
	}
	typed(t, 0, "bartleby", "install-shims", dir) // again
	theirs := filepath.Join(dir, "rabbitmqctl")
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(theirs, []byte("RabbitMQ's"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said := typed(t, exitFailed, "bartleby", "install-shims", dir); !strings.Contains(said, theirs+" exists") {
		t.Error(said)
	}
	if said := typed(t, exitFailed, "bartleby", "install-shims", "--remove", dir); !strings.Contains(said, "not removed") {
		t.Error(said)
	}
	if b, err := os.ReadFile(theirs); err != nil || string(b) != "RabbitMQ's" {
		t.Errorf("%s, %v", b, err)
	}
	typed(t, 0, "bartleby", "install-shims", dir, "--force")
	typed(t, 0, "bartleby", "install-shims", dir, "--remove")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	typed(t, exitUsage, "bartleby", "install-shims")
}

func TestNames(t *testing.T) {
	// If this fails, a link under the name of one of RabbitMQ's tools is another tool.
	t.Parallel()
	for name, command := range map[string]string{
		"rabbitmqctl": "set_policy", "rabbitmq-diagnostics": "check_port_connectivity", "rabbitmq-plugins": "is_enabled",
		"rabbitmq-queues": "quorum_status", "rabbitmq-upgrade": "post_upgrade",
	} {
		if said := typed(t, 0, "/usr/sbin/"+name, "help"); !strings.Contains(said, command) || !strings.Contains(said, name+" [--node") {
			t.Errorf("%s: %s", name, said)
		}
		if said := typed(t, 0, "bartleby", "as", name, "help"); !strings.Contains(said, command) {
			t.Errorf("as %s: %s", name, said)
		}
	}
	typed(t, exitUsage, "bartleby", "as", "something")
	if said := typed(t, exitUsage, "rabbitmq-server", "-detached"); !strings.Contains(said, "not supported") {
		t.Error(said)
	}
}

func TestCompletion(t *testing.T) {
	// If this fails, pressing the tabulator behind bartleby does nothing, or something wrong.
	t.Parallel()
	if got := typed(t, 0, "bartleby", "__complete", "ch"); got != "check\n" {
		t.Error(got)
	}
	if got := typed(t, 0, "bartleby", "__complete", "ctl", "set_pol"); got != "set_policy\n" {
		t.Error(got)
	}
	if got := typed(t, 0, "bartleby", "__complete", "completion", ""); got != "bash\nzsh\nfish\n" {
		t.Error(got)
	}
	typed(t, exitUsage, "bartleby", "completion", "csh")
	script := typed(t, 0, "bartleby", "completion", "bash")
	const program = `bartleby() { echo "asked for: $*"; echo "two words"; }
COMP_WORDS=(bartleby ctl list_queues -p "a b" na); COMP_CWORD=5
_bartleby; printf '%s|' "${COMPREPLY[@]}"`
	out, err := exec.Command("bash", "-c", script+program).CombinedOutput()
	if want := `asked\ for:\ __complete\ ctl\ list_queues\ -p\ a\ b\ na|two\ words|`; err != nil || string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
}
