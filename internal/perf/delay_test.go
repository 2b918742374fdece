package perf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestTimedSaysWhenItIsDue(t *testing.T) {
	// If this fails, lateness is measured against another instant than the broker was told.
	t.Parallel()
	const at, ms = int64(1_234_567_890), int64(time.Millisecond)
	window := calendar{first: at + 5000*ms, window: 1000 * ms, head: at + 60_000*ms}
	for _, c := range []struct {
		name            string
		by              wait
		calendar        calendar
		heads           int
		shortest, after int64 // ms
	}{
		{"expiration in a window", byExpiration, window, 2, 5000, 6000},
		{"delay in a window", byDelay, window, 2, 5000, 6000},
		{"delay of its own length", byDelay, calendar{least: 5000 * ms, most: 6000 * ms}, 0, 5000, 6001},
	} {
		s := newTimed(lane{exchange: "x", queues: []string{"q0", "q1"}}, 20, amqp.Properties{}, 4096, c.by, c.calendar, rand.New(rand.NewPCG(1, 1)))
		b, err := s.batch(0, 100, at)
		if err != nil {
			t.Fatal(err)
		}
		different := map[int64]bool{}
		for k, m := range parseMessages(t, b, 4096) {
			var wait int64
			if c.by == byDelay {
				header, _ := m.properties.Headers.Get("x-delay")
				wait = header.Int
			} else {
				wait, _ = strconv.ParseInt(m.properties.Expiration, 10, 64)
			}
			if m.stamp != at+wait*ms || m.id != messageID(k%2, int64(k/2)) || m.exchange != "x" {
				t.Fatalf("%s: message %d: %+v waits for %d", c.name, k, m, wait)
			}
			if k < c.heads {
				if wait != 60_000 {
					t.Errorf("%s: the head waits for %d ms", c.name, wait)
				}
				continue
			}
			if wait < c.shortest || wait >= c.after {
				t.Errorf("%s: message %d waits for %d ms", c.name, k, wait)
			}
			different[wait] = true
		}
		if len(different) < 50 {
			t.Errorf("%s: only %d different instants", c.name, len(different))
		}
		if c.calendar.first == 0 {
			continue
		}
		if _, err := s.batch(100, 1, at+6000*ms); !errors.Is(err, errLateFill) {
			t.Errorf("%s: too late: error %v", c.name, err)
		}
	}
}

func TestCalendarKnowsItsEnds(t *testing.T) {
	// If this fails, rates count from before the first message is due, or messages count as lost that are not due yet.
	t.Parallel()
	for _, c := range []struct {
		calendar     calendar
		begins, ends int64
	}{
		{calendar{first: 50}, 50, 50},
		{calendar{first: 50, window: 10}, 50, 60},
		{calendar{first: 50, window: 10, head: 90}, 50, 90},
		{calendar{least: 5, most: 7}, 15, 27},
	} {
		if begins, ends := c.calendar.begins(10), c.calendar.ends(20); begins != c.begins || ends != c.ends {
			t.Errorf("%+v: from %d to %d", c.calendar, begins, ends)
		}
	}
}

func TestBystander(t *testing.T) {
	// If this fails, what others suffer while messages become due is not measured, or counts as the run's own.
	t.Parallel()
	args := strings.Fields("delay -count 200 -delays same -delay-min 1ms -delay-max 200ms -window 200ms -bystander 2000")
	code, r := runMain(t, startFake(t), "30s", args...)
	if code != exitDone || r.Latency != nil || r.Lateness == nil || r.Lateness.Count != 200 || r.Books.Published != 200 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	m := r.Meanwhile
	if m == nil || m.Latency == nil || m.Confirm == nil || m.Books.Published == 0 || m.Books.Published != m.Books.Received {
		t.Fatalf("meanwhile %+v", m)
	}
	if m.Latency.Count >= m.Books.Published {
		t.Errorf("%d of %d times, those before the first message was due included", m.Latency.Count, m.Books.Published)
	}
	if text := r.Text(); !strings.Contains(text, "latency of other traffic") {
		t.Errorf("the text says: %s", text)
	}
	lossy := startFake(t)
	lossy.copies = func(n int) int { return int(btoi(n != 100)) }
	if code, r := runMain(t, lossy, "1s", args...); code != exitUnbalanced || r.Balanced() {
		t.Errorf("one lost: exit code %d, books %+v, the bystander's %+v", code, r.Books, r.Meanwhile)
	}
}

func TestWaiting(t *testing.T) {
	// If this fails, there is no crowd of messages that wait, or listing and cancelling is not measured, or some of it
	// may get lost.
	t.Parallel()
	b := startFake(t)
	args := strings.Fields("delay -count 10 -delay-min 1ms -delay-max 5ms -waiting 3500 -far 100000h -management")
	code, r := runMain(t, b, "30s", append(args, b.manage(t, "7")+"/")...)
	if code != exitDone || r.Books.Received != 10 || len(r.Spans) != 3 || r.Spans[0].Name != "load" || r.Spans[0].Published != 3500 {
		t.Fatalf("exit code %d, books %+v, spans %+v", code, r.Books, r.Spans)
	}
	for name, want := range map[string]float64{figureCancelled: 2999, figureTooLate: 1, figurePurged: 500} {
		if got, ok := r.Figure(name); !ok || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{figureList, figureListP99, figureCancel, figureBulk, figureBulkP99, figurePurge} {
		if value, ok := r.Figure(name); !ok || value <= 0 {
			t.Errorf("%s: %v", name, value)
		}
	}
	b.forgotten = 3
	if code, r := runMain(t, b, "30s", append(args, b.manage(t, ""))...); code != exitUnbalanced || r.Books.Lost != 3 {
		t.Errorf("3 forgotten: exit code %d, books %+v", code, r.Books)
	}
}

func TestDelayNeedsDelayedExchanges(t *testing.T) {
	// If this fails, nobody learns why a broker without the plugin cannot be measured.
	t.Parallel()
	b := startFake(t)
	b.plain = true
	var stdout, stderr bytes.Buffer
	code := Main([]string{"delay", "-url", b.url}, &stdout, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "rabbitmq_delayed_message_exchange") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
