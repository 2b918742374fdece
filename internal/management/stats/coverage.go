package stats

import "slices"

// A run is a time in which readings were taken: one process of the broker, or what it did since its readings were
// reset. Both are ms since the Unix epoch.
type run struct{ from, to int64 }

// runs are in the order of time. Between two of them nobody knows what happened.
type runs []run

// runsMax bounds how many are remembered, the newest: a broker that starts again and again makes many.
const runsMax = 256

// note notes a reading; begin says that it is the first of a run.
func (r *runs) note(at int64, begin bool) {
	if k := len(*r) - 1; !begin && k >= 0 {
		(*r)[k].to = max((*r)[k].to, at)
		return
	}
	*r = append(*r, run{at, at})
	if extra := len(*r) - runsMax; extra > 0 {
		*r = slices.Delete(*r, 0, extra)
	}
}

// thin forgets runs that ended before a time.
func (r *runs) thin(oldest int64) {
	*r = slices.DeleteFunc(*r, func(x run) bool { return x.to < oldest })
}

// cover reports whether readings were taken around a time.
func (r runs) cover(at int64) bool {
	return slices.ContainsFunc(r, func(x run) bool { return x.from <= at && at <= x.to })
}

// since is from when on an interval that begins then is covered, but for gaps: its own beginning, or the first reading.
// It is the end of the interval if there is no reading in it.
func (r runs) since(from, to int64) int64 {
	for _, x := range r {
		if x.to >= from {
			return min(max(x.from, from), to)
		}
	}
	return to
}

// gaps are the times between runs, within an interval.
func (r runs) gaps(from, to int64) (all []run) {
	for i := 1; i < len(r); i++ {
		if g := (run{max(r[i-1].to, from), min(r[i].from, to)}); g.from < g.to {
			all = append(all, g)
		}
	}
	return all
}
