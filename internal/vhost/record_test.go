package vhost

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

const (
	// largeDeadLetters have bodies of largeBytes each. While bodies are not needed, headsMax bytes of each
	// may be read: the head of its record, a few times, and its histories.
	largeDeadLetters, largeBytes = 5, 150 << 10
	headsMax                     = 5 * HeadBytes
)

// withLargeDeadLetters is a broker with large messages in the queue dead, of which it has read nothing yet.
// Where they died, messages live now; due gets what waited in the delayed exchange d. Transient ones are
// spilled.
func withLargeDeadLetters(t *testing.T, options, property string) *scenario {
	t.Helper()
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	sc.world.hot = true
	sc.world.v = sc.world.fresh()
	sc.world.v.KeepHot(0, 1)
	sc.do(t, `declare dead
		declare work dlx="" dlrk=dead `+options+`
		policy none ^work$ max-length=0
		exchange d x-delayed-message x-delayed-type=direct
		declare due
		bind d -> due key=work`)
	for i := range largeDeadLetters {
		sc.do(t, fmt.Sprintf("publish work %q h.n=%d h.x-delay=1000 %s", largeBody(i), i, property))
	}
	sc.do(t, "clear-policy none\n advance 1ms\n options lost-letters-max-bytes=100000000")
	sc.world.reads.bytes = 0
	return sc
}

func largeBody(i int) string { return strings.Repeat(fmt.Sprint(i), largeBytes) }

// do plays lines.
func (sc *scenario) do(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.SplitSeq(lines, "\n") {
		if err := sc.block([]string{strings.TrimSpace(line)}); err != nil {
			t.Fatal(err)
		}
	}
}

// holdsLarge reports what is wrong with the large messages in a queue.
func (sc *scenario) holdsLarge(name string) error {
	q, n := sc.world.v.queueNamed(name), 0
	var err error
	q.messages.Each(0, func(seq queueSeq, _ *queueEntry) bool {
		if body := sc.world.bodyOf(q, seq); body != largeBody(n) {
			err = fmt.Errorf("message %d of %q has another body, of %d bytes", n, name, len(body))
		}
		n++
		return err == nil
	})
	if err == nil && n != largeDeadLetters {
		err = fmt.Errorf("%d of %d messages are in %q", n, largeDeadLetters, name)
	}
	return err
}

