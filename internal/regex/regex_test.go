package regex

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	// If this fails, a short expression takes hundreds of megabytes, or a long list of names is refused.
	t.Parallel()
	for expression, refused := range map[string]bool{
		"":                             false,
		"^orders\\.(eu|us)\\..*$":      false,
		strings.Repeat("x", 2000):      false,
		strings.Repeat("a|b", 600):     false,
		"x{1000}":                      false,
		"x{1000,}":                     false,
		strings.Repeat("x{1000}", 3):   true,
		"(?:x{10}){100}(?:y{100}){10}": false,
		"(?:x{50}){50}":                true,
		"(?:(?:x{9}){9}){9}{9}":        true,
		"(ab|cd){999}":                 true,
		"(?i)k{1000}.{1000}z{1000}":    true,
		"(":                            true,
		"(?=x)":                        true,
		"x{1001}":                      true,
	} {
		if err := Check(expression, 2048); (err != nil) != refused {
			t.Errorf("%.40s: %v", expression, err)
		}
	}
	const lookahead = "(?=x)"
	//lint:ignore SA1000 an error is wanted
	_, want := regexp.Compile(lookahead)
	if err := Check(lookahead, 10); err.Error() != want.Error() {
		t.Errorf("%v, where package regexp says %v", err, want)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("(a|b){999}|[^x]{3,}")
	f.Add(`(?i)(\pL{2}|\d+?){7}^$\b.*`)
	f.Fuzz(func(t *testing.T, expression string) {
		// If it fails, what passes does not compile, or takes far more memory than its bound says.
		const most = 2000
		if len(expression) > 1024 || Check(expression, most) != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := regexp.Compile(expression); err != nil && !strings.Contains(err.Error(), "invalid UTF-8") {
			t.Fatalf("%q: %v", expression, err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 4000*most {
			t.Errorf("%q takes %d bytes", expression, took)
		}
	})
}
