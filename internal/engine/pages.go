package engine

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/engine/recordcache"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// pageBatchBytes is how large a batch of pages grows before it is appended: pages that were made together lie together.
const pageBatchBytes = 64 << 10

// pageLog keeps the pages of one vhost: durable ones in the log beside its own, transient ones in spill files. It
// belongs to the runner's owner.
type pageLog struct {
	r     *runner
	first storage.Index // of this run
	next  storage.Index // of the batch in the making
	batch []byte
	early [][]byte // batches made before the log hears of this vhost, which is when it has been opened
	heard bool
	spill *recordcache.Spill
}

// Put implements storage.Pages.
func (p *pageLog) Put(page []byte, transient bool) storage.Ref {
	if transient {
		return p.spill.Put(page)
	}
	if len(p.batch) > 0 && len(p.batch)+len(page) > pageBatchBytes {
		p.flush()
	}
	if p.batch == nil {
		p.batch = make([]byte, 0, max(pageBatchBytes, len(page)))
	}
	r := storage.Ref{Log: p.r.log.ID().Pages(), Index: p.next, Offset: uint32(len(p.batch)), Size: uint32(len(page))}
	p.batch = append(p.batch, page...)
	return r
}

// Get implements storage.Pages.
func (p *pageLog) Get(r storage.Ref) []byte {
	switch {
	case r.Log == storage.Volatile.Pages():
		page, err := p.spill.Get(r)
		if err != nil {
			panic(storage.Fault{Err: fmt.Errorf("spilled messages: %w", err)})
		}
		return page
	case r.Index == p.next:
		if uint64(r.Offset)+uint64(r.Size) > uint64(len(p.batch)) {
			panic(storage.Fault{Err: fmt.Errorf("page %d of %d bytes was never written", r.Index, r.Size)})
		}
		return p.batch[r.Offset : r.Offset+r.Size]
	}
	page, err := p.r.cache.Get(r)
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	return page
}

// Drop implements storage.Pages.
func (p *pageLog) Drop(r storage.Ref) { p.spill.Drop(r) }

// flush appends the batch in the making to the log. Nobody waits for it: a checkpoint that names its pages is written
// behind it.
func (p *pageLog) flush() {
	if len(p.batch) == 0 {
		return
	}
	if p.heard {
		p.r.log.AppendPages(p.batch)
	} else {
		p.early = append(p.early, p.batch)
	}
	p.r.cache.Add(p.r.log.ID().Pages(), p.next, p.batch) // and keeps it until it is written
	p.next, p.batch = p.next+1, nil
}

// hear says that the log takes what is appended from now on: what was made before comes first.
func (p *pageLog) hear() {
	p.heard = true
	for _, batch := range p.early {
		p.r.log.AppendPages(batch)
	}
	p.early = nil
}
