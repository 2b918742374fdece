package sim

import (
	"bytes"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// neighbor is another logical log in the same journal: it shares segments and groups with the vhost's.
type neighbor struct {
	trying        storage.Index // last batch of a write that is under way
	written, safe storage.Index
	marked        storage.Index // what was safe at the last write
	recorded      storage.Index // the disk itself says that this is safe
}

const neighborLog = storage.LogID(2)

// neighborBatch is what batch i of that log holds.
func neighborBatch(i storage.Index) []byte {
	return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, int(i*7919%2500))
}

// more adds batches to a group, at times.
func (n *neighbor) more(w *world) []journal.Batch {
	n.trying = n.written
	if w.full {
		return nil
	}
	var group []journal.Batch
	for range max(0, w.dice.IntN(6)-3) {
		n.trying++
		group = append(group, journal.Batch{Log: neighborLog, Index: n.trying, Data: neighborBatch(n.trying)})
	}
	return group
}

func (n *neighbor) wrote() { n.written = n.trying }

// state covers what is safe: an idle log must not pin segments. There is none as long as nothing is safe.
func (n *neighbor) state() []journal.State {
	if n.safe == 0 {
		return nil
	}
	return []journal.State{{Log: neighborLog, At: n.safe, Pieces: [][]byte{neighborBatch(n.safe)}}}
}

// opened compares the log with what was written to it. One that was being written may be longer than known.
func (n *neighbor) opened(w *world) error {
	end := w.journal.Next(neighborLog) - 1
	if end < n.safe && !w.excused(end, n.recorded) {
		w.violate(Safe, "batch %d of the neighbor was safe, its log ends at %d", n.safe, end)
	}
	if end > max(n.written, n.trying) {
		w.violate(Sound, "batch %d of the neighbor was written last, its log ends at %d", n.written, end)
	}
	err := w.journal.Replay(neighborLog, func(i storage.Index, data []byte) error {
		if !bytes.Equal(data, neighborBatch(i)) {
			w.violate(w.unlike(), "batch %d of the neighbor has other bytes than written", i)
		}
		return nil
	})
	n.written, n.safe, n.trying = end, w.journal.Safe(neighborLog), end
	return err
}
