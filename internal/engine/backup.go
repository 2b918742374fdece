package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

var (
	// ErrBackupUnderWay refuses a backup while another one is made.
	ErrBackupUnderWay = errors.New("a backup is already running")
	// ErrBackupPlace refuses a place for a backup.
	ErrBackupPlace = errors.New("invalid directory for a backup")
	// ErrBackupSpace says that there is no space for a backup.
	ErrBackupSpace = errors.New("not enough space for a backup")
	// errStopping breaks off a backup of a broker that stops.
	errStopping = errors.New("the broker is stopping")
)

// A Backup is a copy of all that the engine keeps, as of one moment: every vhost, users and permissions. What was
// confirmed before it was asked for is in it.
type Backup struct {
	At     time.Time // the moment
	To     string    // a directory, or "tar"
	Took   time.Duration
	Files  int
	Bytes  int64
	Damage []string // that was copied as it is: the original has it, too
}

// Backups is what became of backups since the engine was opened.
type Backups struct {
	Running       bool
	Copied, Bytes int64 // of the one that is running: so far, and all
	Made, Failed  uint64
	Last          *Backup // nil: none was made
	LastFailure   error   // of the newest one, if that failed
}

// backups keeps the books of backups, and one at a time.
type backups struct {
	mu     sync.Mutex
	state  Backups
	cancel context.CancelCauseFunc // of the one that is running
	ended  bool                    // no more begin
}

// BackupTo copies everything into a directory of this machine, which must be empty or new: a broker started on it is
// the one that was copied. Traffic goes on. The path is absolute. When ctx ends, or anything fails, what is left in the
// directory is refused as data of a broker, and may be tried again.
//
// Errors: ErrBackupUnderWay, ErrBackupPlace, which does not count as a failure, ErrBackupSpace, why ctx ended, what the
// disks said.
func (e *Engine) BackupTo(ctx context.Context, path string) (Backup, error) {
	if !filepath.IsAbs(path) {
		return Backup{}, fmt.Errorf("%w: %s is not an absolute path", ErrBackupPlace, path)
	}
	path = filepath.Clean(path)
	if e.within(path) {
		return Backup{}, fmt.Errorf("%w: %s is in the broker's own data directory", ErrBackupPlace, path)
	}
	return e.backup(ctx, path, func(l *journal.Lease, p *pacer) ([]error, error) {
		root := filepath.VolumeName(path) + string(filepath.Separator)
		if err := vfs.Dir(root).Mkdir(filepath.ToSlash(path[len(root):])); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBackupPlace, err)
		}
		return copyInto(vfs.Dir(path), l, p)
	})
}

