package vhost

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/place"
)

// memoryPages keeps pages in memory.
type memoryPages struct {
	last  place.Index
	pages map[place.Ref][]byte
}

func newPages() *memoryPages { return &memoryPages{pages: map[place.Ref][]byte{}} }

// Put implements place.Pages.
func (p *memoryPages) Put(b []byte, transient bool) place.Ref {
	p.last++
	r := place.Ref{Log: testLog.Pages(), Index: p.last, Size: uint32(len(b))}
	if transient {
		r.Log = place.Volatile.Pages()
	}
	p.pages[r] = slices.Clone(b)
	return r
}

// Get implements place.Pages.
func (p *memoryPages) Get(r place.Ref) []byte {
	b, ok := p.pages[r]
	if !ok {
		panic(place.Fault{Err: fmt.Errorf("no page %+v", r)})
	}
	return b
}

// Drop implements place.Pages.
func (p *memoryPages) Drop(r place.Ref) { delete(p.pages, r) }

// snapshot takes a whole checkpoint at once.
func (v *VHost) snapshot() []byte {
	v.Freeze(v.index)
	for v.Save(40) {
	}
	b := v.Saved()
	v.Stored(true)
	return b
}
