package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A batch of a replicated log is the machine's, or a control batch: one of the log's own, which takes an index, and
// which no machine sees. Its first byte is zero; batches of machines begin with another. The second is its kind.
const controlMark = 0

const (
	// termKind says that from its index on batches are of a term, a varint behind the kind: a leader begins with one.
	termKind = 1
	// changeKind is a change of the members: Raft's ConfChangeV2.
	changeKind = 2
)

// ErrControl is a control batch that cannot be read: of a later version, or no control batch at all.
var ErrControl = errors.New("unknown control batch")

// IsControl reports whether a batch is the log's own.
func IsControl(batch []byte) bool { return len(batch) > 0 && batch[0] == controlMark }

// batchOf is how an entry is stored.
func batchOf(e *raftpb.Entry) ([]byte, error) {
	switch {
	case e.GetType() == raftpb.EntryConfChangeV2:
		return append([]byte{controlMark, changeKind}, e.GetData()...), nil
	case e.GetType() != raftpb.EntryNormal:
		return nil, fmt.Errorf("%w: entry %d of type %v", ErrControl, e.GetIndex(), e.GetType())
	case len(e.GetData()) == 0:
		return binary.AppendUvarint([]byte{controlMark, termKind}, e.GetTerm()), nil
	}
	return e.GetData(), nil
}

// entryOf is the entry that was stored as a batch, of which the log knows the term.
func entryOf(term uint64, i storage.Index, batch []byte) (*raftpb.Entry, error) {
	e := &raftpb.Entry{Term: proto.Uint64(term), Index: proto.Uint64(uint64(i)), Type: raftpb.EntryNormal.Enum(), Data: batch}
	if !IsControl(batch) {
		return e, nil
	}
	e.Data = nil
	switch of, kind, err := controlOf(batch); {
	case err != nil:
		return nil, fmt.Errorf("batch %d: %w", i, err)
	case kind == termKind && of != term:
		return nil, fmt.Errorf("batch %d: %w: it begins term %d, the log says %d", i, ErrControl, of, term)
	case kind == changeKind:
		e.Type, e.Data = raftpb.EntryConfChangeV2.Enum(), batch[2:]
	}
	return e, nil
}

// controlOf returns the kind of a control batch, and the term that begins with it; 0: the batch is the machine's.
func controlOf(batch []byte) (term uint64, kind byte, err error) {
	switch {
	case !IsControl(batch):
		return 0, 0, nil
	case len(batch) < 2:
		return 0, 0, ErrControl
	case batch[1] == changeKind:
		return 0, changeKind, nil
	case batch[1] != termKind:
		return 0, 0, fmt.Errorf("%w: kind %d", ErrControl, batch[1])
	}
	term, n := binary.Uvarint(batch[2:])
	if n <= 0 || n != len(batch)-2 {
		return 0, 0, fmt.Errorf("%w: a term of %d bytes", ErrControl, len(batch)-2)
	}
	return term, termKind, nil
}
