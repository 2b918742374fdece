//go:build linux

package crashtest

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const redriven = 30_000

// A redrive is what the tests ask of a job of the management API.
type redrive struct {
	ID           int
	State        string
	Moved, Total int
	CameBack     int `json:"came_back"`
}

// If this fails, the end of the process loses or duplicates a message during its redrive, or loses the job.
func TestKillRedrive(t *testing.T) {
	random := dice(t)
	dir := t.TempDir()
	b := start(t, dir, smallFiles...)
	ch := b.channel()
	declare(t, ch, "work", true, nil)
	declare(t, ch, "dead", true, nil)
	var bodies [][]byte
	for i := range redriven {
		bodies = append(bodies, fmt.Appendf(nil, "%d", i))
	}
	publish(t, ch, "dead", bodies...)
	b.change("POST", "/api/x/redrives/%2F", map[string]any{
		"source": map[string]any{"queue": "dead"}, "target": map[string]any{"to": "queue", "queue": "work"},
		"options": map[string]any{"rate": 40_000, "watch_ms": 100},
	})
	kills := 0
	for job := (redrive{}); ; kills++ {
		b.list("/api/x/redrives/%2F/1", &job)
		if job.State == "done" {
			break
		}
		if kills == 8 {
			eventually(t, "the job is done", func() bool {
				b.list("/api/x/redrives/%2F/1", &job)
				return job.State == "done"
			})
			break
		}
		<-time.After(time.Duration(random.IntN(60)) * time.Millisecond)
		b.kill()
		b = start(t, dir, smallFiles...)
	}
	var job redrive
	if b.list("/api/x/redrives/%2F/1", &job); job.Moved != redriven || job.Total != redriven {
		t.Errorf("the job says that it moved %d of %d, want %d", job.Moved, job.Total, redriven)
	}
	ch = b.channel()
	if n := depth(t, ch, "dead"); n != 0 {
		t.Errorf("%d dead letters are left", n)
	}
	if lost, doubled := countOnce(t, ch, "work", redriven); lost+doubled > 0 {
		t.Errorf("after %d kills lost %d, doubled %d", kills, lost, doubled)
	}
	t.Logf("%d kills", kills)
}

// countOnce takes all numbers from 0 to n out of a queue, each once, and tells of those that were not there, or twice.
func countOnce(t *testing.T, ch *amqp.Channel, queue string, n int) (lost, doubled int) {
	t.Helper()
	seen := make([]int, n)
	for range depth(t, ch, queue) {
		d, ok, err := ch.Get(queue, true)
		must(t, err)
		if !ok {
			break
		}
		i := 0
		if _, err := fmt.Sscan(string(d.Body), &i); err != nil || i < 0 || i >= n {
			t.Fatalf("a message says %q", d.Body)
		}
		seen[i]++
	}
	for _, times := range seen {
		lost += max(1-times, 0)
		doubled += max(times-1, 0)
	}
	return lost, doubled
}
