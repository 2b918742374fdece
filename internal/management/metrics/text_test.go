package metrics

import "testing"

func TestBoundaries(t *testing.T) {
	// If this fails, dashboards that look for le="1000.0" or le="1e+06" show nothing.
	t.Parallel()
	for bound, want := range map[float64]string{
		100: "100.0", 1000: "1000.0", 10_000: "10000.0", 100_000: "100000.0", 1e6: "1e+06", 1e7: "1e+07", 5e7: "5e+07", 1e8: "1e+08", 0.001: "0.001", 0: "0.0", 2.5: "2.5",
	} {
		if got := boundary(bound); got != want {
			t.Errorf("%v is written %s, want %s", bound, got, want)
		}
	}
}
