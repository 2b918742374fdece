package management

import (
	"net/url"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestScheduledAreSearched(t *testing.T) {
	// If this fails, what waits in delayed exchanges is not found by a search that asks for it, is listed and counted
	// among dead letters by others, or shown to who may not read it.
	t.Parallel()
	d := withDeadLetters(t, 3)
	for _, x := range []string{"later", "secret"} {
		d.want(201, "PUT", "/api/exchanges/%2F/"+x, `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"topic"}}`)
	}
	first := d.delay("later", "remind", "a", 5000, `,"message_id":"r1"`)
	d.delay("later", "remind", "b", 1000, `,"message_id":"r2"`)
	d.delay("secret", "remind", "c", 1000, `,"message_id":"s1"`)
	const search = "/api/x/letters/%2F"
	find := func(d *door, filter string) api.MessagePage {
		return read[api.MessagePage](d, search+"?limit=500&filter="+url.QueryEscape(filter))
	}
	ids := func(p api.MessagePage) string {
		var all []string
		for _, l := range p.Items {
			all = append(all, l.MessageID)
		}
		return strings.Join(all, " ")
	}
	for filter, want := range map[string]string{
		"state:scheduled": "r2 r1 s1", "state:scheduled message-id:r1": "r1", "message-id:r1": "", "-state:scheduled": "m2 m1 m0", "state:scheduled queue:later": "r2 r1",
		"state:scheduled key:remind -queue:later": "s1", "reason:rejected": "m2 m1 m0", "header.n:a state:scheduled": "r1", "": "m2 m1 m0",
	} {
		if p := find(d, filter); ids(p) != want || p.Partial || p.Next != nil {
			t.Errorf("%q: %s, want %s (partial %v)", filter, ids(p), want, p.Partial)
		}
	}
	if p := find(d, "state:scheduled message-id:r1"); len(p.Items) == 1 && (p.Items[0].ID != first ||
		p.Items[0].Place != "scheduled" || p.Items[0].Queue != "later" || p.Items[0].Due == nil) {
		t.Errorf("shown as %+v", p.Items[0])
	}
	if got := messageIDs(d, search+"?limit=1&filter=state:scheduled&order=oldest"); got != "r1 r2 s1" {
		t.Errorf("in portions: %s", got)
	}
	g := read[api.Groups](d, search+"/groups?by=queue&filter=state:scheduled")
	if g.Total != 3 || len(g.Groups) != 2 || g.Groups[0].Value != "later" || g.Groups[0].Count != 2 || g.Groups[0].Sample == nil || g.Groups[0].Sample.Place != "scheduled" || g.Partial {
		t.Errorf("groups: %+v", g)
	}
	for _, by := range []string{"state", "header:n", "reason"} {
		if g := read[api.Groups](d, search+"/groups?by="+by); g.Total+g.Without != 3 {
			t.Errorf("dead letters by %s: %+v", by, g)
		}
	}
	one := d.operator("one", "management", "", "", "^later$")
	if p := find(one, "state:scheduled"); ids(p) != "r2 r1" || p.Scanned != 2 {
		t.Errorf("who may read one of them sees %s, and that %d were looked at", ids(p), p.Scanned)
	}
	if g := read[api.Groups](one, search+"/groups?by=state&filter=state:*"); g.Total != 2 {
		t.Errorf("and counts %+v", g)
	}
}

func TestScheduledByFilter(t *testing.T) {
	// If this fails, a filter over a list of what waits is ignored, or nonsense in it is taken for a filter.
	t.Parallel()
	d := later(t)
	d.delay("later", "k.a", "a", 3000, `,"message_id":"m1"`)
	d.delay("later", "k.b", "bbbb", 2000, "")
	d.delay("later", "x", "c", 1000, "")
	found := func(filter string) string {
		page := read[api.WaitingPage](d, scheduled+"/later?payload=true&filter="+url.QueryEscape(filter))
		var got []string
		for _, m := range page.Items {
			got = append(got, *m.Payload)
		}
		return strings.Join(got, " ")
	}
	for filter, want := range map[string]string{
		"message-id:m1": "a", "header.n:bbbb|c": "c bbbb", "key:k.*": "bbbb a", "size:>1": "bbbb",
		"state:scheduled": "c bbbb a", "state:ready": "", "": "c bbbb a", "a|c": "c a",
	} {
		if got := found(filter); got != want {
			t.Errorf("%q: %s, want %s", filter, got, want)
		}
	}
	d.keyed("order-4711", "keyed", 500)
	for filter, want := range map[string]string{
		"schedule-key:order-4711": "keyed", "schedule-key:order-*": "keyed", "key:order-4711": "",
		"-schedule-key:*": "c bbbb a",
	} {
		if got := found(filter); got != want {
			t.Errorf("%q: %s, want %s", filter, got, want)
		}
	}
	d.refused(400, "bad_request", "at character 6", "GET", scheduled+"/later?filter="+url.QueryEscape("id:1 nonsense:x"), "")
}

func TestScheduledWhereTo(t *testing.T) {
	// If this fails, it is told wrongly to which queues a scheduled message will go, or that it will go to none; or
	// lists tell it of each.
	t.Parallel()
	d := later(t)
	d.want(201, "PUT", "/api/queues/%2F/a", `{"durable":true}`)
	d.want(201, "POST", "/api/bindings/%2F/e/later/q/a", `{"routing_key":"to.*"}`)
	one := scheduled + "/later/" + d.delay("later", "to.a", "x", 60_000, "")
	other := scheduled + "/later/" + d.delay("later", "k", "x", 60_000, "")
	where := func(at string) string {
		m := read[api.Waiting](d, at)
		if m.Queues == nil {
			t.Fatalf("%s: no queues in %+v", at, m)
		}
		return strings.Join(*m.Queues, " ") + m.Refused
	}
	if where(one) != "a q" || where(other) != "q" {
		t.Errorf("they would go to %s, and %s", where(one), where(other))
	}
	d.want(204, "DELETE", "/api/queues/%2F/q", "")
	if where(one) != "a" || where(other) != "no_route" {
		t.Errorf("without q to %s, and %s", where(one), where(other))
	}
	if page := d.want(200, "GET", scheduled+"/later", "").Body.String(); strings.Contains(page, "queues") {
		t.Errorf("in a list: %s", page)
	}
	d.want(204, "DELETE", "/api/exchanges/%2F/later", "")
	if where(one) != "no_exchange" {
		t.Errorf("without the exchange to %s", where(one))
	}
	d.advance(60_000)
	if n := read[api.Schedules](d, scheduled).Messages; n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func TestHeadersOfScheduledNeedTheRight(t *testing.T) {
	// If this fails, who may not see headers in a strict office spells them out by asking for messages that have them.
	t.Parallel()
	d := later(t)
	d.delay("later", "k", "a", 60_000, `,"message_id":"m1"`)
	d.operator("plain", "management", ".*", ".*", ".*")
	d.operator("tagged", "management,office-payload", ".*", ".*", ".*")
	strict := d.with(func(o *Options) { o.StrictOffice = true })
	const refusal = "Not office-payload user"
	byHeaders := `{"filter":{"headers":{"n":"zzz"}}}`
	plain := strict.as("plain:p")
	for _, list := range []string{scheduled + "/later", "/api/x/waiting/%2F/q"} {
		plain.refused(401, "not_authorised", refusal, "GET", list+"?header=n:a", "")
		plain.want(200, "GET", list+"?message_id=m1&routing_key=k", "")
		strict.as("tagged:p").want(200, "GET", list+"?header=n:a", "")
	}
	const waiting = "/api/x/waiting/%2F/q"
	for _, change := range []string{scheduled + "/later/cancel", scheduled + "/later/fire", waiting + "/retry", waiting + "/cancel"} {
		plain.refused(401, "not_authorised", refusal, "POST", change, byHeaders)
		strict.as("tagged:p").want(200, "POST", change, byHeaders)
	}
	plain.refused(401, "not_authorised", refusal, "POST", scheduled+"/later/reschedule", `{"filter":{"headers":{"n":"zzz"}},"in":1}`)
	plain.want(200, "POST", scheduled+"/later/cancel", `{"filter":{"message_id":"zzz"}}`)
}
