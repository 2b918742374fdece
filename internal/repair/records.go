package repair

import (
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// batchesKept is how many batches are kept that were read whole: readers of a queue go on in a few at a time.
const batchesKept = 8

// records reads records and pages from a journal that is looked at. Where readers stay with a batch it is read whole.
type records struct {
	j    *journal.Journal
	last storage.Ref // read last
	kept [batchesKept]keptBatch
	turn int
}

type keptBatch struct {
	log   storage.LogID
	index storage.Index
	data  []byte
	holes []journal.Hole
}

// read returns the bytes that r names, lent until the next call.
func (s *records) read(r storage.Ref) ([]byte, error) {
	for i := range s.kept {
		if k := &s.kept[i]; k.log == r.Log && k.index == r.Index && k.data != nil {
			if p, ok := k.find(r); ok {
				return p, nil
			}
			_, err := s.j.Read(nil, r)
			return nil, briefly(err)
		}
	}
	again := s.last.Log == r.Log && s.last.Index == r.Index
	s.last = r
	if again {
		if data, holes, err := s.j.ReadHoles(r.Log, r.Index); err == nil {
			k := &s.kept[s.turn]
			s.turn = (s.turn + 1) % batchesKept
			*k = keptBatch{r.Log, r.Index, data, holes}
			if p, ok := k.find(r); ok {
				return p, nil
			}
		}
	}
	p, err := s.j.Read(nil, r)
	if err == nil && len(p) < int(r.Size) {
		err = fmt.Errorf("log %d, index %d: %d bytes of %d", r.Log, r.Index, len(p), r.Size)
	}
	return p, briefly(err)
}

// briefly leaves out of what is said of damage whose log it is: that is known where it is said.
func briefly(err error) error {
	var fault *journal.Fault
	if errors.As(err, &fault) {
		return fmt.Errorf("%s, offset %d: %s", fault.File, fault.Offset, fault.What)
	}
	return err
}

func (k *keptBatch) find(r storage.Ref) ([]byte, bool) {
	from, to := int(r.Offset), int(r.Offset)+int(r.Size)
	if to > len(k.data) {
		return nil, false
	}
	for _, h := range k.holes {
		if from < h.To && h.From < to {
			return nil, false
		}
	}
	return k.data[from:to:to], true
}

// newPages takes the pages of a vhost that is rebuilt: they become batches of the log of its pages.
type newPages struct {
	log     storage.LogID
	first   storage.Index
	batches []journal.Batch
}

// pageBatchBytes is how large a batch of pages grows.
const pageBatchBytes = 64 << 10

// Put implements storage.Pages.
func (p *newPages) Put(page []byte, _ bool) storage.Ref {
	n := len(p.batches)
	if n == 0 || len(p.batches[n-1].Data)+len(page) > pageBatchBytes {
		p.batches = append(p.batches, journal.Batch{Log: p.log, Index: p.first + storage.Index(n)})
		n++
	}
	b := &p.batches[n-1]
	r := storage.Ref{Log: p.log, Index: b.Index, Offset: uint32(len(b.Data)), Size: uint32(len(page))}
	b.Data = append(b.Data, page...)
	return r
}

// Get implements storage.Pages.
func (p *newPages) Get(r storage.Ref) []byte {
	return p.batches[r.Index-p.first].Data[r.Offset : r.Offset+r.Size]
}

// Drop implements storage.Pages.
func (p *newPages) Drop(storage.Ref) {}
