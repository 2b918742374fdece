package search

import "time"

// Stats are what an index tells of itself.
type Stats struct {
	Messages int64         // that it knows
	Behind   int64         // messages that it has not looked at yet, about
	Bytes    int64         // on the disk
	Lag      time.Duration // since all was known
	Indexed  uint64        // messages that were taken since Open
	Worked   time.Duration // by who reads them, since Open
	Enabled  bool
}

// Stats tells what there is.
func (x *Index) Stats() (s Stats) {
	if x.store == nil {
		return s
	}
	s.Enabled, s.Bytes, s.Indexed, s.Worked = true, x.stored.Load(), x.indexed.Load(), time.Duration(x.worked.Load())
	x.mu.Lock()
	all := make([]*vhostIndex, 0, len(x.mu.vhosts))
	for _, k := range x.mu.vhosts {
		all = append(all, k)
	}
	x.mu.Unlock()
	now := x.options.Broker.Now()
	for _, k := range all {
		k.Lock()
		s.Messages += k.messages()
		s.Behind += k.behind
		if !k.complete.IsZero() {
			s.Lag = max(s.Lag, now.Sub(k.complete))
		}
		k.Unlock()
	}
	return s
}
