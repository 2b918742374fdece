//go:build linux

package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A blow is what befalls a broker under load.
type blow string

const (
	kill         blow = "kill -9"
	freezeKill   blow = "SIGSTOP, SIGCONT, kill -9"
	frozenKill   blow = "SIGSTOP, kill -9"
	freeze       blow = "SIGSTOP, SIGCONT"
	stop         blow = "SIGTERM"
	stopKill     blow = "SIGTERM, kill -9"
	fullKill     blow = "disk full, kill -9"
	fullRoomKill blow = "disk full, room, kill -9"
	fullRoom     blow = "disk full, room"
	fullStop     blow = "disk full, SIGTERM"
)

// A deck is dealt whole before it is dealt again.
var (
	ordinaryDeck = []blow{kill, kill, kill, kill, freezeKill, frozenKill, freeze, stop, stopKill}
	diskDeck     = []blow{fullKill, fullRoomKill, fullRoom, fullStop, fullKill, kill}
)

func (b blow) kills() bool { return strings.HasSuffix(string(b), string(kill)) }

// smallFiles has the log go through hundreds of segments where it else had a few.
var smallFiles = []string{"--segment-size", fmt.Sprint(1 << 20), "--reserve", fmt.Sprint(8 << 20)}

// A siege is one broker on the same data that is loaded, struck, started again and audited, round by round.
type siege struct {
	t      testing.TB
	dir    string // of what is left when the test fails
	disk   string // mount point of a small disk, else dir
	full   string // the file that fills it; "": there is space
	data   string // of the broker, on that disk
	random *rand.Rand
	trace  *os.File
	all    []*shape
	books  map[*shape]*ledger
	churn  *churn
	b      *broker
	start  time.Duration // that the last one took
	dealt  map[blow]int
	kills  int // under load
	early  int // while the broker started
	sum    account
}

// newSiege begins a siege on a data directory on the given disk; empty: beside the trace.
func newSiege(t testing.TB, disk string) *siege {
	t.Helper()
	s := &siege{t: t, disk: disk, random: dice(t), all: shapes(), books: map[*shape]*ledger{}, dealt: map[blow]int{}}
	s.dir = s.workDir()
	if disk == "" {
		s.disk = s.dir
	}
	s.data = filepath.Join(s.disk, "data")
	var err error
	s.trace, err = os.Create(filepath.Join(s.dir, "trace.txt"))
	must(t, err)
	t.Cleanup(func() { s.trace.Close() })
	for _, shape := range s.all {
		s.books[shape] = newLedger()
	}
	s.churn = newChurn(s.random, s.fail)
	s.say("seed %d", *seed)
	return s
}

// workDir makes a directory that stays if the test fails, and then says where it is.
func (s *siege) workDir() string {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "bartleby-crashtest-")
	must(s.t, err)
	s.t.Logf("works in %s", dir) // should the run be cut off
	s.t.Cleanup(func() {
		if !s.t.Failed() {
			must(s.t, os.RemoveAll(dir))
			return
		}
		if s.disk != s.dir {
			must(s.t, os.CopyFS(filepath.Join(dir, "data"), os.DirFS(s.data)))
		}
		s.t.Logf("seed %d; the data, the trace and the broker's output are in %s", *seed, dir)
	})
	return dir
}

// say writes a line of the trace.
func (s *siege) say(format string, about ...any) {
	fmt.Fprintf(s.trace, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, about...))
}

// fail writes to the trace and fails the test.
func (s *siege) fail(format string, about ...any) {
	s.say("FAULT "+format, about...)
	s.t.Errorf(format, about...)
}

// run deals from a deck, shuffled anew each time, until the broker was killed so often under load.
func (s *siege) run(kills int, deck []blow) {
	s.t.Helper()
	s.serve()
	var hand []blow
	for round := 0; s.kills < kills; round++ {
		if len(hand) == 0 {
			hand = slices.Clone(deck)
			s.random.Shuffle(len(hand), func(a, b int) { hand[a], hand[b] = hand[b], hand[a] })
		}
		s.round(round, hand[0])
		hand = hand[1:]
		if s.t.Failed() {
			return
		}
	}
}

