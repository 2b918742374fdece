package journal

import (
	"cmp"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// urgentShare is the part of the log above which what rewriting could give back is much: it has fallen behind.
const urgentShare = 0.1

// sparse chooses victims, and makes the file of the new segment, as large as the live bytes that are reported. Urgent:
// much more space could be given back. No victims: no segment is worth it.
func (j *Journal) sparse(live Live, share float64) (victims []*segmentState, out outFile, urgent bool, err error) {
	need := int64(0)
	type candidate struct {
		s     *segmentState
		live  int64
		bytes int64 // in the new segment, about
	}
	var sparse, small []candidate
	for s := range j.oneByOne() {
		if s.Table.At == 0 || s.damaged || s.distrusted || !j.covered(s) {
			continue
		}
		n := int64(0)
		for _, sp := range s.Spans {
			if !j.dropped[sp.Log] {
				n += live(sp.Log, sp.First, sp.Last())
			}
		}
		switch c := (candidate{s, n, n + n/32}); {
		case s.refused && n > s.said*3/4: // nothing has changed
		case float64(n) < share*float64(s.Size):
			sparse = append(sparse, c)
		case s.Size <= j.o.SegmentBytes/8:
			small = append(small, c)
		}
	}
	slices.SortStableFunc(sparse, func(a, b candidate) int {
		return cmp.Compare(float64(a.bytes)/float64(a.s.Size), float64(b.bytes)/float64(b.s.Size))
	})
	slices.SortStableFunc(small, func(a, b candidate) int { return cmp.Compare(a.bytes, b.bytes) })
	if len(sparse) == 0 {
		return nil, out, false, nil
	}
	// While the new segment is written there are the old ones, too: it shall be small beside the log, but not one of
	// thousands.
	all, dead := int64(0), int64(0)
	for _, s := range j.segments {
		all += s.Size
	}
	for _, c := range sparse {
		dead += c.s.Size - c.live
	}
	most := min(max(all/100, j.o.SegmentBytes/4, segmentBytesMin), j.o.SegmentBytes)
	choose := func() {
		victims, need = nil, 2*segment.HeaderBytes
		for i, c := range slices.Concat(sparse, small) {
			if i > 0 && need+c.bytes > most {
				break
			}
			victims, need = append(victims, c.s), need+c.bytes
		}
	}
	choose()
	free, unknown := j.fs.Free()
	if refused := j.outRefused; refused || unknown == nil && free < need {
		j.outRefused = false
		// The new segment takes the space of a spare: that is worth it only if two others go for it.
		if most = capacity(j.o.SegmentBytes); len(victims) < 2 || need > most {
			choose()
		}
		if len(victims) < 2 || need > most {
			return nil, out, false, nil
		}
		out, err = j.spareOut(need)
	} else {
		out, err = j.newOut()
	}
	if err != nil {
		return nil, out, false, err
	}
	for _, c := range slices.Concat(sparse, small) {
		if slices.Contains(victims, c.s) {
			c.s.said, c.s.refused = c.live, false
		}
	}
	return victims, out, float64(dead) > urgentShare*float64(all), nil
}

// sources lists the spans of the victims.
func (j *Journal) sources(victims []*segmentState) []source {
	var all []source
	seen := map[storage.LogID]bool{}
	for _, s := range victims {
		for _, sp := range s.Spans {
			l := j.logs[sp.Log]
			if l == nil || seen[sp.Log] {
				continue
			}
			seen[sp.Log] = true
			apart := true
			for _, sp := range l.spans {
				of := slices.ContainsFunc(victims, func(v *segmentState) bool { return &v.File == sp.Seg })
				if of {
					all = append(all, source{Span: sp, apart: apart})
				}
				apart = !of
			}
		}
	}
	slices.SortFunc(all, func(a, b source) int { return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.First, b.First)) })
	return all
}

// outFile is the file of a new segment.
type outFile struct {
	f      vfs.File
	number uint64
	took   spare // in the place of which it is; of size 0: none
}

// newOut makes a file. What the disk says to be free others may take meanwhile, or nobody may: then outRefused is set.
func (j *Journal) newOut() (outFile, error) {
	out := outFile{number: j.nextFile}
	j.nextFile++
	name := segment.FileName(out.number, "segment")
	err := j.onDisk(func() (err error) {
		out.f, err = j.fs.Create(j.path(name))
		return err
	})
	j.unsyncedNames = true
	return out, noSpace(err)
}

// spareOut takes a spare of at least need bytes, but not the one that a manifest may need. Where there is none, what is
// named ahead becomes spares again: on a disk that stays full that may be all there is.
func (j *Journal) spareOut(need int64) (out outFile, err error) {
	j.stopFilling()
	find := func() int {
		if len(j.spares) < 2 {
			return -1
		}
		return slices.IndexFunc(j.spares, func(s spare) bool { return s.size >= need })
	}
	i := find()
	if i < 0 && len(j.ahead) > j.needed {
		if err := j.unname(); err != nil {
			return out, err
		}
		i = find()
	}
	if i < 0 {
		return out, ErrNoSpace
	}
	out.took = j.spares[i]
	out.number = out.took.file
	j.spares = slices.Delete(j.spares, i, i+1)
	if err := j.writeManifest(); err != nil { // a crash must not find a spare of another size than it had
		if j.failed == nil {
			j.spares = append(j.spares, out.took)
		}
		return out, err
	}
	if out.f, err = j.fs.Open(j.path(out.took.name())); err != nil {
		j.discard(out.took.name())
	}
	return out, err
}

// Adopt puts the new segment in the place of its victims, durably, and gives them back as Reclaim does; it tells how
// many. The rewriting is over then. Errors: ErrNoSpace, when there is no space for a manifest: nothing has changed,
// Adopt may be tried again. Everything else is final.
func (j *Journal) Adopt(w *Rewriting) (removed int, err error) {
	if j.failed != nil {
		return 0, j.failed
	}
	if w != j.rewriting || !w.done {
		return 0, errors.New("journal: no such compaction, or it is not finished")
	}
	if len(w.victims) == 0 {
		j.Abandon(w)
		return 0, nil
	}
	var instead *segmentState
	if w.out.Batches > 0 {
		instead, j.unsyncedNames = w.out, true
	}
	if err := j.free(w.victims, instead); err != nil {
		if errors.Is(err, ErrFailed) {
			j.end(w)
		}
		return 0, err
	}
	j.end(w)
	if instead == nil {
		j.remove(w)
	}
	return len(w.victims), nil
}

// Abandon ends a rewriting without a trace.
func (j *Journal) Abandon(w *Rewriting) {
	if w != j.rewriting {
		return
	}
	j.end(w)
	j.remove(w)
	j.outRefused = w.took.size == 0 && errors.Is(w.broken, ErrNoSpace)
}

// end lets go of the victims.
func (j *Journal) end(w *Rewriting) {
	j.rewriting = nil
	j.written.Rewriting += w.written
	for _, s := range slices.Concat(w.victims, w.left) {
		s.victim = false
	}
	for _, s := range w.refused {
		s.refused = true
	}
}

// remove takes away the new segment, in which nothing counts. One that was written in the place of a spare is that
// again.
func (j *Journal) remove(w *Rewriting) {
	w.out.Disk.Close()
	if sp := w.took; sp.size > 0 && j.keepWhole(sp.name(), sp.size) == nil {
		sp.nonce = filledNonce
		j.spares = append(j.spares, sp)
		return
	}
	j.discard(w.out.Name())
}
