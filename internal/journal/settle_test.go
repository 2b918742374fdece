package journal

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// depot is what an engine makes of a journal: messages of 1 KiB come and are settled at random.
type depot struct {
	t       *testing.T
	j       *Journal
	dice    *rand.Rand
	live    []storage.Ref // in no order
	batches []int64       // live bytes of each, from index 1
	bodies  int64         // bytes of messages that came
	most    int64         // bytes of segments, at most
	group   []byte        // facts of the next batch
}

const (
	depotMessage = 1 << 10
	depotBatch   = 16 // messages
	depotFact    = 16 // bytes of a settlement
	depotSegment = 1 << 20
)

func newDepot(t *testing.T, seed uint64) *depot {
	o := Options{Entropy: 7, SegmentBytes: depotSegment, ReserveBytes: -1}
	return &depot{t: t, j: mustOpen(t, vfs.NewMem(seed), o), dice: rand.New(rand.NewPCG(seed, 0)), batches: make([]int64, 1)}
}

// come writes a batch with messages, and the settlements since the last one.
func (d *depot) come() {
	index := d.j.Next(1)
	bytes := int64(0)
	for range depotBatch {
		d.live = append(d.live, storage.Ref{Log: 1, Index: index, Offset: uint32(len(d.group)), Size: depotMessage})
		d.group = append(d.group, make([]byte, depotMessage)...)
		bytes += depotMessage
	}
	d.batches = append(d.batches, bytes)
	d.bodies += bytes
	must(d.t, d.j.Reserve(len(d.group)+Overhead, Growing))
	must(d.t, d.j.Write([]Batch{{Log: 1, Index: index, Data: d.group}}))
	d.group = d.group[:0]
}

// settle settles n messages, each as likely as any other.
func (d *depot) settle(n int) {
	for range n {
		i := d.dice.IntN(len(d.live))
		d.batches[d.live[i].Index] -= depotMessage
		last := len(d.live) - 1
		d.live[i] = d.live[last]
		d.live = d.live[:last]
		d.group = append(d.group, make([]byte, depotFact)...)
	}
}

func (d *depot) liveBytes() int64 { return int64(len(d.live)) * depotMessage }

// keep does maintenance once.
func (d *depot) keep(share float64) {
	must(d.t, d.j.Sync())
	must(d.t, d.j.Checkpoint(1, d.j.Next(1)-1, nil))
	for more := true; more; {
		var err error
		more, err = d.j.Prepare(true)
		must(d.t, err)
	}
	live := func(_ storage.LogID, first, last storage.Index) (n int64) {
		for _, bytes := range d.batches[first : last+1] {
			n += bytes
		}
		return n
	}
	_, err := d.j.Reclaim(live)
	must(d.t, err)
	for {
		w, err := d.j.Sparse(live, share)
		must(d.t, err)
		if w == nil {
			break
		}
		refs := slices.Clone(d.live)
		slices.SortFunc(refs, compareRefs)
		w.Keep(refs)
		for done := false; !done; {
			done, err = w.Step(64 << 10)
			must(d.t, err)
		}
		n, err := d.j.Adopt(w)
		must(d.t, err)
		if n == 0 {
			d.t.Fatal("nothing was given back")
		}
	}
	d.most = max(d.most, d.j.Stats().SegmentBytes)
}

func TestSpaceAfterHalfWasSettled(t *testing.T) {
	t.Parallel()
	// Every second message of a backlog gone, the disk would be as full as before.
	d := newDepot(t, 1)
	for range 1024 {
		d.come()
	}
	d.settle(len(d.live) / 2)
	d.keep(0.87)
	if got, limit := d.j.Stats().SegmentBytes, d.liveBytes()*115/100+depotSegment; got > limit {
		t.Errorf("%d bytes of segments for %d that are live, at most %d are promised", got, d.liveBytes(), limit)
	} else {
		t.Logf("%.3f times what is live", float64(got)/float64(d.liveBytes()))
	}
	for _, r := range d.live {
		_, err := d.j.ReadAt(make([]byte, r.Size), r)
		must(t, err)
	}
}

func TestSpaceWhileMessagesAreSettledAtRandom(t *testing.T) {
	t.Parallel()
	// Segments pinned by a few messages each would fill the disk, or keeping them few would cost more writing than all
	// else.
	d := newDepot(t, 1)
	const backlog = 16384
	for range backlog / depotBatch {
		d.come()
	}
	for range 2 * backlog / depotBatch { // until what is there is of all ages
		d.settle(depotBatch)
		d.come()
		if len(d.batches)%16 == 0 {
			d.keep(SparseShare)
		}
	}
	d.most, d.bodies = 0, 0
	before := d.j.Stats().Written
	for range 2 * backlog / depotBatch {
		d.settle(depotBatch)
		d.come()
		if len(d.batches)%16 == 0 {
			d.keep(SparseShare)
		}
	}
	after := d.j.Stats().Written
	written := after.Groups + after.Rewriting + after.Zeros - before.Groups - before.Rewriting - before.Zeros
	space, amplified := float64(d.most)/float64(d.liveBytes()), float64(written)/float64(d.bodies)
	t.Logf("at most %.3f times what is live; %.3f bytes written for each that came", space, amplified)
	if limit := d.liveBytes()*16/10 + 4*depotSegment; d.most > limit {
		t.Errorf("%d bytes of segments for %d that are live, at most %d are promised", d.most, d.liveBytes(), limit)
	}
	if amplified > 1.8 {
		t.Errorf("%.3f bytes were written for each that came", amplified)
	}
}