// round loads the broker, strikes, and audits.
func (s *siege) round(round int, what blow) {
	s.t.Helper()
	s.churn.begin(s.b)
	l := newLoad(s.b, round, s.random, s.all, s.books)
	l.all = append(l.all, s.churn.queuesClient(l), s.churn.policiesClient(l))
	began := time.Now()
	l.begin()
	l.enough()
	s.pause(s.moment())
	loaded := time.Since(began)
	end := s.strike(l, what)
	s.dealt[what]++
	if what.kills() {
		s.kills++
	}
	s.say("round %d: %s after %v of load", round, what, loaded)
	if end.died {
		l.clients.Wait()
		s.keepWords()
		s.restart()
	}
	share := []int{0, 0, 50, 50, 90, 100}[s.random.IntN(6)]
	s.churn.audit(s.b)
	a := (&audit{t: s.t, b: s.b, end: end, share: share, random: s.random}).run(s.all, s.books)
	s.report(round, what, share, a)
}

// moment is how long a load goes on when there has been enough: often none, sometimes long enough for old acks.
func (s *siege) moment() time.Duration {
	if s.random.IntN(3) == 0 {
		return lateMax + time.Duration(s.random.IntN(1000))*time.Millisecond
	}
	return time.Duration(s.random.IntN(50_000)) * time.Microsecond
}

// pause lets time pass; the broker ending meanwhile is a fault.
func (s *siege) pause(d time.Duration) {
	s.t.Helper()
	select {
	case <-time.After(d):
	case <-s.b.exited:
		s.fail("the broker ended under load")
	}
}

// strike does what the blow says, act by act. One that ends the process is the last.
func (s *siege) strike(l *load, what blow) ending {
	s.t.Helper()
	for act := range strings.SplitSeq(string(what), ", ") {
		switch act {
		case "kill -9":
			l.doomed.Store(true)
			at := s.b.lived()
			s.b.kill()
			return ending{died: true, at: at}
		case "SIGTERM":
			l.doomed.Store(true)
			at := s.b.lived()
			s.terminate(what.kills())
			return ending{died: true, at: at}
		case "SIGSTOP":
			s.b.freeze()
			<-time.After(time.Duration(500+s.random.IntN(4000)) * time.Millisecond)
		case "SIGCONT":
			s.b.thaw()
			s.pause(s.moment() / 4)
		case "disk full":
			s.full = ballast(s.t, s.disk)
			s.b.await(&s.b.stderr, "disk resource limit alarm set")
			s.pause(time.Duration(s.random.IntN(2000)) * time.Millisecond)
		case "room":
			s.room()
			s.b.await(&s.b.stderr, "disk resource limit alarm cleared")
			s.pause(s.moment() / 4)
		}
	}
	l.leave()
	return ending{at: s.b.lived()}
}

// terminate asks the broker to stop, and may kill it while it does.
func (s *siege) terminate(kill bool) {
	s.t.Helper()
	s.b.terminate()
	if !kill {
		if code := s.b.awaitExit(); code != 0 {
			s.fail("the broker ended with exit code %d, want 0", code)
		}
		return
	}
	select {
	case <-time.After(time.Duration(s.random.IntN(30)) * time.Millisecond):
	case <-s.b.exited:
	}
	s.b.kill()
}

// space gives the disk its space back.
func (s *siege) room() {
	s.t.Helper()
	if s.full != "" {
		must(s.t, os.Remove(s.full))
		s.full = ""
	}
}

// inMemory is of how many messages a broker keeps the entries in memory; 0: its own choice, which is more than a load
// has.
var inMemory = []int{0, 1000, 300}

