package repair

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// putAside copies the damaged files, and all that a manifest said, to a directory of their own, with a file that says
// what they are. It returns the directory's name.
func (d *diagnosis) putAside() (dir string, err error) {
	names, err := d.fs.List(".")
	if err != nil {
		return "", err
	}
	for n := 1; dir == "" || slices.Contains(names, dir); n++ {
		dir = fmt.Sprintf("%s%d", asidePart, n)
	}
	if err := d.fs.Mkdir(dir); err != nil {
		return "", err
	}
	for _, name := range d.damagedFiles() {
		if err := d.copyFile(path.Join(dir, name), path.Join(journalDir, name)); err != nil {
			return "", err
		}
	}
	if err := writeFile(d.fs, path.Join(dir, "README"), []byte(d.readme())); err != nil {
		return "", err
	}
	return dir, d.fs.SyncDir(dir)
}

// damagedFiles lists what is put aside, sorted.
func (d *diagnosis) damagedFiles() []string {
	names := []string{"manifest"}
	for _, x := range d.damage {
		names = append(names, x.File)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readme says what the files are.
func (d *diagnosis) readme() string {
	var b strings.Builder
	b.WriteString("These files of a Bartleby data directory were damaged. 'bartleby repair' copied them here before it\n" +
		"changed anything; unreadable sectors are zeros. The broker does not need them. The manifest is that\n" +
		"from before the repair.\n\n")
	d.report.print(&b)
	return b.String()
}

// copyFile copies a file as far as it can be read; what is missing is left out.
func (d *diagnosis) copyFile(to, from string) error {
	f, err := d.fs.Open(from)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // only read
	size, err := f.Size()
	if err != nil {
		return err
	}
	out, err := d.fs.Create(to)
	if err != nil {
		return err
	}
	buf := vfs.Aligned(1 << 20)
	for at := int64(0); at < size && err == nil; {
		p := buf[:min(int64(len(buf)), size-at)]
		readAll(f, p, at)
		_, err = out.WriteAt(p, at)
		at += int64(len(p))
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// readAll reads what it can of p, sector by sector where it has to; the rest is zeros.
func readAll(f io.ReaderAt, p []byte, at int64) {
	if _, err := f.ReadAt(p, at); err == nil || err == io.EOF {
		return
	}
	for n := 0; n < len(p); n += vfs.SectorBytes {
		q := p[n:min(n+vfs.SectorBytes, len(p))]
		if _, err := f.ReadAt(q, at+int64(n)); err != nil && err != io.EOF {
			clear(q)
		}
	}
}

// writeFile makes a small file.
func writeFile(fs vfs.FS, name string, p []byte) error {
	f, err := fs.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(p, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
