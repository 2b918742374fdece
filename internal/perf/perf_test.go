package perf

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// runMain runs a scenario, against a fake broker if there is one, and returns the exit code and the report.
func runMain(t *testing.T, b *fakeBroker, drain string, args ...string) (int, Report) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "-json")
	if b != nil && b.url != "" {
		args = append(args, "-url", b.url)
	}
	if drain != "" {
		args = append(args, "-drain", drain)
	}
	code := Main(args, &stdout, &stderr)
	var r Report
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, stdout.String())
		}
	}
	t.Logf("exit code %d, %s", code, stderr.String())
	return code, r
}

func TestScenariosBalance(t *testing.T) {
	// If this fails, a scenario does not work, or accuses a broker that does nothing wrong.
	t.Parallel()
	for _, line := range []string{
		"throughput -count 1001",
		"throughput -count 1001 -size 16 -ack auto",
		"throughput -count 1001 -size 10000 -confirms 10 -publishers 3 -consumers 2 -queues 2 -backlog-max 50 -persistent",
		"throughput -count 1001 -publishers 2 -consumers 2 -queues 5 -ack 7 -prefetch 7",
		"latency -count 501 -rate 100000 -publishers 2",
		"dead-letter -count 1001",
		"dead-letter -count 1001 -reject 1 -publishers 2 -queues 2 -confirms 100",
		"backlog -count 1001 -queues 2",
		"backlog -count 1001 -confirms 0",
		"backlog -count 1001 -queues 3 -publishers 2 -priorities 4 -ttl 1h -window 1h -short 50ms",
		"expire -count 501 -ttl 500ms -window 50ms -head 600ms",
		"expire -count 501 -ttl 300ms -bystander 1000",
		"expire -count 501 -ttl 300ms -stored",
		"dead-letter -count 501 -full",
		"delay -count 501 -delay-min 1ms -delay-max 200ms",
		"delay -count 501 -delay-max 200ms -delay-min 100ms -rate 5000 -queues 2 -publishers 2 -consumers 2 -persistent -confirms 10",
		"delay -count 501 -delays same -delay-min 1ms -delay-max 300ms -window 50ms -bystander 1000",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			code, r := runMain(t, startFake(t), "30s", args...)
			if code != exitDone {
				t.Fatalf("exit code %d", code)
			}
			want, _ := strconv.ParseInt(args[2], 10, 64)
			if r.Books.Published != want || r.Books.Received != want || r.Broker != "fake 1" {
				t.Errorf("books %+v of %q", r.Books, r.Broker)
			}
			if text := r.Text(); !strings.Contains(text, "lost 0, duplicated 0") {
				t.Errorf("the text says: %s", text)
			}
			if paced := slices.Contains(args, "-rate"); paced != (r.Pacing != nil) || (args[0] == "latency") != (r.Latency != nil) {
				t.Errorf("latency %+v, pacing %+v", r.Latency, r.Pacing)
			}
			if r.Confirm != nil && r.Confirm.Count != want {
				t.Errorf("%d confirm latencies, want %d", r.Confirm.Count, want)
			}
		})
	}
}

func TestFaultsAreFound(t *testing.T) {
	// If this fails, a broker may lose or double messages, or forget x-death, and the run still counts as good.
	t.Parallel()
	every := func(nth, copies int) func(int) int {
		return func(n int) int {
			if n%nth == nth-1 {
				return copies
			}
			return 1
		}
	}
	for _, c := range []struct {
		line   string
		copies func(int) int
		deaths amqp.Table
		want   Books
	}{
		{"throughput -count 1000", every(100, 0), nil, Books{Published: 1000, Received: 990, Lost: 10}},
		{"throughput -count 1000", every(250, 2), nil, Books{Published: 1000, Received: 1000, Doubled: 4}},
		{"dead-letter -count 100", nil, amqp.Table{}, Books{Published: 100, Received: 100, Deathless: 100}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			b := startFake(t)
			b.copies = c.copies
			if c.deaths != nil {
				b.deaths = c.deaths
			}
			code, r := runMain(t, b, "1s", strings.Fields(c.line)...)
			if code != exitUnbalanced || r.Books != c.want {
				t.Errorf("exit code %d, books %+v, want %+v", code, r.Books, c.want)
			}
		})
	}
}

func TestEarlyArrivalIsFound(t *testing.T) {
	// If this fails, a broker that does not let messages wait as long as they should looks punctual.
	t.Parallel()
	for _, line := range []string{"expire -count 100 -ttl 500ms", "delay -count 100"} {
		b := startFake(t)
		b.hasty = true
		code, r := runMain(t, b, "30s", strings.Fields(line)...)
		if code != exitUnbalanced || r.Early == nil || r.Early.Count != 100 || r.Early.Most <= 0 || r.Lateness != nil {
			t.Errorf("%s: exit code %d, early %+v, lateness %+v", line, code, r.Early, r.Lateness)
		}
		if want := (Books{Published: 100, Received: 100, Early: 100}); r.Books != want {
			t.Errorf("%s: books %+v", line, r.Books)
		}
	}
}

func TestFailedRunLeavesNoQueues(t *testing.T) {
	// If this fails, queues of a run that could not go on stay in the broker for ever.
	t.Parallel()
	for _, refuse := range []string{".work.0000", ".work.0001"} {
		b := startFake(t) // which looks for what is left
		b.refuse = refuse
		if code, _ := runMain(t, b, "30s", "dead-letter", "-queues", "2"); code != exitFailed {
			t.Errorf("refused %s: exit code %d, want %d", refuse, code, exitFailed)
		}
	}
}

func TestUsage(t *testing.T) {
	// If this fails, arguments that make no sense start a run, or one that fails looks like success.
	t.Parallel()
	for _, line := range []string{
		"", "nonsense", "throughput extra", "throughput -size 15", "throughput -queues 0", "throughput -ack never",
		"throughput -ack 200 -prefetch 100", "dead-letter -reject 0",
		"dead-letter -full", "expire -count 0", "latency -rate 0",
		"throughput -url http://localhost/", "throughput -prefetch 65536", "backlog -count -1",
		"backlog -count 9 -priorities 256", "settle -live 0", "settle -ack auto", "settle -count 5", "halve -sample 0",
		"restart", "restart -data x -runs 0", "restart -data x -count 10", "declare -connections 0", "idle",
		"idle -pid 1 -channels 2",
		"disk -count 0", "disk -persistent", "expire -bystander -1", "delay -delays never", "delay -delay-min 0", "delay -delay-max 1ms",
		"delay -window 1s", "delay -management http://localhost:1", "delay -waiting 5 -management localhost",
	} {
		if code := Main(strings.Fields(line), io.Discard, io.Discard); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", line, code, exitUsage)
		}
	}
	if code := Main([]string{"throughput", "-url", "amqp://127.0.0.1:1/"}, io.Discard, io.Discard); code != exitFailed {
		t.Errorf("nobody listens: exit code %d, want %d", code, exitFailed)
	}
	if code := Main([]string{"expire", "-h"}, io.Discard, io.Discard); code != exitDone {
		t.Errorf("-h: exit code %d, want %d", code, exitDone)
	}
}