// options are what the next broker is started with. How it syncs may be another way each time: the process dies, the
// machine does not, so nothing may be lost in any. Nor may it matter how much of its queues one had in memory.
func (s *siege) options() []string {
	mode := []string{"always", "always", "interval", "never"}[s.random.IntN(4)]
	hot := inMemory[s.random.IntN(len(inMemory))]
	s.say("starts with --sync %s --messages-in-memory %d", mode, hot)
	return slices.Concat(smallFiles, []string{"--sync", mode, "--messages-in-memory", fmt.Sprint(hot)}, strings.Fields(*extra))
}

// serve starts the broker.
func (s *siege) serve() {
	s.t.Helper()
	s.b = start(s.t, s.data, s.options()...)
	s.start = time.Since(s.b.started)
	s.say("serves after %v", s.start)
}

// restart starts the broker again, on a full disk perhaps; now and then it is killed once more while it recovers.
func (s *siege) restart() {
	s.t.Helper()
	defer s.room()
	if s.random.IntN(2) == 0 {
		s.room()
	}
	for s.random.IntN(3) == 0 {
		b := launch(s.t, s.data, s.options()...)
		select { // the moment is the dice's
		case <-time.After(time.Duration(s.random.Int64N(int64(s.start)))):
		case <-b.exited:
			s.fail("the broker ended while it started")
		}
		b.kill()
		s.early++
		s.say("killed %v after its start", time.Since(b.started))
	}
	s.serve()
}

// keepWords writes what the broker said to a file.
func (s *siege) keepWords() {
	f, err := os.OpenFile(filepath.Join(s.dir, "broker.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(s.t, err)
	defer f.Close()
	_, err = f.WriteString(s.b.stdout.tail(1<<20) + s.b.stderr.tail(1<<20) + "--\n")
	must(s.t, err)
}

// report sums up a round.
func (s *siege) report(round int, what blow, share int, a account) {
	s.t.Helper()
	line := fmt.Sprintf("round %d: %s; serves again after %v; %d published, %d confirmed; there are %d in their queues and %d dead letters, %d%% taken; %d churned queues; delayed %d, %d wait, cancelled %d, %d too late; lost %d, doubled %d, early %d, cancelled and came %d",
		round, what, s.start.Round(time.Millisecond), a.published, a.confirmed, a.source, a.deadLetters, share, len(s.churn.queues), a.delayed, a.waiting, a.off, a.late, a.lost, a.doubled, a.early, a.came)
	s.say("%s", line)
	s.t.Log(line)
	for k, f := range a.faults {
		s.say("FAULT %s", f)
		if k < 10 {
			s.t.Error(f)
		}
	}
	if n := len(a.faults); n > 10 {
		s.t.Errorf("%d faults in all", n)
	}
	if s.t.Failed() {
		s.b.kill() // the data stay as they are
		s.keepWords()
	}
	s.sum.add(a)
}

// close audits once more, with nothing between: what was there is there.
func (s *siege) close() {
	s.t.Helper()
	if s.t.Failed() {
		return
	}
	s.b.kill()
	s.restart()
	s.churn.audit(s.b)
	eventually(s.t, "all that was delayed fires", func() bool { return len(s.b.scheduled(1)) == 0 })
	for _, what := range []blow{"all is taken", "nothing comes back"} {
		a := (&audit{t: s.t, b: s.b, end: ending{died: true}, share: 100, random: s.random}).run(s.all, s.books)
		s.report(-1, what, 100, a)
		if s.t.Failed() {
			return
		}
		s.b.kill()
		s.serve()
	}
	compareDoors(s.t, s.b, len(s.all))
	s.t.Logf("%d kills under load, %d while starting; %v; %d published, %d confirmed; audits saw %d copies and %d dead letters; %d queues deleted, %d policies set; delayed %d, audits saw %d wait, cancelled %d, %d too late; lost %d, doubled %d, early %d, cancelled and came %d",
		s.kills, s.early, s.dealt, s.sum.published, s.sum.confirmed, s.sum.source, s.sum.deadLetters, s.churn.deleted, s.churn.changes,
		s.sum.delayed, s.sum.waiting, s.sum.off, s.sum.late, s.sum.lost, s.sum.doubled, s.sum.early, s.sum.came)
}
