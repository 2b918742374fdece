package engine

import (
	"errors"
	"fmt"
	"io"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// ErrLowOnDisk says that a file is not kept because the disk is nearly full.
var ErrLowOnDisk = errors.New("the disk is nearly full")

// keptTemp is what the name of a file ends with while it is written.
const keptTemp = ".new"

// KeptFile returns a small file of the data directory, nil if there is none. It may have as many bytes as most.
func (e *Engine) KeptFile(name string, most int64) ([]byte, error) {
	f, err := e.fs.Open(name)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil && size > most {
		err = fmt.Errorf("file '%s' has %d bytes: the maximum is %d", name, size, most)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// KeepFile writes a small file of the data directory that the broker can do without. A crash leaves this one or the one
// before, or neither whole: what is read has to be checked. Nothing is written while the disk alarm is set.
func (e *Engine) KeepFile(name string, b []byte) error {
	if e.LowOnDisk() {
		return ErrLowOnDisk
	}
	temp := name + keptTemp
	if err := e.fs.Remove(temp); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return err
	}
	f, err := e.fs.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = e.fs.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, e.fs.Remove(temp))
	}
	return nil
}
