package duration

import (
	"strings"
	"testing"
)

func TestDurationsAreRead(t *testing.T) {
	// If this fails, a duration means something else than its writer meant.
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "0s": 0, "500us": 500 * microsecond, "500µs": 500 * microsecond, "500μs": 500 * microsecond,
		"1ms": millisecond, "90s": 90 * second, "15m": 15 * minute, "15min": 15 * minute, "12h": 12 * hour,
		"30d": 30 * day, "2w": 14 * day, "1f": 14 * day, "1h30m": 90 * minute, "1h30min5s": 90*minute + 5*second,
		"1.5h": 90 * minute, "0.5s": 500 * millisecond, "1.25d": 30 * hour, "1H30M": 90 * minute, "007s": 7 * second,
		"36525d": longest, "0.000001s": microsecond,
	} {
		if got, err := Nanoseconds(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	if got, err := Milliseconds("1m0.25s"); err != nil || got != 60_250 {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestDurationsAreWritten(t *testing.T) {
	for _, c := range []struct {
		ms          int64
		text, words string
	}{
		{0, "0", "0 ms"},
		{1, "1ms", "1 ms"},
		{60_000, "1m", "1 minute"},
		{900_000, "15m", "15 minutes"},
		{5_400_000, "1h30m", "1 hour 30 minutes"},
		{7 * 86_400_000, "7d", "7 days"},
		{86_401_250, "1d1s250ms", "1 day 1 second 250 ms"},
	} {
		text, words := Text(c.ms), Words(c.ms)
		read, err := Milliseconds(text)
		if text != c.text || words != c.words || read != c.ms || err != nil {
			t.Errorf("%d ms: %q, %q; read: %d, %v", c.ms, text, words, read, err)
		}
	}
}

func TestDurationsAreRefused(t *testing.T) {
	// If this fails, a duration that means nothing, or two things, is accepted, or the error does not say what to
	// write.
	t.Parallel()
	for text, want := range map[string]string{
		"5": "'5' has no unit: write 5s, or 5ms", "1.5": "'1.5' has no unit: write 1.5s, or 1.5ms", "00": "has no unit",
		"":     "'' is not a duration: write a number with ms, s, m, h, d or w, such as 90s or 1h30m",
		"soon": "is not a duration", "s": "is not a duration", "5y": "is not a duration", "5 s": "is not a duration",
		"-5s": "is not a duration", "+5s": "is not a duration", "1h30": "is not a duration", ".5s": "is not a duration",
		"1.s": "is not a duration", "1.2.3s": "is not a duration", ".": "is not a duration", "5sm": "is not a duration",
		"1e3s": "is not a duration", "１s": "is not a duration", "10,5s": "is not a duration",
		"36526d": "is longer than a hundred years", "99999999999999999999s": "longer", "36525d1us": "longer",
		"0.5ms": "is not a whole number of milliseconds",
	} {
		if got, err := Milliseconds(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d, %v, want %s", text, got, err, want)
		}
	}
}

func FuzzDurations(f *testing.F) {
	f.Add("1h30m")
	f.Add("99999999999999999999.9w")
	f.Fuzz(func(t *testing.T, text string) {
		// If this fails, text of a client becomes a negative time, or one that overflows, or ends the process.
		if n, err := Nanoseconds(text); n < 0 || n > longest || err != nil && n != 0 {
			t.Errorf("got %d, %v", n, err)
		}
	})
}
