package vhost

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// browsed plays lines, and shows what is in a place, from one end, a few messages at a time.
func browsed(t *testing.T, lines string, w Where, newest bool, text string) (seen []string, v *VHost) {
	t.Helper()
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		if err := sc.block([]string{strings.TrimSpace(line)}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := filter.Parse(text, int64(sc.world.now))
	if err != nil {
		t.Fatal(err)
	}
	v = sc.world.v
	before := v.Contents()
	for after := uint64(0); ; {
		next, ok := v.Reader().Browse(Glance{Where: w, After: after, Newest: newest, Looks: 2}, func(x *Seen) bool {
			m := x.ForFilter(f.Needs() | filter.Deaths)
			if f.Match(&m) {
				seen = append(seen, fmt.Sprintf("%d %s %s %q", x.ID, x.StateName(), m.Reason, x.Content().Body))
			}
			return true
		})
		if !ok {
			t.Fatalf("there is no %+v", w)
		}
		if after = next; after == 0 {
			break
		}
	}
	if !bytes.Equal(before, v.Contents()) {
		t.Error("to look at messages has changed something")
	}
	return seen, v
}

const browsedQueue = `
	declare work dlx="" dlrk=dead
	declare dead
	declare one max=1 overflow=reject-publish
	declare last max=1
	exchange d x-delayed-message x-delayed-type=direct
	publish work "1"
	publish work "2"
	publish work "3"
	publish dead "4"
	publish dead "5"
	publish d:k "6" h.x-delay=1000
	get work
	reject 1
	get work
	reject 2
	get dead
	options lost-letters-max-bytes=1000000
	redrive dead ids=2 discard
	advance 1ms
`

// If it failed, a look into a queue would miss messages, show them out of order or in another state than they are, or
// change them.
func TestBrowse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     Where
		newest bool
		filter string
		want   []string
	}{
		{Where{Queue: "dead"}, false, "", []string{`1 unacked  "4"`, `3 ready rejected "1"`, `4 ready rejected "2"`}},
		{Where{Queue: "dead"}, true, "", []string{`4 ready rejected "2"`, `3 ready rejected "1"`, `1 unacked  "4"`}},
		{Where{Queue: "dead"}, true, "reason:rejected 2", []string{`4 ready rejected "2"`}},
		{Where{Queue: "dead"}, false, "-state:ready", []string{`1 unacked  "4"`}},
		{Where{Lost: true}, false, "cause:discarded size:1", []string{`1 lost  "5"`}},
		{Where{Schedule: "d"}, false, "", []string{`1 scheduled  "6"`}},
		{Where{Queue: "work"}, true, "", []string{`3 ready  "3"`}},
	} {
		if got, _ := browsed(t, browsedQueue, c.in, c.newest, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%+v newest=%t %q: got %q, want %q", c.in, c.newest, c.filter, got, c.want)
		}
	}
}

// If it failed, the details of a message could not be shown, or one would be shown that is not there.
func TestFind(t *testing.T) {
	t.Parallel()
	_, v := browsed(t, browsedQueue, Where{Queue: "dead"}, false, "")
	x, ok := v.Reader().Find(Where{Queue: "dead"}, 3)
	if !ok || string(x.Content().Body) != "1" || x.History().Last.Queue != "work" || x.Lost {
		t.Errorf("got %+v, %t", x, ok)
	}
	lost, ok := v.Reader().Find(Where{Lost: true}, 1)
	if h := lost.History(); !ok || h == nil || lost.Cause != fact.Discarded || lost.Target != "dead" || lost.At == 0 || lost.BodyBytes() != 1 {
		t.Errorf("got %+v, %t", lost, ok)
	}
	for _, none := range []struct {
		in Where
		id uint64
	}{{Where{Queue: "dead"}, 0}, {Where{Queue: "dead"}, 2}, {Where{Queue: "dead"}, 1 << 60}, {Where{Queue: "nowhere"}, 1}, {Where{Schedule: "work"}, 1}} {
		if x, ok := v.Reader().Find(none.in, none.id); ok {
			t.Errorf("%+v %d: got %+v", none.in, none.id, x)
		}
	}
}

// If it failed, a dry run would tell of other messages, or other ways, than the job takes, or would change
// something.
func TestTryRedrive(t *testing.T) {
	t.Parallel()
	_, v := browsed(t, browsedQueue, Where{Queue: "dead"}, false, "")
	try := func(o JobSpec) (RedriveDryRun, error) {
		o.Source.Queue = "dead"
		var total RedriveDryRun
		before := v.Contents()
		for cursor, more := uint64(0), true; more; {
			var err error
			var refused error
			cursor, more, err = func() (uint64, bool, error) {
				next, more, e := v.Reader().DryRunRedrive(&o, 0, cursor, 1, &total)
				refused = refusal(e)
				return next, more, refused
			}()
			if err != nil {
				return total, err
			}
		}
		if !bytes.Equal(before, v.Contents()) {
			t.Error("a dry run has changed something")
		}
		return total, nil
	}
	got, err := try(JobSpec{})
	if err != nil || got.Matches != 2 || got.Queues["work"] != 2 || len(got.Sample) != 2 || got.Looked != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := try(JobSpec{Target: TargetExchange, Exchange: "x"}); err != nil || got.Refused[SkipNoExchange] != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := try(JobSpec{IDs: []uint64{1, 4, 9}}); err != nil || got.Matches != 1 || got.Refused[SkipBusy] != 1 || got.Refused[SkipUnknown] != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := try(JobSpec{Target: TargetQueue, Queue: "one"}); err != nil || got.Queues["one"] != 1 || got.Refused[SkipRefused] != 1 || len(got.PushedOut) > 0 {
		t.Errorf("into a queue with room for one: %+v, %v", got, err)
	}
	if got, err := try(JobSpec{Target: TargetQueue, Queue: "last"}); err != nil || got.Queues["last"] != 2 || got.PushedOut["last"] != 1 {
		t.Errorf("into a queue that drops the second oldest: %+v, %v", got, err)
	}
	if _, err := try(JobSpec{Filter: "age:yesterday"}); err == nil {
		t.Error("a filter that cannot be read was tried")
	}
	if _, err := try(JobSpec{Target: TargetOnward}); err == nil {
		t.Error("messages of a queue were to go on")
	}
}
