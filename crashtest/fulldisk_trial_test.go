//go:build linux

package crashtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// diskTrial is what happens in one trial.
type diskTrial struct {
	size         int64
	small        bool  // small segments and reserve
	noLimit      bool  // the disk alarm is off
	body         int   // bytes; 0: all sizes
	ackShare     int   // per cent of what is consumed; the rest is rejected
	deadConsumed bool  // dead letters are consumed meanwhile
	publishMax   int64 // bytes of bodies
	lives        []diskLife
	drain        string // consume, purge or delete
	strangerStay bool   // what the other process has at the end of the last life it keeps while all is drained
	greedy       bool   // and takes all that is given back
	vhosts       int    // that share the disk
}

// diskLife is one life of the broker: traffic, the stranger, an end.
type diskLife struct {
	traffic  time.Duration // without the stranger
	leave    int64         // what the stranger leaves; negative: it takes nothing
	full     time.Duration // traffic after that
	frees    bool          // then the stranger gives all back, and traffic goes on
	consumes bool          // consumers run while it is full, and before
	end      string        // kill, stop, or none: the same broker goes on
}

// randomTrial rolls the dice for a trial.
func randomTrial(r *rand.Rand) diskTrial {
	log := func(low, high float64) int64 { return int64(low * math.Pow(high/low, r.Float64())) }
	d := diskTrial{
		size:         log(128<<20, 4<<30),
		small:        r.IntN(2) == 0,
		noLimit:      r.IntN(2) == 0,
		body:         []int{16 << 10, 16 << 10, 16 << 10, 1 << 10, 100 << 10, 0}[r.IntN(6)],
		ackShare:     []int{10, 10, 50, 90, 100}[r.IntN(5)],
		deadConsumed: r.IntN(4) == 0,
		publishMax:   log(20<<20, 800<<20),
		drain:        []string{"consume", "consume", "consume", "purge", "delete"}[r.IntN(5)],
		strangerStay: r.IntN(2) == 0,
	}
	d.greedy = d.strangerStay && r.IntN(4) == 0
	lives := 1 + r.IntN(3)
	for i := range lives {
		l := diskLife{
			traffic:  time.Duration(r.IntN(1500)) * time.Millisecond,
			leave:    []int64{0, 0, 0, 1 << 20, 20 << 20, 60 << 20, -1}[r.IntN(7)],
			full:     time.Duration(500+r.IntN(3000)) * time.Millisecond,
			frees:    r.IntN(3) == 0,
			consumes: r.IntN(5) > 0,
			end:      []string{"kill", "kill", "stop", "stop", "none", "none"}[r.IntN(6)],
		}
		if i == 0 && r.IntN(2) == 0 { // a backlog first
			l.consumes, l.end = false, "none"
		}
		d.lives = append(d.lives, l)
	}
	d.vhosts = 1 + r.IntN(2)
	return d
}

// presets are trials that have failed once.
func presetTrial(name string, r *rand.Rand) diskTrial {
	jitter := time.Duration(r.IntN(500)) * time.Millisecond
	switch name {
	case "rejects": // dead letters use up what acks need
		return diskTrial{
			size: 512 << 20, small: true, noLimit: true, body: 16 << 10, ackShare: 10, publishMax: 600 << 20, drain: "consume", strangerStay: true,
			lives: []diskLife{
				{traffic: 5*time.Second + jitter, leave: -1, end: "none"},
				{traffic: 0, leave: 0, full: 8 * time.Second, consumes: true, end: "stop"},
			},
		}
	case "consumed": // all is consumed, and nothing comes back
		return diskTrial{
			size: 4 << 30, body: 16 << 10, ackShare: 100, publishMax: 300 << 20, drain: "consume", strangerStay: true,
			lives: []diskLife{{traffic: 6*time.Second + jitter, leave: 0, full: time.Second, end: "none"}},
		}
	case "defaults": // what the broker has itself is too much for the disk
		return diskTrial{
			size: 512 << 20, body: 16 << 10, ackShare: 100, publishMax: 59 << 20, drain: "consume",
			lives: []diskLife{{traffic: 2*time.Second + jitter, leave: -1, full: 0, end: "none"}},
		}
	}
	panic("no preset " + name)
}

// shorten makes a trial one that takes seconds.
func (d *diskTrial) shorten() {
	d.size, d.publishMax = min(d.size, 512<<20), min(d.publishMax, 100<<20)
	for i := range d.lives {
		d.lives[i].traffic /= 2
		d.lives[i].full /= 2
	}
}

func (d *diskTrial) options() (o []string) {
	if d.small {
		o = append(o, "--segment-size", "4MiB", "--reserve", "32MiB")
	}
	if d.noLimit {
		o = append(o, "--disk_free_limit.absolute", "0")
	}
	return o
}

func (d *diskTrial) String() string {
	return fmt.Sprintf("%d MiB small=%v nolimit=%v body=%d ack=%d%% deadConsumed=%v publish=%dMiB drain=%s stay=%v greedy=%v vhosts=%d lives=%+v",
		d.size>>20, d.small, d.noLimit, d.body, d.ackShare, d.deadConsumed, d.publishMax>>20, d.drain, d.strangerStay, d.greedy, d.vhosts, d.lives)
}
