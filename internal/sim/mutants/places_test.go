package main

import (
	"testing"
)

func TestEveryFaultHasItsPlaceInTheProduct(t *testing.T) {
	// If this fails, the text that a fault changes is not there any more, or not only there, or what the
	// fault makes of it cannot be built: the checks of that fault would prove nothing. Give it its new place.
	root, err := rootOf()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := change(root); err != nil {
		t.Fatal(err)
	}
	if _, err := build(root, t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsHaveNamesAndChecks(t *testing.T) {
	// If this fails, nobody needs to notice a fault, or two are planted as one.
	known := map[string]bool{}
	for _, f := range all() {
		if f.name == "" || known[f.name] || len(f.edits) == 0 || len(f.checks) == 0 {
			t.Errorf("fault %q, known: %t, has %d edits and %d checks", f.name, known[f.name], len(f.edits), len(f.checks))
		}
		known[f.name] = true
	}
}
