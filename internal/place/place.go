// Package place names where things are kept: a batch in a logical log, a record in a batch, a page.
// It is the only package that both columns of the house see: the machines, which name places, and the
// journal, which knows what lies there. It holds no code beyond packing.
package place

// LogID names one logical log of a node. Source: ours, design §2.
type LogID uint32

// Volatile is the LogID of records that were never logged: they live in the machine's memory and are gone
// after a restart.
const Volatile LogID = 0

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

// PageID names an immutable page.
type PageID uint64

// Pages is where the machine keeps what is cold: immutable pages of message heads, of queue stretches, of
// far deadlines. Get is deterministic and mostly answered from memory after the engine's prefetch; it may
// wait for the disk. A failed read unwinds to the machine's runner with the one panic that it recovers: it
// never decides anything. Facts never name pages. A page is given back once a later checkpoint is durable
// and does not name it.
type Pages interface {
	Put(p []byte) PageID
	Get(id PageID) []byte
}

// Records finds the bytes of records that a machine stored earlier. Record is deterministic; the result is
// lent until the machine's next command. A failed read unwinds like that of Pages.
type Records interface {
	Record(r Ref) []byte
}