// within reports whether a path is, or leads into, the data directory of the engine.
func (e *Engine) within(path string) bool {
	data, err := os.Stat(e.data)
	if err != nil {
		return false // in memory
	}
	for at := path; ; at = filepath.Dir(at) { // from what there is of it upwards
		if real, err := filepath.EvalSymlinks(at); err == nil {
			for at = real; ; at = filepath.Dir(at) {
				if there, err := os.Stat(at); err == nil && os.SameFile(there, data) {
					return true
				}
				if at == filepath.Dir(at) {
					return false
				}
			}
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// copyInto copies into a directory, if there is space for all of it.
func copyInto(to vfs.FS, l *journal.Lease, p *pacer) ([]error, error) {
	if free, err := to.Free(); err == nil && free < p.bytes {
		return nil, fmt.Errorf("%w: %d bytes are needed, %d are free", ErrBackupSpace, p.bytes, free)
	}
	damage, err := l.CopyInto(to, p.pace)
	switch {
	case errors.Is(err, journal.ErrOccupied):
		err = fmt.Errorf("%w: %w", ErrBackupPlace, err)
	case errors.Is(err, vfs.ErrNoSpace):
		err = fmt.Errorf("%w: %w", ErrBackupSpace, err)
	}
	return damage, err
}

// BackupTar writes everything to w as a tar file: unpacked into an empty directory it is what BackupTo makes. One that
// is not complete has no manifest, and is refused as data of a broker.
func (e *Engine) BackupTar(ctx context.Context, w io.Writer) (Backup, error) {
	return e.backup(ctx, "tar", func(l *journal.Lease, p *pacer) ([]error, error) { return writeTar(w, l, p) })
}

// Backups tells what became of backups.
func (e *Engine) Backups() Backups {
	e.backups.mu.Lock()
	defer e.backups.mu.Unlock()
	return e.backups.state
}

// EndBackups breaks off a backup that is being made; no more begin. Close does so, too.
func (e *Engine) EndBackups() {
	e.backups.mu.Lock()
	defer e.backups.mu.Unlock()
	e.backups.ended = true
	if e.backups.cancel != nil {
		e.backups.cancel(errStopping)
	}
}

// backup makes one, with copy, and keeps the books.
func (e *Engine) backup(ctx context.Context, to string, copy func(*journal.Lease, *pacer) ([]error, error)) (Backup, error) {
	ctx, err := e.beginBackup(ctx)
	if err != nil {
		return Backup{}, err
	}
	e.slog.Info("backup started", "to", to)
	began := time.Now()
	b, err := e.copyAll(ctx, copy)
	b.To, b.Took = to, time.Since(began)
	switch {
	case errors.Is(err, ErrBackupPlace):
		e.slog.Info("backup refused", "to", to, "error", err)
	case err != nil:
		e.slog.Error("backup failed", "to", to, "error", err, "took", b.Took)
	default:
		e.slog.Info("backup complete", "to", to, "files", b.Files, "bytes", b.Bytes, "took", b.Took)
		for _, d := range b.Damage {
			e.slog.Error("the broker's data is damaged, and so is the backup", "error", d)
		}
	}
	e.endBackup(b, err)
	return b, err
}

// beginBackup takes the turn. The context that it returns ends when the engine does, too.
func (e *Engine) beginBackup(ctx context.Context) (context.Context, error) {
	e.backups.mu.Lock()
	defer e.backups.mu.Unlock()
	switch {
	case e.backups.ended:
		return nil, errStopping
	case e.backups.cancel != nil:
		return nil, ErrBackupUnderWay
	}
	ctx, e.backups.cancel = context.WithCancelCause(ctx)
	e.backups.state.Running = true
	e.jobs.Add(1) // until endBackup
	return ctx, nil
}

func (e *Engine) endBackup(b Backup, err error) {
	defer e.jobs.Done()
	e.backups.mu.Lock()
	defer e.backups.mu.Unlock()
	e.backups.cancel(nil)
	s := &e.backups.state
	e.backups.cancel, s.Running, s.Copied, s.Bytes = nil, false, 0, 0
	switch {
	case errors.Is(err, ErrBackupPlace): // whoever asked knows
	case err != nil:
		s.Failed++
		s.LastFailure = err
	default:
		s.Made++
		s.Last, s.LastFailure = &b, nil
	}
}

// copyAll waits until all that was appended is safe, and copies the journal as it is then.
func (e *Engine) copyAll(ctx context.Context, copy func(*journal.Lease, *pacer) ([]error, error)) (b Backup, err error) {
	settled := make(chan struct{})
	e.writer.do(func(*logWriter) { close(settled) })
	select {
	case <-settled: // what was told to be safe by a vhost that does not sync is safe now
	case <-ctx.Done():
		return Backup{}, context.Cause(ctx)
	}
	var l *journal.Lease
	err = e.maintain(func(j *journal.Journal) (err error) {
		if l, err = j.Lease(); err != nil {
			return err
		}
		b.At = e.Now()
		for _, f := range j.Faulty() {
			b.Damage = append(b.Damage, f.Error())
		}
		return nil
	})
	if err != nil {
		return Backup{}, err
	}
	defer e.maintain(func(j *journal.Journal) error {
		j.Release(l)
		return nil
	})
	b.Files, b.Bytes = len(l.Files)+1, l.Manifest.Size
	for i := range l.Files {
		b.Bytes += l.Files[i].Size
	}
	p := &pacer{engine: e, ctx: ctx, bytes: b.Bytes, began: time.Now()}
	damage, err := copy(l, p)
	for _, d := range damage {
		b.Damage = append(b.Damage, d.Error())
	}
	return b, err
}

// pacer lets a backup be as slow as the traffic needs, and end early.
type pacer struct {
	engine *Engine
	ctx    context.Context
	bytes  int64 // to be copied
	copied int64
	began  time.Time // of the work on a piece
}

// pace comes before each piece of the copy. While there is traffic there is twice as much rest as work.
func (p *pacer) pace(n int) error {
	rest := time.NewTimer(p.rest())
	defer rest.Stop()
	select {
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	case <-rest.C:
	}
	p.began = time.Now()
	p.copied += int64(n)
	b := &p.engine.backups
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Copied, b.state.Bytes = p.copied, p.bytes
	return nil
}

func (p *pacer) rest() time.Duration {
	if !p.engine.writer.busy.Load() {
		return 0
	}
	return 2 * p.engine.restAfter(time.Since(p.began), true)
}
