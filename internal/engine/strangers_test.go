package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// TestBackupIntoTheDataItself says that a backup can be put among the broker's own files, where a start removes it, or
// a repair takes it for the broker's; or that the directory beside them is refused.
func TestBackupIntoTheDataItself(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, link, name := filepath.Join(root, "data"), filepath.Join(root, "link"), filepath.Join(root, "name")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Symlink(filepath.Join(data, "spill"), link), os.Symlink(data, name)); err != nil {
		t.Fatal(err)
	}
	e, err := Open(Options{
		FS: vfs.Dir(data), Data: name, Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, e)
	for _, place := range []string{
		data, data + "/new/deep", data + "/spill", data + "/journal/sub", root + "/other/../data/x", link, link + "/x", name, name + "/x", root + "/none/../data/journal",
	} {
		if _, err := e.BackupTo(t.Context(), place); !errors.Is(err, ErrBackupPlace) || !strings.Contains(err.Error(), "own data directory") {
			t.Errorf("%s: %v", place, err)
		}
	}
	if names, err := vfs.Dir(data).List("."); err != nil || len(names) != 2 {
		t.Errorf("there is %q, %v", names, err)
	}
	if b, err := e.BackupTo(t.Context(), data+"base"); err != nil || b.Files == 0 {
		t.Errorf("%+v, %v", b, err)
	}
	if b := e.Backups(); b.Made != 1 || b.Failed != 0 {
		t.Errorf("%+v", b)
	}
}

// TestSpillHasStrangers says that a start fails, or does away with what is not the broker's, because somebody has put
// something where backlogs are spilled to.
func TestSpillHasStrangers(t *testing.T) {
	d := newDisk()
	for _, dir := range []string{"spill/theirs", "spill/empty"} {
		if err := d.Mkdir(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"spill/theirs/file", "spill/17", "spill/stuck"} {
		f, err := d.mem.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	before := errors.New("no")
	d.Before(func(c vfs.Call) error {
		if c.Op == "remove" && c.Name == "spill/stuck" {
			return before
		}
		return nil
	})
	var text bytes.Buffer
	e := start(t, d, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&text, nil)) })
	stop(t, e)
	names, err := d.mem.List("spill")
	if err != nil || strings.Join(names, " ") != "empty stuck theirs" {
		t.Errorf("there is %q, %v", names, err)
	}
	if strings.Count(text.String(), "not removed") != 3 {
		t.Error(text.String())
	}
}
