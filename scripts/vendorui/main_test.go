package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

const here = "../../" + usual

func TestVendoredFiles(t *testing.T) {
	// If this fails, a module of others was changed by hand, came from nowhere, or has no licence beside it.
	t.Parallel()
	packages, err := read(here)
	if err != nil || len(packages) == 0 {
		t.Fatalf("%d packages: %v", len(packages), err)
	}
	known := []string{list}
	for _, v := range packages {
		if !regexp.MustCompile(`^sha512-[0-9A-Za-z+/]{86}==$`).MatchString(v.Integrity) || v.Version == "" || v.Licence == "" || v.Use == "" {
			t.Errorf("%s: version %q, licence %q, integrity %q, use %q", v.Name, v.Version, v.Licence, v.Integrity, v.Use)
		}
		licensed := false
		for _, f := range v.Files {
			text, err := os.ReadFile(filepath.Join(here, f.To))
			if err != nil {
				t.Error(err)
				continue
			}
			if got := digest(text); got != f.SHA256 {
				t.Errorf("%s has SHA-256 %s, VENDOR.json says %s", f.To, got, f.SHA256)
			}
			licensed = licensed || filepath.Ext(f.To) == ".txt"
			known = append(known, f.To)
		}
		if !licensed {
			t.Errorf("%s comes without its licence", v.Name)
		}
	}
	entries, err := os.ReadDir(here)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			t.Errorf("%s is not in VENDOR.json", e.Name())
		}
	}
}

func TestAdapt(t *testing.T) {
	// If this fails, a browser finds no module under the name that another one imports.
	t.Parallel()
	got, err := adapt("a.mjs", []byte("import{a}from\"preact\";import\"./b.mjs\";export*from\"@preact/signals-core\";\n//# sourceMappingURL=a.mjs.map\n"))
	if want := "import{a}from\"./preact.mjs\";import\"./b.mjs\";export*from\"./signals-core.mjs\";\n"; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := adapt("a.mjs", []byte(`import x from"left-pad"`)); err == nil {
		t.Error("a module that is not there was let through")
	}
}
