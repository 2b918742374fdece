package bartleby_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby"
)

// If TestSyncIsChecked fails, a misspelt sync mode is used as another one, or data is created before it is
// refused.
func TestSyncIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sync  string
		every time.Duration
		words string
	}{
		{"sometimes", 0, `sync is "sometimes": it must be always, interval or never`},
		{"default", 0, `sync is "default"`},
		{"interval", -time.Second, "the interval must be positive"},
	} {
		_, err := bartleby.Start(bartleby.Config{Data: t.TempDir() + "/none", Sync: c.sync, SyncInterval: c.every})
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s every %v: %v", c.sync, c.every, err)
		}
	}
	for _, sync := range []string{"", "always", "interval", "never"} {
		b, err := bartleby.Start(bartleby.Config{Sync: sync})
		if err == nil {
			err = b.Close(t.Context())
		}
		if err != nil {
			t.Errorf("%q: %v", sync, err)
		}
	}
}
