package resource

import "testing"

// TestGrowth says that a small heap is collected all the time, or that a large one doubles.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for live, want := range map[int64]int{0: growMost, 1 << 20: growMost, 22 << 20: 300, 44 << 20: 100, 60 << 20: growLeast, 1 << 40: growLeast} {
		if got := growth(live); got != want {
			t.Errorf("%d live bytes may grow by %d %%, not %d", live, got, want)
		}
	}
}
