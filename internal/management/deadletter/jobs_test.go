package deadletter

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestWhatAJobHasLeft(t *testing.T) {
	// If this fails, a job for 300 of 3,000 messages seems to have 3,000 to move, or one that ended to have some left.
	t.Parallel()
	const unknown = -1
	const running, watching = vhost.JobRunning, vhost.JobWatching
	for name, c := range map[string]struct {
		filter                           string
		most, total, looked, moved, gone uint64
		state                            vhost.JobState
		finished                         bool
		matched, left                    int64
	}{
		"all of a queue":            {total: 10, looked: 4, moved: 3, gone: 1, state: running, matched: 4, left: 6},
		"at most five":              {most: 5, total: 10, looked: 4, moved: 4, state: running, matched: 4, left: 1},
		"five were taken":           {most: 5, total: 10, looked: 5, moved: 5, state: watching, matched: 5},
		"more arrived meanwhile":    {total: 10, looked: 12, moved: 12, state: running, matched: 12},
		"a filter, in the middle":   {filter: "a", total: 3000, looked: 1011, moved: 300, state: running, matched: 300, left: unknown},
		"a filter, cancelled":       {filter: "a", total: 30, looked: 11, moved: 3, state: vhost.JobCancelled, matched: 3, left: unknown},
		"a filter, all were read":   {filter: "a", total: 3000, looked: 3000, moved: 300, state: watching, matched: 300},
		"a filter, done":            {filter: "a", total: 3000, looked: 2990, moved: 300, state: vhost.JobDone, matched: 300},
		"some left the queue":       {total: 10, looked: 7, moved: 7, state: watching, finished: true, matched: 7},
		"cancelled, without filter": {total: 10, looked: 4, moved: 4, state: vhost.JobCancelled, matched: 4, left: 6},
	} {
		j := vhost.Job{JobSpec: vhost.JobSpec{Filter: c.filter, Max: c.most}, Progress: vhost.Progress{
			State: c.state, Total: c.total, Looked: c.looked, Moved: c.moved, Finished: c.finished,
		}}
		j.Refused[vhost.SkipRefused] = c.gone
		got := int64(unknown)
		if left := leftOf(&j); left != nil {
			got = *left
		}
		if matched := int64(takenOf(&j)); matched != c.matched || got != c.left {
			t.Errorf("%s: %d matched, %d left, want %d and %d", name, matched, got, c.matched, c.left)
		}
	}
}
