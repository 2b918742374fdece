package policies

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func TestPolicyCommandOnWindows(t *testing.T) {
	// If this fails, the corrected command that is shown does not work in cmd.exe.
	t.Parallel()
	c := &command.Call{Program: "rabbitmqctl", Windows: true, Command: command.Command{Name: "set_policy"}}
	got := policyCommand(c, "DLX", ".*", `{"dead-letter-exchange":"my-dlx"}`)
	if want := `rabbitmqctl set_policy DLX ".*" "{\"dead-letter-exchange\":\"my-dlx\"}"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
