package vhost

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Salvage makes of a log that the disk has damaged what can be made of it: it applies what there is, notes what there
// is not, and leads to a vhost that refers to nothing lost. It is for a check and a repair; a sound log leaves no Lack.
//
//	Checkpoint ─▶ Batch, Missing, in the order of the log ─▶ Search, the same, if Wants ─▶ Examine ─▶ Marks, or Rebuild
//
// What is in doubt stays: a message whose end is lost is there again.
type Salvage struct {
	v    *VHost
	read func(storage.Ref) ([]byte, error)

	at      storage.Index             // that the checkpoint covers
	names   map[fact.QueueID]string   // of all queues that there ever were
	hurt    bool                      // facts are missing: others may make no sense
	unsound bool                      // what is applied may not be what was written
	since   map[laneOf]bool           // lanes in which a copy was made since facts were missed
	missing map[fact.QueueID][]seqRun // numbers of copies that nobody knows, and that did not end later
	wanted  []*lostChunk
	losses  []DataLoss
	drop    map[copyAt]bool // copies of which the record is lost
	plain   map[copyAt]bool // dead letters of which the history is lost
}

type (
	laneOf struct {
		queue fact.QueueID
		lane  uint8
	}
	copyAt struct {
		queue fact.QueueID
		seq   queue.Seq
	}
	seqRun struct{ first, end queue.Seq }
)

// NewSalvage begins with an empty vhost. Read returns the bytes of a record or a page, which may be lent until its next
// call, or says why there are none.
func NewSalvage(name string, log storage.LogID, read func(storage.Ref) ([]byte, error)) *Salvage {
	s := &Salvage{
		read: read, names: map[fact.QueueID]string{}, since: map[laneOf]bool{}, missing: map[fact.QueueID][]seqRun{},
		drop: map[copyAt]bool{}, plain: map[copyAt]bool{},
	}
	s.v = New(name, log, salvageRecords{s}, salvagePages{s})
	s.v.KeepHot(math.MaxInt, math.MaxInt) // nothing is ever put
	return s
}

// salvageRecords and salvagePages read for the machine.
type (
	salvageRecords struct{ *Salvage }
	salvagePages   struct{ *Salvage }
)

// Record implements storage.Records.
func (s salvageRecords) Record(r storage.Ref) []byte { return s.mustRead(r) }

// Head implements storage.Records.
func (s salvageRecords) Head(r storage.Ref, n int) []byte { return s.mustRead(r.First(n)) }

// Put implements storage.Pages: there is no space.
func (salvagePages) Put([]byte, bool) storage.Ref { return storage.Ref{} }

// Get implements storage.Pages.
func (s salvagePages) Get(r storage.Ref) []byte { return s.mustRead(r) }

// Drop implements storage.Pages.
func (salvagePages) Drop(storage.Ref) {}

func (s *Salvage) mustRead(r storage.Ref) []byte {
	p, err := s.read(r)
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	return p
}

// DataLosses lists what is lost, as far as it is known by now.
func (s *Salvage) DataLosses() []DataLoss { return s.losses }

// VHost is the restored machine, to be read; nothing of it may be changed.
func (s *Salvage) VHost() *VHost { return s.v }

func (s *Salvage) noteLoss(l DataLoss) { s.losses = append(s.losses, l) }

// lose notes that facts are missing from here on.
func (s *Salvage) lose(l DataLoss) {
	s.hurt = true
	clear(s.since)
	s.noteLoss(l)
}

// Checkpoint applies a checkpoint, which covers batches up to at. One that is not sound is taken as far as it can be
// parsed.
func (s *Salvage) Checkpoint(at storage.Index, state []byte, sound bool) error {
	s.at, s.unsound = at, !sound
	if !sound {
		s.lose(DataLoss{Kind: LossOfFacts, Why: "the checkpoint is damaged: its readable part was used, and may be wrong"})
	}
	err := s.eachFact(0, state, nil, s.take)
	s.unsound = false
	return err
}

// Missing notes batches of which nothing can be read.
func (s *Salvage) Missing(first, last storage.Index, why string) {
	s.lose(DataLoss{Kind: LossOfFacts, Index: first, Last: last, Why: why})
}

// Batch applies a batch; lost says which bytes of it stand as zeros: from, and before what. An error says that a later
// version wrote it.
func (s *Salvage) Batch(index storage.Index, data []byte, lost [][2]int) error {
	return s.eachFact(index, data, lost, s.take)
}

// errUnknownFormat says that nothing can be said of the data.
var errUnknownFormat = errors.New("unknown format")

