package cluster_test

import (
	"flag"
	"testing"
)

var (
	seeds = flag.Uint64("seeds", 60, "how many lives TestSeeds simulates")
	from  = flag.Uint64("from", 0, "the first seed")
	hosts = flag.Uint64("hosts", 20, "how many lives TestVirtualHosts simulates")
	steps = flag.Int("steps", 4000, "how many steps a life has before it comes to rest")
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	// If it fails, replicas do not agree, or a leader shows what another has decided otherwise.
	simulate(t, *seeds, false)
}

func TestVirtualHosts(t *testing.T) {
	t.Parallel()
	// If it fails, the virtual hosts of two nodes differ though their logs are the same.
	if all := simulate(t, *hosts, true); all.compared < int(*hosts) {
		t.Errorf("%d states were compared: too few", all.compared)
	}
}

// simulate lives so many lives. Works: their batches are those of virtual hosts.
func simulate(t *testing.T, lives uint64, works bool) (all sightings) {
	t.Helper()
	for seed := *from; seed < *from+lives; seed++ {
		w := newWorld(seed, works)
		if err := w.live(*steps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all.add(&w.seen)
	}
	t.Logf("%d lives: %+v", lives, all)
	return all
}

func (s *sightings) add(o *sightings) {
	s.steps += o.steps
	s.crashes += o.crashes
	s.leaders += o.leaders
	s.leases += o.leases
	s.committed += o.committed
	s.cuts += o.cuts
	s.transfers += o.transfers
	s.partitions += o.partitions
	s.pauses += o.pauses
	s.checkpoints += o.checkpoints
	s.changes += o.changes
	s.compared += o.compared
}
