package management

import (
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestOnlyDeadLettersAreCounted(t *testing.T) {
	// If this fails, messages that are worked on are counted as dead letters, in the overview, in groups,
	// by queues or in metrics; or dead letters are not because of the queue that they are in.
	t.Parallel()
	d := withDeadLetters(t, 5)
	d.queueWith("parking", "")
	d.publish("", "dead", "an ordinary message")
	check := func(when string, want int64, queues map[string]api.DeadLetterQueue) {
		t.Helper()
		s := read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary")
		if s.DeadLetters != want || len(s.Queues) != len(queues) {
			t.Errorf("%s: %+v", when, s)
		}
		for _, q := range s.Queues {
			w := queues[q.Name]
			if q.DeadLetters != w.DeadLetters || q.Messages != w.Messages || q.Role != w.Role ||
				(q.OldestSec != nil) != (w.DeadLetters > 0) {
				t.Errorf("%s, queue %s: %+v", when, q.Name, q)
			}
		}
		if g := read[api.Groups](d, "/api/x/letters/%2F/groups?by=queue"); g.Total+g.Without != want {
			t.Errorf("%s, groups: %+v", when, g)
		}
		metrics := map[string]float64{`bartleby_dead_letter_messages{vhost="/"}`: float64(want)}
		scrapePage(d, "/metrics").want(metrics)
		metrics = map[string]float64{}
		for name, q := range queues {
			metrics[`bartleby_dead_letter_messages{vhost="/",queue="`+name+`"}`] = float64(q.DeadLetters)
		}
		scrapePage(d, "/metrics/per-object").want(metrics)
	}
	check("at first", 5, map[string]api.DeadLetterQueue{"dead": {Role: "dead_letter", DeadLetters: 5, Messages: 6}})
	d.redrive(`{"source":{"queue":"dead"},"ids":["1","2"],"target":{"to":"queue"}}`)
	d.later(10 * time.Millisecond)
	check("when two are worked on", 3, map[string]api.DeadLetterQueue{"dead": {Role: "dead_letter",
		DeadLetters: 3, Messages: 4}})
	d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	check("when one has died again", 4, map[string]api.DeadLetterQueue{"dead": {Role: "dead_letter", DeadLetters: 4, Messages: 5}})
	if s := read[api.Deaths](d, "/api/x/queues/%2F"+"/work"+"/deaths"); s.Arrived != 0 {
		t.Errorf("%d dead letters arrived in the queue where they are worked on", s.Arrived)
	}
	d.redrive(`{"source":{"queue":"dead"},"ids":["3"],"target":{"to":"elsewhere","exchange":"","routing_key":"parking"}}`)
	d.later(10 * time.Millisecond)
	check("when one is moved elsewhere", 4, map[string]api.DeadLetterQueue{
		"dead": {Role: "dead_letter", DeadLetters: 3, Messages: 4}, "parking": {DeadLetters: 1, Messages: 1},
	})
	d.want(204, "DELETE", "/api/queues/%2F/work", "")
	check("when nothing is dead-lettered any more", 4, map[string]api.DeadLetterQueue{
		"dead": {DeadLetters: 3, Messages: 4}, "parking": {DeadLetters: 1, Messages: 1},
	})
}
