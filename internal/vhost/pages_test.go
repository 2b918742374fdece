package vhost

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// memoryPages keeps pages in memory.
type memoryPages struct {
	last  storage.Index
	pages map[storage.Ref][]byte // by where they begin
	bytes int                    // of transient ones, that were read
}

func newPages() *memoryPages { return &memoryPages{pages: map[storage.Ref][]byte{}} }

// Put implements storage.Pages.
func (p *memoryPages) Put(b []byte, transient bool) storage.Ref {
	p.last++
	r := storage.Ref{Log: testLog.Pages(), Index: p.last, Size: uint32(len(b))}
	if transient {
		r.Log = storage.Volatile.Pages()
	}
	p.pages[r.First(0)] = slices.Clone(b)
	return r
}

// Get implements storage.Pages.
func (p *memoryPages) Get(r storage.Ref) []byte {
	at := storage.Ref{Log: r.Log, Index: r.Index}
	b, ok := p.pages[at]
	if !ok || at.Log != storage.Volatile.Pages() && len(b) != int(r.Size) {
		panic(storage.Fault{Err: fmt.Errorf("no page %+v", r)})
	}
	if at.Log == storage.Volatile.Pages() {
		p.bytes += int(r.Size)
	}
	return b[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

// Drop implements storage.Pages.
func (p *memoryPages) Drop(r storage.Ref) { delete(p.pages, r.First(0)) }

// snapshot takes a whole checkpoint at once.
func (v *VHost) snapshot() []byte {
	v.BeginCheckpoint(v.index)
	for v.SaveCheckpoint(40) {
	}
	b := slices.Concat(v.EndCheckpoint()...)
	v.CheckpointStored(true)
	return b
}
