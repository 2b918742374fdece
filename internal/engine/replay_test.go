package engine

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestReplayGoesCold says that a start which has to put messages on pages while it reads the log leaves a vhost that fails
// as soon as there are more, or loses them.
func TestReplayGoesCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200_000
		d := newDisk()
		few := func(o *Options) { o.HotMessages = 3000 }
		e := start(t, d, few)
		for round := range 2 {
			c := attach(t, e, "")
			if round == 0 {
				c.post(declare("work"))
			}
			for i := 0; i < n; i += 100 {
				batch := make([]vhost.Command, 100)
				for k := range batch {
					batch[k] = publish("work", fmt.Sprint(round*n+i+k))
				}
				c.post(batch...)
				if i%5000 == 0 {
					c.take()
				}
			}
			c.take()
			e.scribe.settle()
			if err := c.stoppedWith(); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			d.kill(e)
			e = start(t, d, few)
			if got := ready(t, e, "work"); got != (round+1)*n {
				t.Fatalf("round %d: %d messages are there, %d were confirmed", round, got, (round+1)*n)
			}
		}
		c := attach(t, e, "")
		for i := range 100 {
			c.post(get("work"))
			c.expect("got " + fmt.Sprint(i))
		}
		stop(t, e)
	})
}

// TestShortLives says that each start of a broker that is killed soon adds to what the next has to read, or to the disk.
func TestShortLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		most := 0
		for round := range 12 {
			c := attach(t, e, "")
			c.post(declare("work"), confirms(), publish("work", "m"))
			c.take()
			d.kill(e)
			e = start(t, d)
			synctest.Wait()
			if n := e.scribe.journal.Stats().Segments; round < 4 {
				most = max(most, n)
			} else if n > most {
				t.Fatalf("%d segments after %d lives", n, round+1)
			}
		}
		if n := ready(t, e, "work"); n != 12 {
			t.Errorf("%d messages are there", n)
		}
		stop(t, e)
	})
}

// TestSpillIsThinned says that one message that stays holds the file of all that were spilled with it, or is lost when it
// moves.
func TestSpillIsThinned(t *testing.T) {
	t.Parallel()
	d := newDisk()
	if err := d.Mkdir(spillDir); err != nil {
		t.Fatal(err)
	}
	names := 0
	s := newSpill(d, func() string { names++; return fmt.Sprint(names) })
	page := func(i int) []byte { return []byte(fmt.Sprintf("%06d%s", i, make([]byte, 1<<20))) }
	stay := map[int]bool{}
	for i := range 300 { // each file has 63 of them, of which one stays
		r := s.put(page(i))
		if r.IsZero() {
			t.Fatal("no room")
		}
		if i%63 == 5 {
			stay[i] = true
			defer func() {
				got, err := s.get(r)
				if err != nil || string(got) != string(page(i)) {
					t.Errorf("page %d: %v", i, err)
				}
			}()
		} else {
			s.drop(r)
		}
	}
	if len(s.files) > 2 {
		t.Errorf("%d files for %d pages that stay", len(s.files), len(stay))
	}
}
