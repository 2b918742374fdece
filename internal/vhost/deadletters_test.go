package vhost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// manyFates has messages that are dead letters, whose bodies begin with "yes", and others.
const manyFates = `
	exchange later x-delayed-message x-delayed-type=direct
	declare work dlx="" dlrk=dead
	declare dead
	declare parking
	declare full max=1 overflow=reject-publish
	declare sure dlx="" dlrk=full strategy=at-least-once
	bind later -> work key=work
	publish full "no: it is where it was published"
	publish sure "yes: it is held"
	publish work "yes: it died"
	publish work "no: it was returned to work"
	publish work "yes: it was moved on"
	publish work "yes: it died again"
	publish dead "no: it never died"
	publish dead "yes: its client tells of a failure" h.x-exception-message="e"
	publish dead "no: its client told of a failure, and it was sent to work" h.x-exception-message="e" h.x-original-routingKey=work
	publish dead "yes: its client tells of a failure, and it was moved on" h.x-exception-message="e"
	publish dead "no: it was moved on, and never died"
	publish later:work "no: it is scheduled" h.x-delay=60000
	publish work "yes: it was discarded"
	get sure
	get work
	get work
	get work
	get work
	get work
	reject 1
	reject 2
	reject 3
	reject 4
	reject 5
	reject 6
	redrive dead ids=10 discard
	redrive dead ids=7,9 way=queue
	redrive dead ids=8,4,5 to-queue=parking
	redrive dead ids=3
	advance 1ms
	get work
	get work
	reject 8
`

// If it failed, messages that are worked on would be counted and listed as dead letters, or dead letters would not.
func TestWhatIsADeadLetter(t *testing.T) {
	t.Parallel()
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	for line := range strings.SplitSeq(strings.TrimSpace(manyFates), "\n") {
		if err := sc.block([]string{strings.TrimSpace(line)}); err != nil {
			t.Fatalf("%s: %v", strings.TrimSpace(line), err)
		}
	}
	check := func(v *VHost) (found []string) {
		r := v.Reader()
		for _, in := range []Where{
			{Queue: "work"}, {Queue: "dead"}, {Queue: "parking"}, {Queue: "full"}, {Queue: "sure"}, {Lost: true}, {Schedule: "later"},
		} {
			n := 0
			r.Browse(Glance{Where: in, Looks: math.MaxInt}, func(x *Seen) bool {
				body := string(x.Content().Body)
				found = append(found, body)
				if x.DeadLetter != strings.HasPrefix(body, "yes") {
					t.Errorf("%+v: a dead letter is %t: %q", in, x.DeadLetter, body)
				}
				if x.DeadLetter {
					n++
				}
				return true
			})
			if q, ok := r.Queue(in.Queue); ok && q.DeadLetters != n {
				t.Errorf("%d dead letters are counted in %s, there are %d", q.DeadLetters, in.Queue, n)
			}
		}
		slices.Sort(found)
		return found
	}
	live := check(sc.world.v)
	if len(live) != 13 {
		t.Errorf("%d messages: %q", len(live), live)
	}
	v := sc.world.v
	v.BeginCheckpoint(sc.world.next() - 1)
	for v.SaveCheckpoint(1) {
	}
	for name, checkpoint := range map[string][]byte{"the log": nil, "a checkpoint": slices.Concat(v.EndCheckpoint()...)} {
		if err := sc.world.restart(checkpoint); err != nil {
			t.Fatal(err)
		}
		if now := check(sc.world.v); !slices.Equal(now, live) {
			t.Errorf("after a restart from %s there are %q", name, now)
		}
	}
}