// eachFact calls fn for each fact of a batch that can be read. Where a record is damaged, whoever refers to it will
// find out; behind any other damage no fact can be found.
func (s *Salvage) eachFact(index storage.Index, data []byte, lost [][2]int, fn func(*fact.Fact)) error {
	if len(data) == 0 {
		return nil
	}
	r := fact.Decoder{Rest: data}
	damaged := func(from, to int) bool {
		return slices.ContainsFunc(lost, func(h [2]int) bool { return from < h[1] && h[0] < to })
	}
	at := func() int { return len(data) - len(r.Rest) }
	if format := r.Byte(); format != fact.FormatVersion && !damaged(0, 1) && !s.unsound {
		return fmt.Errorf("vhost %q: batch %d: %w %d, this version reads %d", s.v.name, index, errUnknownFormat, format, fact.FormatVersion)
	}
	now := r.Uint()
	if damaged(0, at()) || r.Err != nil {
		s.lose(DataLoss{Kind: LossOfFacts, Index: index, Last: index, Why: "none of its facts can be read"})
		return nil
	}
	if !s.unsound {
		s.v.logged = max(s.v.logged, deadline.Instant(now))
	}
	for len(r.Rest) > 0 {
		from := at()
		f, err := fact.Parse(&r, s.v.log, index)
		if err == nil {
			err = r.Err
		}
		head := at()
		if f.Kind == fact.Stored || f.Kind == fact.Remembered {
			head = min(head, from+recordHeadBytes)
		}
		if err != nil || damaged(from, head) {
			s.lose(DataLoss{Kind: LossOfFacts, Index: index, Last: index, Why: fmt.Sprintf("the facts from byte %d of %d on cannot be read", from, len(data))})
			return nil
		}
		fn(&f)
	}
	return nil
}

// recordHeadBytes is what a record has before its bytes in a batch: kind, size.
const recordHeadBytes = 5

// take applies a fact if it makes sense.
func (s *Salvage) take(f *fact.Fact) {
	s.before(f)
	if why := s.senseless(f); why != "" {
		s.noteLoss(DataLoss{Kind: LossOfContext, Queue: s.names[f.Queue], Number: f.Seq.Number(), Priority: f.Seq.Lane(), Why: why})
		return
	}
	if err := s.apply(f); err != nil {
		s.noteLoss(DataLoss{Kind: LossOfContext, Queue: s.names[f.Queue], Number: f.Seq.Number(), Priority: f.Seq.Lane(), Why: err.Error()})
	}
}

// apply applies a fact. What cannot be applied, because it is not what was written, is an error.
func (s *Salvage) apply(f *fact.Fact) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case storage.Fault:
			err = p.Err
		default:
			if !s.unsound {
				panic(p)
			}
			err = fmt.Errorf("fact %d: %v", f.Kind, p)
		}
	}()
	s.v.apply(f)
	return nil
}

// senseless says why a fact cannot be applied, "" if it can. Those about what is not there are void, as everywhere.
func (s *Salvage) senseless(f *fact.Fact) string {
	switch f.Kind {
	case fact.Stored, fact.Remembered:
		return ""
	case fact.Paged, fact.PendingFree:
		return s.unreadable(f)
	case fact.QueueDeclared:
		s.names[f.Queue] = f.Object.Name
		if old, taken := s.v.topo.Queue(f.Object.Name); taken && s.hurt { // its deletion is among what is lost
			n := len(s.v.queues)
			s.v.dropQueue(old)
			if n == len(s.v.queues) {
				return fmt.Sprintf("queue %q already exists", f.Object.Name)
			}
		}
	}
	if err := s.v.plausible(f); err != nil {
		return err.Error()
	}
	return ""
}

// unreadable looks at the page of a chunk; one that cannot be read is left out, and its messages are wanted.
func (s *Salvage) unreadable(f *fact.Fact) string {
	c, err := queue.ParseChunk(f.Bytes, s.v.log)
	if err != nil {
		return err.Error()
	}
	page, err := s.read(c.Page)
	if err == nil {
		err = c.Check(page, s.v.log)
	}
	switch {
	case err == nil:
		return ""
	case f.Kind == fact.PendingFree:
		s.noteLoss(DataLoss{Kind: LossOfEnded, Ref: c.Page, Why: err.Error()})
	default:
		s.wanted = append(s.wanted, &lostChunk{queue: f.Queue, first: f.Seq, saved: c, why: err.Error(), found: map[queue.Seq]*foundCopy{}, ended: map[queue.Seq]bool{}})
	}
	f.Kind = fact.Remembered // nothing more of it
	return ""
}
