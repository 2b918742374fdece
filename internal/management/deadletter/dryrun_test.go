package deadletter

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestDryRunsSayHowFarTheyCame(t *testing.T) {
	// If this fails, a dry run whose time ends early says that it has looked at nothing, or at less than it has.
	t.Parallel()
	d := &dryRunner{spec: &vhost.JobSpec{}, budget: fairshare.Budget{}} // it is spent from the beginning
	d.portion = func(t *tried) error {
		t.Looked, t.Matches, t.cursor = t.Looked+dryRunPortion, t.Matches+1, t.cursor+dryRunPortion
		t.partial = t.Looked < 10*dryRunPortion
		return nil
	}
	few := &tried{partial: true}
	if err := d.scan(few, dryRunFew); err != nil || few.Looked != dryRunPortion || !few.partial {
		t.Fatalf("%+v, %v", few, err)
	}
	got, err := d.further(few)
	const two = 2 * dryRunPortion
	if err != nil || got.Looked != two || got.Matches != 2 || got.cursor != two || !got.partial {
		t.Errorf("%+v, %v", got, err)
	}
}
