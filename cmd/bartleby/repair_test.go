package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
)

func TestCheckAndRepair(t *testing.T) {
	t.Parallel()
	// If this fails, a script does not learn whether data is sound, or a dry run changes something.
	dir := filepath.Join(t.TempDir(), "data")
	b, err := bartleby.Start(bartleby.Config{Data: dir, SegmentBytes: 64 << 10, ReserveBytes: -1, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	tool := func(code int, words string, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if got := run(append([]string{"bartleby"}, args...), strings.NewReader(""), &out, &errs); got != code {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, got, code, &out, &errs)
		}
		if text := out.String() + errs.String(); !strings.Contains(text, words) {
			t.Fatalf("%q does not say %q: %s", args, words, text)
		}
		return out.String()
	}
	tool(exitBlind, "is in use by a broker: stop it first", "check", dir)
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	tool(exitSound, dir+": sound", "check", dir)
	tool(exitSound, dir+": sound", "repair", dir)
	if err := os.Remove(filepath.Join(dir, "journal/manifest")); err != nil {
		t.Fatal(err)
	}
	tool(exitDamaged, "the manifest is missing", "check", dir)
	tool(exitDamaged, "write a new manifest", "repair", dir, "--dry-run")
	var r bartleby.Report
	if err := json.Unmarshal([]byte(tool(exitDamaged, "", "check", "--json", dir)), &r); err != nil || r.State != bartleby.Damaged || len(r.Damage) != 1 || !r.Journal.Rebuilt {
		t.Fatalf("as JSON: %+v, %v", r, err)
	}
	tool(exitSound, dir+": repaired; the damaged files are in damaged-1", "repair", dir)
	tool(exitSound, "damaged-1 has files that a repair moved aside", "check", dir)
	tool(exitBlind, "is not the data directory of a broker", "check", t.TempDir())
	tool(exitUsage, "Exit codes", "check")
	tool(exitUsage, "unexpected argument", "repair", dir, dir)
}
