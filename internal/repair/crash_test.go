package repair_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/repair"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// load puts a directory into memory, all of it synced.
func load(t *testing.T, dir string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem(1)
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			return mem.Mkdir(name)
		}
		p, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := mem.Create(filepath.ToSlash(name))
		if err == nil {
			_, err = f.WriteAt(p, 0)
		}
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close(), mem.SyncDir(filepath.ToSlash(filepath.Dir(name))))
	}))
	return mem
}

// files is what is in the journal of a file system.
func files(t *testing.T, f vfs.FS) map[string]string {
	t.Helper()
	names, err := f.List("journal")
	must(t, err)
	all := map[string]string{}
	for _, n := range names {
		file, err := f.Open("journal/" + n)
		must(t, err)
		size, err := file.Size()
		must(t, err)
		p := make([]byte, size)
		if size > 0 {
			_, err = file.ReadAt(p, 0)
			must(t, err)
		}
		must(t, file.Close())
		all[n] = string(p)
	}
	return all
}

// changes reports whether a call changes something on the disk.
func changes(c vfs.Call) bool {
	return slices.Contains([]string{"create", "remove", "rename", "mkdir", "syncdir", "write", "preallocate", "truncate", "sync"}, c.Op)
}

// lostTexts lists what is lost.
func lostTexts(r *repair.Report) (all []string) {
	for _, h := range r.VHosts {
		for _, l := range h.Lost {
			all = append(all, h.Name+": "+l.Text)
		}
	}
	return append(all, r.Users.Lost...)
}

// hurt makes an image with damage of several kinds, in both virtual hosts.
func hurt(t *testing.T, killed bool) string {
	t.Helper()
	dir := image(t, killed)
	for _, what := range []string{label("/", "work", 222), label(otherVHost, "large", 3)} {
		file, off := find(t, dir, []byte(what))
		spoil(t, dir, file, off+100)
	}
	spoil(t, dir, "journal/00000002.segment", 20)
	return dir
}

func TestARepairThatIsCutOffChangesNothingOrAll(t *testing.T) {
	t.Parallel()
	// A power cut during a repair would make of a damaged broker a lost one.
	for _, killed := range []bool{true, false} {
		dir := hurt(t, killed)
		found, err := repair.Check(load(t, dir))
		must(t, err)
		want := lostTexts(found)
		if len(want) < 2 {
			t.Fatalf("lost: %q", want)
		}
		done := false
		for n := 1; !done; n++ {
			mem := load(t, dir)
			before := files(t, mem)
			disk := vfs.NewFaulty(mem)
			calls := 0
			disk.Before(func(c vfs.Call) error {
				if changes(c) {
					calls++
				}
				if calls >= n {
					return vfs.ErrCrashed
				}
				return nil
			})
			r, err := repair.Repair(disk, uint64(n))
			done = err == nil
			if done && (r.State != repair.Repaired || !slices.Equal(lostTexts(r.Before), want)) {
				t.Fatalf("repaired: %+v", r)
			}
			mem.Crash()
			now, same := files(t, mem), true
			for name, p := range before {
				same = same && now[name] == p
			}
			if same && n%5 != 0 { // what there is more of does not count
				continue
			}
			r, err = repair.Check(mem)
			if err != nil {
				t.Fatalf("killed %t, cut off at call %d: %v", killed, n, err)
			}
			if r.State == repair.Sound {
				continue
			}
			if got := lostTexts(r); !slices.Equal(got, want) || !same {
				t.Fatalf("killed %t, cut off at call %d: files unchanged: %t; lost %q, want %q", killed, n, same, got, want)
			}
			if r, err = repair.Repair(mem, 99); err != nil || r.State != repair.Repaired || !slices.Equal(lostTexts(r.Before), want) {
				t.Fatalf("killed %t, cut off at call %d, and repaired: %+v, %v", killed, n, r, err)
			}
		}
	}
}

func TestAFullDiskIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	// A repair without space would leave half of one.
	dir := hurt(t, true)
	for _, room := range []int64{0, 100_000, 200_000} {
		mem := load(t, dir)
		before := files(t, mem)
		disk := vfs.NewFaulty(mem)
		disk.Budget(room)
		if _, err := repair.Repair(disk, 1); !errors.Is(err, vfs.ErrNoSpace) {
			t.Fatalf("room for %d bytes: %v", room, err)
		}
		if !maps.Equal(files(t, mem), before) {
			t.Fatalf("room for %d bytes: the journal has changed", room)
		}
		disk.Budget(-1)
		if r, err := repair.Repair(disk, 2); err != nil || r.State != repair.Repaired {
			t.Fatalf("with room: %+v, %v", r, err)
		}
	}
}

func TestSectorsThatTheDiskRefuses(t *testing.T) {
	t.Parallel()
	// A disk that answers with an error instead of wrong bytes would keep everything from being checked and saved.
	dir := image(t, false)
	file, off := find(t, dir, []byte(label("/", "large", 1)))
	off = (off + 5000) / vfs.SectorBytes * vfs.SectorBytes
	disk := vfs.NewFaulty(load(t, dir))
	bad := errors.New("input/output error")
	disk.Before(func(c vfs.Call) error {
		if c.Op == "read" && c.Name == file && c.Off < off+vfs.SectorBytes && off < c.Off+c.Len {
			return bad
		}
		return nil
	})
	r, err := repair.Repair(disk, 1)
	must(t, err)
	before := r.Before
	if r.State != repair.Repaired || len(before.Damage) != 1 || before.Damage[0].File != file || before.Damage[0].Offset > off ||
		!strings.Contains(before.Damage[0].What, bad.Error()) {
		t.Fatalf("%+v", before.Damage)
	}
	if lost := before.VHosts[0].Lost; len(lost) != 1 || lost[0].Queue != "large" || lost[0].Number != 1 || before.Losses() != 1 {
		t.Fatalf("lost %+v", lost)
	}
}

func TestDirectoriesThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	// A directory that is in use, or somebody else's, would be taken for a damaged one.
	if _, err := bartleby.Check(t.TempDir()); !errors.Is(err, vfs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := bartleby.Check(filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, vfs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	dir := image(t, true)
	start(t, dir)
	if _, err := bartleby.Repair(dir); !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("one in use: %v", err)
	}
	dir = image(t, true)
	spoil(t, dir, "journal/manifest", 8)
	if _, err := bartleby.Repair(dir); err == nil || !strings.Contains(err.Error(), "this version of Bartleby reads formats") {
		t.Errorf("a later version's: %v", err)
	}
}
