package command

import "testing"

func TestDefinitionsAreShownOnOneLine(t *testing.T) {
	// If this fails, who copies a policy of several lines out of the documentation reads \012 in its echo.
	t.Parallel()
	for given, want := range map[string]string{
		"{\"a\":1,\n  \"b\": \"x y\"}": `{"a":1,"b":"x y"}`, `{"a": 1}`: `{"a": 1}`, "{\n": "{\n", "a\nb": "a\nb",
	} {
		if got := OneLine(given); got != want {
			t.Errorf("%q is shown as %q, not %q", given, got, want)
		}
	}
}
