package vfs

import (
	"bytes"
	"math/rand/v2"
	"path"
	"slices"
)

// HarmKind says what a Harm has done.
type HarmKind uint8

// The kinds of harm.
const (
	HarmBit    HarmKind = iota // one bit is the other way round
	HarmZeros                  // a sector reads as zeros
	HarmNoise                  // a sector reads as something else
	HarmCut                    // the file ends too early
	HarmAbsent                 // the file is not there
	harmKinds
)

// String names the kind.
func (k HarmKind) String() string {
	return [harmKinds]string{"bit", "zeros", "noise", "cut", "absent"}[k]
}

// Harm is damage that was done to a file of a Mem, as by a bad disk or a careless hand: what is there reads as
// something else than what was written. It is as durable as what it has spoilt, until it is mended or written over.
type Harm struct {
	Kind HarmKind
	Name string
	Off  int64 // of what reads as something else: of a cut, the new end
	Len  int64

	fs       *Mem
	inode    *inode
	was, now []byte          // of HarmBit, HarmZeros, HarmNoise
	pages    map[int64]*page // of HarmCut, behind the new end
	size     int64
	over     bool // written over: there is nothing to mend
}

// Spoil does harm of that kind to a file, drawn among the places where something was written and synced; to the place
// that was written to last, if the name is empty. It answers nil if there is none, or if the file was spoilt before.
func (m *Mem) Spoil(name string, kind HarmKind, dice *rand.Rand) *Harm {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := name == ""
	for n, f := range m.names {
		if newest && f == m.newest {
			name = n
		}
	}
	name = path.Clean(name)
	f := m.names[name]
	if f == nil || f.harm != nil {
		return nil
	}
	var pages []int64
	for number := range f.pages {
		if _, changed := f.before[number]; !changed {
			pages = append(pages, number)
		}
	}
	if len(pages) == 0 {
		return nil
	}
	slices.Sort(pages)
	h := &Harm{Kind: kind, Name: name, Off: pages[dice.IntN(len(pages))]*BlockBytes + dice.Int64N(BlockBytes), fs: m, inode: f, size: f.size}
	if newest && slices.Contains(pages, f.newest/BlockBytes) {
		h.Off = f.newest + dice.Int64N(SectorBytes)
	}
	if h.Off >= f.size {
		h.Off = f.size - 1
	}
	switch kind {
	case HarmAbsent:
		if len(f.before) > 0 || m.dirs[path.Dir(name)].synced[path.Base(name)] != f {
			return nil
		}
		h.Off, h.Len = 0, f.size
		delete(m.names, name)
		delete(m.dirs[path.Dir(name)].synced, path.Base(name))
	case HarmCut:
		if len(f.before) > 0 {
			return nil
		}
		h.cut()
	default:
		h.spoil(dice)
		if bytes.Equal(h.was, h.now) {
			return nil
		}
	}
	f.harm = h
	return h
}

// spoil changes the bytes of a sector.
func (h *Harm) spoil(dice *rand.Rand) {
	p := h.inode.pages[h.Off/BlockBytes]
	if h.Kind == HarmBit {
		h.Len = 1
	} else {
		h.Off = h.Off / SectorBytes * SectorBytes
		h.Len = min(SectorBytes, h.inode.size-h.Off)
	}
	at := p[h.Off%BlockBytes:][:h.Len]
	h.was = bytes.Clone(at)
	switch h.Kind {
	case HarmBit:
		at[0] ^= 1 << dice.IntN(8)
	case HarmZeros:
		clear(at)
	default:
		for i := range at {
			at[i] = byte(dice.Uint32())
		}
	}
	h.now = bytes.Clone(at)
}

// cut lets the file end at Off.
func (h *Harm) cut() {
	f := h.inode
	h.Len = f.size - h.Off
	h.pages = map[int64]*page{}
	for number, p := range f.pages {
		if (number+1)*BlockBytes > h.Off {
			h.pages[number] = clone(p)
		}
	}
	f.truncate(h.Off)
}

// Mend undoes the harm, unless something was written over it.
func (h *Harm) Mend() {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	f := h.inode
	f.harm = nil
	if h.over {
		return
	}
	switch h.Kind {
	case HarmAbsent:
		if h.fs.names[h.Name] == nil {
			h.fs.names[h.Name] = f
			h.fs.dirs[path.Dir(h.Name)].synced[path.Base(h.Name)] = f
		}
	case HarmCut:
		for number, p := range h.pages {
			f.pages[number] = p
		}
		f.size, f.synced = h.size, h.size
	default:
		number, at := h.Off/BlockBytes, h.Off%BlockBytes
		for _, p := range [2]*page{f.pages[number], f.before[number]} { // neither of them was written to there
			if p != nil && bytes.Equal(p[at:at+h.Len], h.now) {
				copy(p[at:], h.was)
			}
		}
	}
}

// overwrite notes that a file is written to: what was spoilt there matters to nobody any more.
func (h *Harm) overwrite(off, n int64) {
	if h != nil && off < h.Off+h.Len && h.Off < off+n {
		h.over = true
	}
}
