package management

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestDiscardAndBringBack(t *testing.T) {
	// If this fails, messages that were discarded by mistake are gone, or one does not learn that they would
	// be.
	t.Parallel()
	d := withDeadLetters(t, 4)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"dead","payload":"not dead","payload_encoding":"string","properties":{"message_id":"plain"}}`)
	const all = `{"source":{"queue":"dead"},"action":"discard"`
	if trial := decoded[api.RedriveTrial](d, d.want(200, "POST", redrives, all+`,"dry_run":true}`).Body.Bytes()); !trial.Fits || trial.Matches != 5 {
		t.Errorf("tried %+v", trial)
	}
	d.want(204, "PUT", "/api/x/options/%2F", `{"lost-letters-max-bytes":100}`)
	if trial := decoded[api.RedriveTrial](d, d.want(200, "POST", redrives, all+`,"dry_run":true}`).Body.Bytes()); trial.Fits {
		t.Errorf("they fit where there is no room: %+v", trial)
	}
	d.want(204, "PUT", "/api/x/options/%2F", `{"lost-letters-max-bytes":null}`)
	d.redrive(all + `}`)
	d.later(10 * time.Millisecond)
	if j := d.job(1); j.State != "done" || j.Moved != 5 || j.Action != "discard" {
		t.Errorf("discarded %+v", j)
	}
	lost := read[api.MessagePage](d, "/api/x/lost-letters/%2F/messages")
	if len(lost.Items) != 5 || *lost.Items[0].Cause != "discarded" || *lost.Items[0].Target != "dead" || lost.Items[4].MessageID != "plain" {
		t.Errorf("in the lost store %+v", lost)
	}
	const some = `{"source":{"lost":true},"ids":[%q,%q,"99"],"target":{"to":"on"}}`
	d.redrive(fmt.Sprintf(some, lost.Items[0].ID, lost.Items[4].ID))
	d.later(10 * time.Millisecond)
	if j := d.job(2); j.Moved != 2 || j.Refused["unknown"] != 1 || j.Target.To != "on" || j.IDs != 3 {
		t.Errorf("brought back %+v", j)
	}
	if got := messageIDs(d, deadLetters+"?order=oldest"); got != "m0 plain" {
		t.Errorf("brought back: %s", got)
	}
	trial := decoded[api.RedriveTrial](d, d.want(200, "POST", redrives, `{"source":{"lost":true},"dry_run":true}`).Body.Bytes())
	if trial.Matches != 3 || len(trial.Queues) != 1 || trial.Queues["dead"] != 3 {
		t.Errorf("without a target they would go to %+v", trial)
	}
	if !slices.Equal(trial.NoConsumers, []string{"dead"}) || !slices.Equal(trial.DeadLetterQueues, trial.NoConsumers) {
		t.Errorf("of the queues without consumers %q these need none: %q", trial.NoConsumers, trial.DeadLetterQueues)
	}
	home := d.want(200, "POST", redrives, `{"source":{"queue":"dead"},"dry_run":true}`)
	work := decoded[api.RedriveTrial](d, home.Body.Bytes())
	if !slices.Equal(work.NoConsumers, []string{"work"}) || len(work.DeadLetterQueues) != 0 {
		t.Errorf("of the queues without consumers %q these need none: %q", work.NoConsumers, work.DeadLetterQueues)
	}
	d.redrive(`{"source":{"lost":true}}`)
	d.later(10 * time.Millisecond)
	if got := messageIDs(d, deadLetters+"?order=oldest"); d.job(3).Moved != 3 || got != "m0 plain m1 m2 m3" {
		t.Errorf("brought back without a target: %s, %+v", got, d.job(3))
	}
}

func TestDiscardKeepsTheTimeOfDeath(t *testing.T) {
	// If this fails, whoever looks for what died at the time of an incident does not find it after a discard, or finds
	// what died long before.
	t.Parallel()
	d := withDeadLetters(t, 3)
	failed := d.engine.Now().Add(-time.Hour).Truncate(time.Second)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", fmt.Sprintf(`{"routing_key":"dead","payload":"",`+
		`"payload_encoding":"string","properties":{"timestamp":%d,"headers":{"x-exception-message":"no"}}}`, failed.Unix()))
	died := map[string]string{}
	for _, l := range read[api.MessagePage](d, deadLetters).Items {
		died[l.MessageID] = *l.At
	}
	d.later(2 * time.Hour)
	before := read[api.Groups](d, "/api/x/letters/%2F/groups")
	d.redrive(`{"source":{"queue":"dead"},"action":"discard"}`)
	d.later(10 * time.Millisecond)
	lost := read[api.MessagePage](d, "/api/x/lost-letters/%2F/messages?filter=age:%3E90m").Items
	if len(lost) != 4 {
		t.Fatalf("older than 90 minutes: %+v", lost)
	}
	since := d.engine.Now().Add(-time.Second)
	for _, l := range lost {
		at, err := time.Parse(time.RFC3339, *l.LostAt)
		if err != nil || at.Before(since) || *l.At != died[l.MessageID] {
			t.Errorf("%q died at %s, not %s, and is lost since %s", l.MessageID, *l.At, died[l.MessageID], *l.LostAt)
		}
	}
	groups := read[api.Groups](d, "/api/x/letters/%2F/groups")
	if len(groups.Groups) != 2 || len(before.Groups) != 2 {
		t.Fatalf("groups before %+v, after %+v", before, groups)
	}
	for i, was := range before.Groups {
		g := groups.Groups[i]
		same := g.Value == was.Value && g.Count == was.Count && g.First == was.First && g.Last == was.Last
		if was.Lost != 0 || g.Lost != g.Count || !same {
			t.Errorf("before %+v, after %+v", was, g)
		}
	}
	if g := read[api.Groups](d, "/api/x/letters/%2F/groups?filter=-state:lost"); len(g.Groups) != 0 {
		t.Errorf("in queues %+v", g)
	}
	for _, l := range read[api.LostLetters](d, "/api/x/lost-letters/%2F").Items {
		died := l.DiedAt == nil || *l.DiedAt == died["m0"] || *l.DiedAt == died["m1"] || *l.DiedAt == died["m2"]
		if l.At != l.LostAt || !died {
			t.Errorf("listed %+v", l)
		}
	}
}

func TestUndoFindsWhatOneDiscardTook(t *testing.T) {
	// If this fails, whoever undoes one discard by the link of its job also redrives what others have discarded.
	t.Parallel()
	d := withDeadLetters(t, 4)
	d.queueWith("other.dead", "")
	d.publish("amq.default", "other.dead", "of another queue")
	undo := func(j api.Redrive, by string) (found []string) {
		t.Helper()
		filter := fmt.Sprintf("cause:discarded target:%s lost-at:%s..%s", j.Source.Queue, j.Begun, *j.Ended)
		for _, l := range read[api.MessagePage](d, by+url.QueryEscape(filter)).Items {
			found = append(found, l.MessageID)
		}
		slices.Sort(found)
		return found
	}
	var jobs []api.Redrive
	for i, body := range []string{
		`{"source":{"queue":"dead"},"filter":"message-id:m0|m1","action":"discard"}`,
		`{"source":{"queue":"other.dead"},"action":"discard"}`,
		`{"source":{"queue":"dead"},"action":"discard"}`,
	} {
		d.redrive(body)
		d.later(time.Second)
		jobs = append(jobs, d.job(int64(i+1)))
	}
	const browse, search = "/api/x/lost-letters/%2F/messages?filter=", "/api/x/letters/%2F?filter="
	check := func(by string) {
		t.Helper()
		if got := undo(jobs[0], by); !slices.Equal(got, []string{"m0", "m1"}) {
			t.Errorf("of the first job by %s: %q", by, got)
		}
		if got := undo(jobs[1], by); len(got) != 1 {
			t.Errorf("of the job of another queue by %s: %q", by, got)
		}
		if got := undo(jobs[2], by); !slices.Equal(got, []string{"m2", "m3"}) {
			t.Errorf("of the last job by %s: %q", by, got)
		}
	}
	check(browse)
	check(search)
	d.index(5)
	check(search)
}
