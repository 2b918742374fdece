package journal

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// ErrOccupied reports that there is something where a copy was to go.
var ErrOccupied = errors.New("not empty")

// CopyInto copies a leased journal into another file system, in which there must be nothing yet, but for what an
// earlier copy left that failed and cleaned up. Pace is called as by LeasedFile.Copy: its error breaks the copy off.
// The copy is safe on return, and counts from the last step on, when the manifest is renamed: before that it is one
// that Open refuses, and after an error also one of which the large files are removed, if that is possible. Damage that
// was copied is listed.
//
// Errors: ErrOccupied, vfs.ErrNoSpace, pace's, what the disks said.
func (l *Lease) CopyInto(to vfs.FS, pace func(n int) error) (damage []error, err error) {
	c := copying{to: to, dir: path.Dir(l.Manifest.Name), pace: pace, buf: vfs.Aligned(CopyBufferBytes)}
	if err := c.begin(&l.Unfinished); err != nil {
		return nil, err
	}
	for i := range l.Files {
		if err := c.file(&l.Files[i], l.Files[i].Name); err != nil {
			return nil, errors.Join(err, c.cleanUp())
		}
	}
	if err := c.finish(&l.Manifest, l.Unfinished.Name); err != nil {
		return nil, err
	}
	return c.damage, nil
}

// copying is a copy in the making.
type copying struct {
	to     vfs.FS
	dir    string
	pace   func(n int) error
	buf    []byte
	made   []string
	damage []error
}

// begin makes the directory, and marks it as incomplete.
func (c *copying) begin(mark *LeasedFile) error {
	if err := c.occupied(".", path.Base(c.dir)); err != nil {
		return err
	}
	if err := c.to.Mkdir(c.dir); err != nil {
		return err
	}
	if err := c.occupied(c.dir, path.Base(mark.Name)); err != nil {
		return err
	}
	if err := c.file(mark, mark.Name); err != nil && !errors.Is(err, vfs.ErrExist) { // what is in it is for people
		return err
	}
	c.made = nil // stays
	return c.to.SyncDir(c.dir)
}

// occupied refuses a directory in which there is anything else than one name.
func (c *copying) occupied(dir, name string) error {
	names, err := c.to.List(dir)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(names, func(n string) bool { return n != name }); i >= 0 {
		return fmt.Errorf("%w: there is %s", ErrOccupied, path.Join(dir, names[i]))
	}
	return nil
}

// file copies a file, and syncs it.
func (c *copying) file(from *LeasedFile, name string) error {
	f, err := c.to.Create(name)
	if err != nil {
		return err
	}
	c.made = append(c.made, name)
	damage, err := from.Copy(&appender{f: f}, c.buf, c.pace)
	if err == nil {
		err = f.Sync()
	}
	if damage != nil {
		c.damage = append(c.damage, damage)
	}
	return errors.Join(err, f.Close())
}

// finish makes a journal of the copy: the manifest takes the place of the mark.
func (c *copying) finish(manifest *LeasedFile, mark string) error {
	temp := path.Join(c.dir, manifestTemp)
	err := c.file(manifest, temp)
	if err == nil {
		err = c.to.SyncDir(c.dir) // every other file's name, before the manifest's
	}
	if err != nil {
		return errors.Join(err, c.cleanUp())
	}
	if err := c.to.Rename(temp, manifest.Name); err != nil {
		return err
	}
	_ = c.to.Remove(mark) // where it stays it is in nobody's way
	return c.to.SyncDir(c.dir)
}

// cleanUp removes what was copied in vain. The mark stays.
func (c *copying) cleanUp() error {
	var errs []error
	for _, name := range c.made {
		if err := c.to.Remove(name); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// appender appends to a file.
type appender struct {
	f  vfs.File
	at int64
}

// Write implements io.Writer.
func (w *appender) Write(p []byte) (int, error) {
	n, err := w.f.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}
