package management

import (
	"os"
	"path/filepath"
	"testing"
)

func TestToolIsGivenOut(t *testing.T) {
	// If this fails, a script that fetches rabbitmqadmin from the broker gets nothing, or something else than the
	// program.
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t).with(func(o *Options) { o.Tool, o.PathPrefix = path, "/mq" }).as("")
	if got := d.want(200, "GET", "/mq/cli/rabbitmqadmin", "").Body.String(); got != "a program" {
		t.Errorf("got %q", got)
	}
	d.want(404, "POST", "/mq/cli/rabbitmqadmin", "")
	d.want(404, "GET", "/mq/cli/other", "")
	d.want(404, "GET", "/cli/rabbitmqadmin", "")
	d.with(func(o *Options) { o.Tool = "" }).want(404, "GET", "/mq/cli/rabbitmqadmin", "")
}

func TestPrefixIsTold(t *testing.T) {
	// If this fails, who asks below / of an API that is elsewhere learns nothing but Not Found.
	t.Parallel()
	d := open(t).with(func(o *Options) { o.PathPrefix = "/mq" })
	d.refused(404, "Object Not Found", "Not Found: the API is below /mq", "GET", "/api/users", "")
	d.want(200, "GET", "/mq/api/users", "")
}
