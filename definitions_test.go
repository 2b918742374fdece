package bartleby_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
)

// If this fails, a broker has not loaded its definitions when the first client connects, starts with definitions
// that are invalid, or has the user guest in addition to the loaded users.
func TestLoadDefinitionsAtTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "definitions.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := bartleby.Config{Management: "127.0.0.1:0", Data: t.TempDir(), LoadDefinitions: file, SegmentBytes: 1 << 16, ReserveBytes: -1}
	c.Log = slog.New(slog.DiscardHandler)

	write(`{"vhosts":[{"name":"v"}],"permissions":[{"user":"nobody","vhost":"v","configure":"","write":"","read":""}]}`)
	if b, err := bartleby.Start(c); err == nil || !strings.Contains(err.Error(), "no user 'nobody'") {
		t.Errorf("wrong definitions: %v", err)
		if err == nil {
			_ = b.Close(t.Context())
		}
	}
	write(`{"users":[{"name":"ann","password":"p","tags":["administrator"]}],"vhosts":[{"name":"v"}]}`)
	b, err := bartleby.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]int{"ann": http.StatusOK, "guest": http.StatusUnauthorized} {
		r, err := http.NewRequest(http.MethodGet, "http://"+b.ManagementAddr().String()+"/api/vhosts/v", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(user, "p")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", user, answer.Status)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// If this fails, the configured cluster name is not a global parameter, as tools and exports
// expect.
func TestConfiguredClusterNameIsAParameter(t *testing.T) {
	t.Parallel()
	b, err := bartleby.Start(bartleby.Config{Management: "127.0.0.1:0", ClusterName: "shop", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+b.ManagementAddr().String()+"/api/global-parameters/cluster_name", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct{ Name, Value string }
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Name != "cluster_name" || got.Value != "shop" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// If this fails, the command line does not find the management API at another address or with a path prefix.
func TestAddressForTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := bartleby.Config{Management: "0.0.0.0:0", Data: dir, SegmentBytes: 1 << 16, ReserveBytes: -1, Log: slog.New(slog.DiscardHandler)}
	c.Web.PathPrefix = "/mq/"
	b, err := bartleby.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ctl-address"))
	_, port, _ := strings.Cut(b.ManagementAddr().String(), "]:")
	if want := "http://127.0.0.1:" + port + "/mq\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c.Management = ""
	if b, err = bartleby.Start(c); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ctl-address")); err == nil {
		t.Error("the address file of a stopped listener still exists")
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
