// Package vfs is the disk seam: the few things that Bartleby asks of a file system, and three ways to answer them.
//
//   - [Dir] is a real directory (Linux).
//   - [Mem] is in memory. Its Crash forgets what was not synced, the way a power cut does: sector by sector, out of
//     order, with directory changes lost.
//   - [Faulty] wraps another one and fails on purpose: a call, all calls from one on, a budget of space, a flipped bit.
//
// It does not know what is in a file. It promises that all implementations behave alike; one conformance suite
// runs against each.
//
// What a caller may rely on after a crash, and no more:
//
//   - Bytes written to a file are there once a later Sync of that file has returned nil. Until then each sector of
//     [SectorBytes] is old or new, independently of all others.
//   - A file's name (created, renamed, removed) is there once a later SyncDir of its directory has returned nil.
//   - After Sync has failed nothing is known about the bytes written since the last one that did not. Calling it again
//     proves nothing.
//
// Names are relative to the root of the FS, with slashes. The package is passive: no goroutine, no clock. Calls may run
// side by side, but for these: writes to the same bytes, with each other or with reading them; the first writes to a
// file; Close with anything of that file.
package vfs

import (
	"errors"
	"io"
	"unsafe"
)

const (
	// SectorBytes is what a disk is trusted to write whole or not at all.
	SectorBytes = 512
	// BlockBytes is the alignment of memory with which every disk can write without a copy in between.
	BlockBytes = 4096
)

var (
	// ErrNotExist reports that a file or directory is not there.
	ErrNotExist = errors.New("file does not exist")
	// ErrExist reports that Create found a file of that name.
	ErrExist = errors.New("file already exists")
	// ErrNoSpace reports that the disk (or the quota) is full. Nothing else is wrong with it.
	ErrNoSpace = errors.New("no space left on the disk")
	// ErrLocked reports that another process (or another user in this one) holds the lock of a directory.
	ErrLocked = errors.New("directory is in use by another broker")
	// ErrCrashed is what everything opened before a simulated crash answers after it.
	ErrCrashed = errors.New("simulated crash")
)

// FS is a directory and all below it.
type FS interface {
	// Create makes a new, empty file, open for reading and writing. ErrExist if the name is taken.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing. ErrNotExist if there is none.
	Open(name string) (File, error)
	// Remove takes a name away; files already open stay usable. ErrNotExist if there is none.
	Remove(name string) error
	// Rename gives a file another name, replacing what had it, atomically also in a crash.
	Rename(from, to string) error
	// Exchange gives each of two files of a directory the other's name, atomically also in a crash. Where the system
	// cannot, it is Rename: then from is gone.
	Exchange(from, to string) error
	// List returns the names in a directory, sorted, without their path. ErrNotExist if there is no such directory.
	List(dir string) ([]string, error)
	// Mkdir makes a directory and its parents, durably; nil if it exists.
	Mkdir(dir string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes the exclusive lock of a directory until it is closed or the process ends. ErrLocked if it is held
	// for a second.
	Lock(dir string) (io.Closer, error)
	// Free tells how many bytes can still be allocated.
	Free() (int64, error)
}

// File is an open file. Positions and sizes are in bytes.
type File interface {
	// ReadAt is io.ReaderAt: fewer bytes than len(p) come with an error, io.EOF at the end of the file.
	io.ReaderAt
	// WriteAt is io.WriterAt; p is lent until return. Writing past the end grows the file. Where the memory is aligned
	// to BlockBytes, and position and length to SectorBytes, the bytes may go to the disk past the system's cache.
	io.WriterAt
	// Preallocate backs the n bytes at off with disk space and fills them with zeros, growing the file if needed, so
	// that later writes there neither allocate nor meet ErrNoSpace.
	Preallocate(off, n int64) error
	// Allocate is Preallocate without writing, where the file system can: it notes each first write instead, so that
	// the syncs after them take longer.
	Allocate(off, n int64) error
	// Truncate sets the size.
	Truncate(size int64) error
	// Size tells the present size.
	Size() (int64, error)
	// Sync makes everything written so far, and the size, durable (fdatasync).
	Sync() error
	io.Closer
}

// Aligned returns n zero bytes whose memory begins at a multiple of BlockBytes.
func Aligned(n int) []byte {
	b := make([]byte, n+BlockBytes)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % BlockBytes)
	return b[skip : skip+n : skip+n]
}

func aligned(p []byte, off int64, unit int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(p)))%BlockBytes == 0 && off%int64(unit) == 0 && len(p)%unit == 0 && len(p) > 0
}