// If this fails, the body of a message is read although nothing depends on it, or is another one afterwards: who
// redrives some hundred dead letters of 15 MB stops the virtual host until gigabytes are read.
func TestBodiesAreNotReadToMoveMessages(t *testing.T) {
	t.Parallel()
	const hold = `declare holder type=quorum strategy=at-least-once overflow=reject-publish dlx="" dlrk=late`
	for _, c := range []struct {
		what, options, lines string
		queue                string // that has them then
	}{
		{"redrive", "", "redrive dead", "work"},
		{"redrive to another queue", "", "redrive dead to-queue=due", "due"},
		{"redrive of some", "", "redrive dead ids=1,2,3,4,5", "work"},
		{"redrive by a header", "", "redrive dead filter=header.n:<9", "work"},
		{"redrive by a header and a body", "", `redrive dead filter="header.n:9 body:0"`, "dead"},
		{"rejection", "", "redrive dead \n advance 1ms \n consume work c \n nack 5 multiple", "dead"},
		{"expiry", "", "policy old ^work$ message-ttl=1000 \n redrive dead \n advance 2s", "dead"},
		{"length limit", "", "redrive dead \n advance 1ms \n policy full ^work$ max-length=0", "dead"},
		{"delivery limit", "type=quorum limit=0", "redrive dead \n advance 1ms \n consume work c \n" +
			"nack 5 multiple requeue", "dead"},
		{"held dead letters", "", hold + " \n redrive dead to-queue=holder \n advance 1ms \n consume holder c \n" +
			"nack 5 multiple \n advance 9s \n declare late \n advance 9s", "late"},
		{"discard and republish", "", "redrive dead discard \n advance 1ms \n republish 1 2 3 4 5", "dead"},
		{"discard and redrive", "", "redrive dead discard \n advance 1ms \n redrive lost way=on", "dead"},
	} {
		sc := withLargeDeadLetters(t, c.options, "")
		sc.do(t, c.lines+"\n advance 1ms")
		if got := sc.world.reads.bytes; got == 0 || got > largeDeadLetters*headsMax {
			t.Errorf("%s: %d bytes were read for %d messages", c.what, got, largeDeadLetters)
		}
		if err := sc.holdsLarge(c.queue); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// If this fails, a body gets lost where its message is stored anew, or is read more than once for that.
func TestBodiesAreStoredAnew(t *testing.T) {
	t.Parallel()
	sc := withLargeDeadLetters(t, "", "")
	sc.do(t, "redrive dead way=d:work \n advance 1ms")
	if got := sc.world.reads.bytes; got < largeDeadLetters*largeBytes || got > largeDeadLetters*(largeBytes+headsMax) {
		t.Errorf("%d bytes were read to store %d messages anew", got, largeDeadLetters)
	}
	sc.world.reads.bytes = 0
	sc.do(t, "advance 2s")
	if got := sc.world.reads.bytes; got == 0 || got > largeDeadLetters*headsMax {
		t.Errorf("%d bytes were read to send %d messages that were due", got, largeDeadLetters)
	}
	if err := sc.holdsLarge("due"); err != nil {
		t.Error(err)
	}
}

// If this fails, a list of messages, or a search, reads more of their bodies than it shows or asks for.
func TestBodiesAreReadAsFarAsTheyAreShown(t *testing.T) {
	t.Parallel()
	dead := Where{Queue: "dead"}
	each := func(in Where, see func(x *Seen)) func(Reader) {
		return func(r Reader) {
			r.Browse(Glance{Where: in, Looks: 2 * largeDeadLetters}, func(x *Seen) bool {
				see(x)
				return true
			})
		}
	}
	passes := func(text string) func(x *Seen) {
		f, err := filter.Parse(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		return func(x *Seen) {
			if !x.Passes(f) {
				t.Errorf("message %d does not pass %q", x.ID, text)
			}
		}
	}
	for _, c := range []struct {
		what, lines string
		look        func(Reader)
		bodies      int // octets of each that are needed
	}{
		{"heads", "", each(dead, func(x *Seen) { x.Head() }), 0},
		{"beginnings", "", each(dead, func(x *Seen) {
			if got := x.Body(0, 30_000); string(got) != largeBody(int(x.ID - 1))[:30_000] {
				t.Errorf("message %d begins with %d other bytes", x.ID, len(got))
			}
		}), 30_000},
		{"ends", "", each(dead, func(x *Seen) {
			if got := x.Body(largeBytes-9, math.MaxInt); string(got) != largeBody(int(x.ID - 1))[:9] {
				t.Errorf("message %d ends with %q", x.ID, got)
			}
		}), 0},
		{"all of them, twice", "", each(dead, func(x *Seen) {
			if string(x.Content().Body) != largeBody(int(x.ID-1)) || len(x.Content().Body) != largeBytes {
				t.Errorf("message %d has %d other bytes", x.ID, len(x.Content().Body))
			}
		}), largeBytes},
		{"a filter of headers", "", each(dead, passes("header.n:<9 queue:dead")), 0},
		{"a filter of bodies", "", each(dead, passes("body:*")), largeBytes},
		{"lost letters", "redrive dead discard \n advance 1ms", each(Where{Lost: true}, func(x *Seen) {
			if x.BodyBytes() != largeBytes {
				t.Errorf("message %d has %d bytes", x.ID, x.BodyBytes())
			}
		}), 0},
		{"one lost letter", "redrive dead discard \n advance 1ms", func(r Reader) {
			if _, v, all, ok := r.LostLetter(1, 10); !ok || string(v.Body) != "0000000000" || all != largeBytes {
				t.Errorf("the lost letter has %d bytes: %q", all, v.Body)
			}
		}, 0},
		{"a dry run", "", func(r Reader) {
			var run RedriveDryRun
			_, _, err := r.DryRunRedrive(&JobSpec{Source: dead}, 0, 0, 2*largeDeadLetters, &run)
			if err != nil || run.Matches != largeDeadLetters {
				t.Errorf("the dry run found %d: %v", run.Matches, err)
			}
		}, 0},
	} {
		sc := withLargeDeadLetters(t, "", "")
		if c.lines != "" {
			sc.do(t, c.lines)
		}
		sc.world.reads.bytes = 0
		c.look(sc.world.v.Reader())
		got, least := sc.world.reads.bytes, largeDeadLetters*c.bodies
		if got < max(least, 1) || got > least+largeDeadLetters*headsMax {
			t.Errorf("%s: %d bytes were read of %d messages", c.what, got, largeDeadLetters)
		}
	}
}

// If this fails, dead letters that are transient, and were spilled, are read whole to be moved.
func TestBodiesOfSpilledMessagesAreNotRead(t *testing.T) {
	t.Parallel()
	sc := withLargeDeadLetters(t, "", "transient")
	for _, c := range []struct{ lines, queue string }{
		{"redrive dead \n advance 1ms", "work"},
		{"policy full ^work$ max-length=0 \n advance 1ms", "dead"},
	} {
		sc.world.pages.bytes = 0
		sc.do(t, c.lines)
		if got := sc.world.pages.bytes; got == 0 || got > largeDeadLetters*headsMax {
			t.Errorf("%s: %d bytes were read for %d messages", c.lines, got, largeDeadLetters)
		}
		if err := sc.holdsLarge(c.queue); err != nil {
			t.Errorf("%s: %v", c.lines, err)
		}
	}
}
