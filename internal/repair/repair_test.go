package repair_test

import (
	"testing"

	"github.com/bartleby-mq/bartleby"
)

func TestASoundDirectoryIsSound(t *testing.T) {
	t.Parallel()
	// A check would cry wolf, or a repair change what needs none.
	for _, killed := range []bool{true, false} {
		dir := image(t, killed)
		r, err := bartleby.Check(dir)
		must(t, err)
		if r.State != bartleby.Sound || len(r.Damage) > 0 || r.Losses() > 0 || len(r.Steps) > 0 {
			t.Fatalf("killed %t: %+v", killed, r)
		}
		for _, h := range r.VHosts {
			want := workCount + 1 + workCount/30 + deadCount + heldCount + largeCount
			if h.Messages != want || h.Held != heldCount || h.LostLetters != lostCount || h.Queues != 7 || !h.Starts {
				t.Fatalf("killed %t: %d messages, want %d: %+v", killed, h.Messages, want, h)
			}
		}
		r.Print(t.Output(), dir)
	}
}
