package vhost

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func TestSampleInPortions(t *testing.T) {
	// If this fails, metrics lack queues or show some twice when they are read a few at a time and others come and go.
	t.Parallel()
	lines := ""
	for i := range 20 {
		lines += fmt.Sprintf("declare q%02d\n", i)
	}
	sc := counted(t, lines+"exchange d x-delayed-message x-delayed-type=fanout\npublish d:k \"m\" h.x-delay=1000\ndelete q03")
	v := sc.world.v
	for most := range 25 {
		var at Sampling
		var seen []string
		deleted := false
		for more := true; more; {
			more = v.Reader().Sample(&at, most+1, func(q *QueueSample) { seen = append(seen, q.Name) })
			if !deleted && most == 4 {
				deleted = true
				for _, l := range []string{"delete q00", "delete q19", "declare q20"} {
					if err := sc.block([]string{l}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for i := range 20 {
			name := fmt.Sprintf("q%02d", i)
			want := 1
			if i == 3 || most > 4 && (i == 0 || i == 19) || most == 4 && i == 19 {
				want = 0
			}
			n := 0
			for _, s := range seen {
				if s == name {
					n++
				}
			}
			if n != want {
				t.Errorf("in portions of %d %s was seen %d times, not %d", most+1, name, n, want)
			}
		}
	}
}

func TestDeadLetterWays(t *testing.T) {
	// If this fails, a queue that dead letters come to is not known as such, or a dead-letter exchange that leads
	// nowhere is not found.
	t.Parallel()
	v := counted(t, `
		declare a
		declare b
		declare c
		exchange x topic
		exchange y fanout alternate-exchange=x
		exchange void fanout
		bind x -> a key=a.#
		link y -> x
		bind y -> b
		declare none
		declare missing dlx=nowhere
		declare unbound dlx=void
		declare byname dlx="" dlrk=c ttl=10
		declare nobody dlx="" dlrk=stranger
		declare own dlx="" max=5
		declare through dlx=y
		declare key dlx=x dlrk=a.b
		declare otherkey dlx=x dlrk=b`).world.v
	type way struct {
		kind    WayKind
		targets string
	}
	got := map[string]way{}
	names := map[fact.QueueID]string{}
	var at Sampling
	v.Reader().Sample(&at, 100, func(q *QueueSample) { names[q.ID] = q.Name })
	at = Sampling{}
	v.Reader().Sample(&at, 100, func(q *QueueSample) {
		var targets []string
		for _, id := range q.DeadLetterWay.Targets {
			targets = append(targets, names[id])
		}
		slices.Sort(targets)
		got[q.Name] = way{q.DeadLetterWay.Kind, fmt.Sprint(targets)}
	})
	want := map[string]way{
		"a": {WayNone, "[]"}, "b": {WayNone, "[]"}, "c": {WayNone, "[]"}, "none": {WayNone, "[]"},
		"missing": {WayMissing, "[]"}, "unbound": {WayUnbound, "[]"}, "byname": {WayOpen, "[c]"},
		"nobody": {WayUnbound, "[]"}, "own": {WayOpen, "[]"}, "through": {WayOpen, "[a b]"},
		"key": {WayOpen, "[a]"}, "otherkey": {WayUnbound, "[]"},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOldestDeadLetter(t *testing.T) {
	// If this fails, it is told wrongly for how long a dead letter has waited, or each scrape reads the disk for it.
	t.Parallel()
	sc := counted(t, `
		declare dead
		declare work ttl=1000 dlx="" dlrk=dead
		publish work "one"
		advance 5s
		publish work "two"
		advance 5s`)
	v := sc.world.v
	id, _ := v.topo.Queue("dead")
	seq, died, ok := v.Reader().OldestDeadLetter(id, 0)
	if !ok || died != int64(epoch)/1000+1 {
		t.Fatalf("dead letter %d died at %d, %v", seq, died, ok)
	}
	if again, died, ok := v.Reader().OldestDeadLetter(id, seq); again != seq || died != 0 || !ok {
		t.Errorf("a dead letter that is known was read: %d %d %v", again, died, ok)
	}
	if err := sc.block([]string{"get dead noack"}); err != nil {
		t.Fatal(err)
	}
	if next, died, ok := v.Reader().OldestDeadLetter(id, seq); next == seq || died != int64(epoch)/1000+6 || !ok {
		t.Errorf("the next dead letter %d died at %d, %v", next, died, ok)
	}
	if err := sc.block([]string{"get dead noack", `publish dead "from a client"`, `publish work "three"`, "advance 5s"}); err != nil {
		t.Fatal(err)
	}
	behind, died, ok := v.Reader().OldestDeadLetter(id, 0)
	if !ok || died != int64(epoch)/1000+11 {
		t.Errorf("behind a message that has not died, dead letter %d died at %d, %v", behind, died, ok)
	}
	if again, died, ok := v.Reader().OldestDeadLetter(id, behind); again != behind || died != 0 || !ok {
		t.Errorf("a dead letter that is known was read: %d %d %v", again, died, ok)
	}
	if work, _ := v.topo.Queue("work"); true {
		if _, _, ok := v.Reader().OldestDeadLetter(work, 0); ok {
			t.Error("an empty queue has a dead letter")
		}
	}
}

func TestSamplingMissesNoCounts(t *testing.T) {
	// If this fails, counters of metrics fall for a moment, or count double, when queues are deleted while they are
	// gathered.
	t.Parallel()
	lines := ""
	for i := range 10 {
		lines += fmt.Sprintf("declare q%d\npublish q%d \"m\"\npublish q%d \"m\"\n", i, i, i)
	}
	sc := counted(t, lines+"delete q4")
	v := sc.world.v
	run := func(lines ...string) {
		t.Helper()
		if err := sc.block(lines); err != nil {
			t.Fatal(err)
		}
	}
	var at Sampling
	var sum QueueStats
	more := v.Reader().Sample(&at, 3, func(q *QueueSample) { sum.Add(q.Stats) })
	run("delete q0", "publish q1 \"m\"", "publish q7 \"m\"", "delete q7", "declare late", "publish late \"m\"", "delete late", "delete q9")
	for more {
		more = v.Reader().Sample(&at, 3, func(q *QueueSample) { sum.Add(q.Stats) })
	}
	run("delete q1", "delete q8")
	for _, n := range at.Gone() {
		sum.Add(&n)
	}
	if sum.Published != 22 {
		t.Errorf("%d messages are counted, not 20, one more before a queue was seen and one of a queue that came and went", sum.Published)
	}
	var again Sampling
	sum = QueueStats{}
	v.Reader().Sample(&again, 100, func(q *QueueSample) { sum.Add(q.Stats) })
	for _, n := range again.Gone() {
		sum.Add(&n)
	}
	if sum.Published != 23 || len(v.samplings) != 0 {
		t.Errorf("then %d, and %d samplings go on", sum.Published, len(v.samplings))
	}
}
