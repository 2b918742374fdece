package engine

import (
	"archive/tar"
	"io"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// writeTar writes a leased journal as a tar file, the manifest last: without it the other files are no journal.
func writeTar(w io.Writer, l *journal.Lease, p *pacer) (damage []error, err error) {
	t := tar.NewWriter(w)
	buf := vfs.Aligned(journal.CopyBufferBytes)
	add := func(f *journal.LeasedFile) error {
		if err := t.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o640, Size: f.Size, ModTime: p.engine.Now()}); err != nil {
			return err
		}
		bad, err := f.Copy(unhurried{t, p}, buf, p.pace)
		if bad != nil {
			damage = append(damage, bad)
		}
		return err
	}
	for i := range l.Files {
		if err := add(&l.Files[i]); err != nil {
			return nil, err
		}
	}
	if err := add(&l.Manifest); err != nil {
		return nil, err
	}
	return damage, t.Close()
}

// unhurried writes for somebody who takes it: waiting for him is no work.
type unhurried struct {
	io.Writer
	p *pacer
}

// Write implements io.Writer.
func (w unhurried) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.p.began = time.Now()
	return n, err
}
