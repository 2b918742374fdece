package output

import "testing"

func TestSizesAreReadable(t *testing.T) {
	// If this fails, a person who looks for a full disk counts digits, or reads a size that is wrong.
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 256 << 20: "256.0 MiB",
		5_000_000_000: "4.7 GiB", 3 << 50: "3072.0 TiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
