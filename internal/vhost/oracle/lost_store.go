package oracle

import "slices"

// The lost store keeps the vhost's lost letters, the oldest first, as long as its bounds allow.
// Source: ours, decision 7.

// lay puts a dead letter in the lost store, or nowhere if the vhost has none.
func (v *VHost) lay(h *hop, m *message, cause, target string) {
	if v.lose(h.from, m, cause, target) {
		h.placed = true
	} else {
		h.lost = cause
	}
}

// lose counts a dead letter that could not be delivered, and reports whether the lost store has it.
func (v *VHost) lose(q *queue, m *message, cause, target string) bool {
	v.lost[q.name+" "+cause]++
	if !v.keepsLost() {
		return false
	}
	v.made++
	v.lostStore.arrivals++
	c := &Copy{Arrival: v.lostStore.arrivals, Place: Ready, Cause: cause, target: target, message: m, ExpireAt: v.Now + v.lostMaxAge()}
	if len(m.deaths) > 0 {
		c.origin = m.last.Queue
	}
	v.lostStore.copies = append(v.lostStore.copies, c)
	return true
}

// lostMaxAge is for how long, in ms, lost letters are kept.
func (v *VHost) lostMaxAge() int64 { return v.option("lost-letters-max-age", 604_800_000) }

// keepsLost reports whether the vhost keeps lost letters.
func (v *VHost) keepsLost() bool { return v.option("lost-letters-max-bytes", 64<<20) > 0 }

// loser is the lost letter that goes when the lost store is full: the oldest of the queue that has the most bytes
// there.
func (v *VHost) loser() (loser *Copy) {
	bytes := map[string]int{}
	for _, c := range v.lostStore.copies {
		bytes[c.origin] += len(c.message.body)
	}
	for _, c := range v.lostStore.copies {
		if loser == nil || bytes[c.origin] > bytes[loser.origin] {
			loser = c
		}
	}
	return loser
}

// evict ends a lost letter that the lost store has no space or no time for.
func (v *VHost) evict(c *Copy) { v.end(v.lostStore, c, "shelf") }

// LostLetters lists the arrivals of what is in the lost store.
func (v *VHost) LostLetters() (ids []uint64) {
	for _, c := range v.lostStore.copies {
		ids = append(ids, uint64(c.Arrival))
	}
	return ids
}

// eachLostLetter does something to each lost letter that c names, and says what came of it.
func (v *VHost) eachLostLetter(c *Command, do func(*Copy) string) {
	n := 0
	for _, id := range c.LostLetters {
		outcome := "unknown"
		if i := slices.IndexFunc(v.lostStore.copies, func(x *Copy) bool { return uint64(x.Arrival) == id }); i >= 0 {
			outcome = do(v.lostStore.copies[i])
			n++
		}
		v.answer(c.Channel, Answered, "lost letter %d %s", id, outcome)
	}
	v.answer(c.Channel, Answered, "lost letters count=%d", n)
}

// republish sends a lost letter to where it was going, or elsewhere: all its queues take it, or it stays. The
// copy that one queue did not get goes to that one.
func (v *VHost) republish(c *Command, x *Copy) string {
	m := *x.message
	m.redrives++
	if c.Exchange != "" || c.Key != "" {
		m.hopExchange, m.hopKeys = c.Exchange, []string{c.Key}
	}
	elsewhere := c.Exchange != "" || c.Key != ""
	var targets []*queue
	switch {
	case x.target != "" && !elsewhere: // the others have theirs
		if q := v.queue(x.target); q != nil {
			targets = append(targets, q)
		}
	default:
		if q := v.queue(m.last.Queue); !elsewhere && q != nil && q.settings.hasDLX { // as it is now
			if m.hopExchange = q.settings.dlx; q.settings.hasDLRK {
				m.hopKeys = []string{q.settings.dlrk}
			}
		}
		if v.exchanges[m.hopExchange] == nil {
			return "no_exchange"
		}
		targets = v.route(m.hopExchange, m.hopKeys, v.headers(&m))
	}
	for _, q := range targets {
		if q.refuses(&m) {
			return "refused"
		}
	}
	if len(targets) == 0 {
		return "no_route"
	}
	for _, q := range targets {
		v.enqueue(q, &m)
	}
	v.end(v.lostStore, x, "redriven")
	return "redriven"
}

func (v *VHost) discard(x *Copy) string {
	v.end(v.lostStore, x, "purged")
	return "discarded"
}
