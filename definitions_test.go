package bartleby_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
)

// If this fails, a broker does not have what it was told to load when the first client comes, starts with definitions that
// are wrong, or has guest beside the users that were loaded.
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
