// Package storage names where things are kept: a batch in a logical log, a record in a batch, a page.
// It is the only package that both columns of the house see: the machines, which name places, and the
// journal, which knows what lies there. It holds no code beyond packing and counting.
package storage

// LogID names one logical log of a node. Source: ours, decision 6.
type LogID uint32

// Volatile is the LogID of records that were never logged: they live in the machine's memory and are gone
// after a restart.
const Volatile LogID = 0

// pagesBit tells the log of a vhost's pages from the vhost's own.
const pagesBit LogID = 1 << 31

// Pages is the log that holds the pages of l, which is never replayed: what counts in it is what the owner names.
// That of Volatile is spilled to files that a restart discards. Source: ours, decision 11.
func (l LogID) Pages() LogID { return l | pagesBit }

// IsPages reports whether l is a log of pages.
func (l LogID) IsPages() bool { return l&pagesBit != 0 }

// Owner is the log whose pages l holds.
func (l LogID) Owner() LogID { return l &^ pagesBit }

// stateBit tells the log of a replica's state from the log that is replicated.
const stateBit LogID = 1 << 30

// State is the log of what a replica of l must remember beside it: its term, and its vote. The last batch counts.
func (l LogID) State() LogID { return l | stateBit }

// Index is the position of a batch in its logical log: from 1, without gaps. Zero means "no batch".
type Index uint64

// Ref names Size bytes at Offset of the data of batch Index of Log. It never changes, on any replica.
// The zero Ref names nothing.
type Ref struct {
	Log    LogID
	Offset uint32 // bytes from the start of the batch's data
	Index  Index
	Size   uint32 // bytes
}

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// First names the first n bytes of what r names, all of it if that is less.
func (r Ref) First(n int) Ref {
	r.Size = min(r.Size, uint32(n))
	return r
}

// Part names what o names if it counts from where r begins; r must have that much.
func (r Ref) Part(o Ref) Ref {
	r.Offset, r.Size = r.Offset+o.Offset, o.Size
	return r
}

// Behind names what r names behind the first n bytes, of which there must be as many.
func (r Ref) Behind(n int) Ref {
	r.Offset, r.Size = r.Offset+uint32(n), r.Size-uint32(n)
	return r
}

// Pages is where the machine keeps what is cold: immutable pages of queue stretches, and records of transient
// messages. A failed read unwinds to the machine's runner with the one panic that it recovers: it never decides
// anything. Facts never name pages.
type Pages interface {
	// Put keeps a page and names it: in the log of pages, or, if it is transient, where a restart forgets it. p is
	// lent until return.
	Put(p []byte, transient bool) Ref
	// Get returns a page, and may wait for the disk. It is lent until the next Put or Get, a
	// transient one for good. Of a transient page r may name a part.
	Get(r Ref) []byte
	// Drop gives a transient page back. Others are given back by what their owner says is live (decision 10).
	Drop(r Ref)
}

// Records finds the bytes of records that a machine stored earlier, or of parts of them. It is deterministic; the
// results are lent until the machine's next command. A failed read unwinds like that of Pages.
type Records interface {
	Record(r Ref) []byte
	// Head is Record(r.First(n)), for a record of which only the beginning is needed now.
	Head(r Ref, n int) []byte
}
