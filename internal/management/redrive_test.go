package management

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const redrives = "/api/x/redrives/%2F"

// redrive begins a job, and shows it as it was begun.
func (d *door) redrive(body string) api.Redrive {
	d.t.Helper()
	w := d.want(http.StatusAccepted, "POST", redrives, body)
	j := decoded[api.Redrive](d, w.Body.Bytes())
	if want := fmt.Sprintf("%s/%d", redrives, j.ID); w.Header().Get("Location") != want {
		d.t.Errorf("the job is at %s, want %s", w.Header().Get("Location"), want)
	}
	return j
}

// later lets time pass.
func (d *door) later(by time.Duration) {
	d.t.Helper()
	if err := d.engine.Advance(d.t.Context(), by); err != nil {
		d.t.Fatal(err)
	}
}

func (d *door) job(id int64) api.Redrive {
	d.t.Helper()
	return read[api.Redrive](d, fmt.Sprintf("%s/%d", redrives, id))
}

func (d *door) messages(queue string) int {
	d.t.Helper()
	return len(read[api.MessagePage](d, "/api/x/queues/%2F/"+queue+"/messages").Items)
}

func TestRedrive(t *testing.T) {
	// If this fails, messages cannot be sent back, or nobody sees how it goes.
	t.Parallel()
	d := withDeadLetters(t, 6)
	trial := decoded[api.RedriveTrial](d, d.want(200, "POST", redrives, `{"source":{"queue":"dead"},"filter":"header.tenant:acme","dry_run":true}`).Body.Bytes())
	if trial.Looked != 6 || trial.Matches != 3 || trial.Partial || trial.Queues["work"] != 3 || len(trial.Refused) != 0 || !trial.Fits ||
		len(trial.Sample) != 3 || trial.Sample[0].Queues[0] != "work" {
		t.Errorf("tried: %+v", trial)
	}
	if n := d.messages("dead"); n != 6 {
		t.Errorf("%d messages after a trial", n)
	}
	j := d.redrive(`{"source":{"queue":"dead"},"filter":"header.tenant:acme","options":{"watch_ms":1000}}`)
	if j.ID != 1 || j.User != "guest" || j.Action != "redrive" || j.Source.Queue != "dead" || j.Target.To != "queue" ||
		j.Filter != "header.tenant:acme" ||
		j.Total != 6 || j.Options.WatchMS != 1000 || j.Options.Order != "oldest" || j.Ended != nil {
		t.Errorf("begun: %+v", j)
	}
	d.later(10 * time.Millisecond)
	if j = d.job(1); j.State != "watching" || j.Moved != 3 || j.Looked != 6 ||
		j.Matched != 3 || j.Left == nil || *j.Left != 0 {
		t.Errorf("after a while: %+v", j)
	}
	if got := messageIDs(d, deadInWork+"?order=oldest"); got != "m0 m2 m4" {
		t.Errorf("back in the queue: %s", got)
	}
	if l := read[api.MessagePage](d, deadInWork).Items[0]; l.Redrives != 1 || *l.Redrive != 1 || l.Exchange != "orders" || l.RoutingKeys[0] != "new" {
		t.Errorf("sent back as %+v", l)
	}
	d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	d.later(2 * time.Second)
	if j = d.job(1); j.State != "done" || j.CameBack != 1 || j.Ended == nil {
		t.Errorf("at the end: %+v", j)
	}
	if all := read[[]api.Redrive](d, redrives); len(all) != 1 || all[0].ID != 1 {
		t.Errorf("listed %+v", all)
	}
	d.refused(409, "conflict", "redrive 1 is done", "POST", redrives+"/1/pause", "")
	d.want(204, "DELETE", redrives+"/1", "")
	d.refused(404, "Object Not Found", "job 1 does not exist in virtual host '/'", "GET", redrives+"/1", "")
	d.refused(404, "Object Not Found", "'x' is not the number of a job", "POST", redrives+"/x/pause", "")
	audit := d.want(200, "GET", "/api/x/audit", "").Body.String()
	if !strings.Contains(audit, `"detail":{"id":1,"action":"redrive","source":{"queue":"dead","lost":false},"ids":0,"filter":"header.tenant:acme"`) ||
		strings.Contains(audit, "dry_run") {
		t.Errorf("audit: %s", audit)
	}
}

// consume attaches a consumer to a queue.
func (d *door) consume(queue string) {
	d.t.Helper()
	who := engine.ConnInfo{Name: "a consumer", Principal: authz.Principal{User: "guest"}, VHost: "/"}
	session, err := d.engine.Attach(client{}, who)
	if err != nil {
		d.t.Fatal(err)
	}
	ch := session.NewChannel()
	definition := &vhost.Definition{Name: queue, ConsumerTag: "c1", Prefetch: 10}
	session.Submit(&engine.Batch{Commands: []vhost.Command{
		{Kind: vhost.OpenChannel, Conn: session.Conn(), Channel: ch, Number: 1},
		{Kind: vhost.Consume, Conn: session.Conn(), Channel: ch, Definition: definition},
	}})
}

func TestRedriveLandsWhereMessagesDied(t *testing.T) {
	// If this fails, queues get copies of messages that never died there, or nobody is told before; or a consumer that
	// goes by the routing key does not know what comes back.
	t.Parallel()
	d := withDeadLetters(t, 3)
	d.queueWith("analytics", "")
	d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/orders/q/analytics", `{"routing_key":"new"}`)
	try := func(more string) api.RedriveTrial {
		t.Helper()
		w := d.want(200, "POST", redrives, `{"source":{"queue":"dead"},"dry_run":true`+more+`}`)
		return decoded[api.RedriveTrial](d, w.Body.Bytes())
	}
	if x := try(""); x.Queues["work"] != 3 || len(x.Queues) != 1 || len(x.NeverDied) != 0 {
		t.Errorf("to where they died: %+v", x)
	}
	x := try(`,"target":{"to":"origin"}`)
	if !slices.Equal(x.NoConsumers, []string{"analytics", "work"}) {
		t.Errorf("without consumers: %q", x.NoConsumers)
	}
	if x.Queues["work"] != 3 || x.Queues["analytics"] != 3 || x.NeverDied["analytics"] != 3 || len(x.NeverDied) != 1 {
		t.Errorf("by their exchange: %+v", x)
	}
	d.consume("analytics")
	if x := try(`,"target":{"to":"origin"}`); !slices.Equal(x.NoConsumers, []string{"work"}) {
		t.Errorf("with a consumer at the other queue: %q", x.NoConsumers)
	}
	d.redrive(`{"source":{"queue":"dead"}}`)
	d.later(10 * time.Millisecond)
	if n := d.messages("analytics"); n != 0 {
		t.Errorf("%d copies where no message died", n)
	}
	got := d.take("work", `{"count":3,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	if len(got) != 3 || got[0].Exchange != "orders" || got[0].RoutingKey != "new" {
		t.Errorf("a consumer sees %+v", got)
	}
}

func TestRedriveIntoItsOwnQueue(t *testing.T) {
	// If this fails, a redrive moves messages to where they are, and they never leave.
	t.Parallel()
	d := withDeadLetters(t, 2)
	d.publish("amq.default", "dead", "never died")
	const own = `{"source":{"queue":"dead"},"target":{"to":"queue","queue":"dead"}`
	for body, reason := range map[string]string{
		own + `}`:                            "3 messages would go to queue 'dead', where they are now",
		own + `,"filter":"reason:rejected"}`: "2 messages would go",
		`{"source":{"queue":"dead"},"target":{"to":"elsewhere","exchange":"","routing_key":"dead"}}`: "this requires 'force'",
		`{"source":{"queue":"dead"},"target":{"to":"origin"}}`:                                       "1 messages would go",
	} {
		d.refused(409, "same_queue", reason, "POST", redrives, body)
	}
	trial := decoded[api.RedriveTrial](d, d.want(200, "POST", redrives, own+`,"dry_run":true}`).Body.Bytes())
	if trial.Refused["same_queue"] != 3 || len(trial.Queues) != 0 {
		t.Errorf("tried: %+v", trial)
	}
	trial = decoded[api.RedriveTrial](d, d.want(200, "POST", redrives, own+`,"dry_run":true,"force":true}`).Body.Bytes())
	if len(trial.Refused) != 0 || trial.Queues["dead"] != 3 {
		t.Errorf("tried by force: %+v", trial)
	}
	if j := d.redrive(own + `,"force":true}`); !j.Force {
		t.Errorf("begun by force: %+v", j)
	}
	d.later(10 * time.Millisecond)
	if j := d.job(1); j.Moved != 3 {
		t.Errorf("by force: %+v", j)
	}
	d = withDeadLetters(t, 200) // more than are looked at before a job begins
	d.publish("amq.default", "dead", "never died")
	d.redrive(`{"source":{"queue":"dead"},"target":{"to":"origin"}}`)
	d.later(10 * time.Millisecond)
	if j := d.job(1); j.Moved != 200 || j.Refused["same_queue"] != 1 {
		t.Errorf("what the job finds later: %+v", j)
	}
}

func TestRedrivePausedAndCancelled(t *testing.T) {
	// If this fails, a job cannot be stopped by hand, or its rate cannot be changed.
	t.Parallel()
	d := withDeadLetters(t, 9)
	d.redrive(`{"source":{"queue":"dead"},"target":{"to":"queue"},"options":{"rate":1,"order":"newest"}}`)
	d.later(1500 * time.Millisecond)
	j := decoded[api.Redrive](d, d.want(200, "POST", redrives+"/1/pause", "").Body.Bytes())
	if j.State != "paused" || j.Why != "guest" || j.Moved != 2 || j.Options.Rate != 1 || j.Target.To != "queue" ||
		j.Matched != 2 || j.Left == nil || *j.Left != 7 {
		t.Errorf("paused %+v", j)
	}
	d.later(time.Minute)
	if got := messageIDs(d, deadInWork+"?order=oldest"); got != "m8 m7" {
		t.Errorf("sent back: %s", got)
	}
	j = decoded[api.Redrive](d, d.want(200, "PATCH", redrives+"/1", `{"rate":1000}`).Body.Bytes())
	if j.Options.Rate != 1000 || j.State != "paused" {
		t.Errorf("faster: %+v", j)
	}
	d.refused(409, "conflict", "redrive 1 is paused", "DELETE", redrives+"/1", "")
	d.want(200, "POST", redrives+"/1/resume", "")
	d.want(200, "POST", redrives+"/1/cancel", "")
	if j := d.job(1); j.State != "cancelled" || j.Why != "guest" || j.Ended == nil {
		t.Errorf("cancelled %+v", j)
	}
	d.refused(409, "conflict", "redrive 1 is cancelled", "POST", redrives+"/1/resume", "")
	d.refused(400, "bad_request", "{key_missing,rate}", "PATCH", redrives+"/1", `{}`)
	d.refused(400, "bad_request", "negative", "PATCH", redrives+"/1", `{"rate":-1}`)
	for _, wrong := range []string{"/2", "/x"} {
		d.want(404, "GET", redrives+wrong, "")
		d.want(404, "POST", redrives+wrong+"/pause", "")
		d.want(404, "DELETE", redrives+wrong, "")
	}
}

func TestRedriveRefused(t *testing.T) {
	// If this fails, an order that nobody can mean is carried out.
	t.Parallel()
	d := withDeadLetters(t, 1)
	for body, reason := range map[string]string{
		`{}`: "either 'queue' or 'lost'", `{"source":{"queue":"dead","lost":true}}`: "either", `{"source":{"queue":"dead"},"ids":[]}`: "must not be empty",
		`{"source":{"queue":"dead"},"ids":["x"]}`: "'x' is not a message id", `{"source":{"queue":"dead"},"ids":["0"]}`: "'0' is not",
		`{"source":{"queue":"dead"},"ids":["1"],"filter":"a"}`: "not both", `{"source":{"queue":"dead"},"filter":"nope:1"}`: "nope",
		`{"source":{"queue":"dead"},"action":"burn"}`: "redrive or discard", `{"source":{"queue":"dead"},"target":{"to":"moon"}}`: "queue, origin, elsewhere or on",
		`{"source":{"queue":"dead"},"target":{"to":"on"}}`: "for lost letters only", `{"source":{"queue":"dead"},"target":{"to":"elsewhere"}}`: "{key_missing,exchange}",
		`{"source":{"queue":"dead"},"target":{"exchange":"x"}}`: "does not match its parameters", `{"source":{"queue":"dead"},"options":{"rate":-1}}`: "rate must not be negative",
		`{"source":{"queue":"dead"},"options":{"order":"best"}}`: "oldest or newest", `{"source":{"queue":"dead"},"options":{"stop_percent":101}}`: "101 is not a percentage",
		`{"source":{"queue":"dead"},"options":{"ramp":true}}`: "canary", `{"source":{"queue":"dead"},"fliter":"a"}`: "fliter",
		`{"source":{"queue":"dead"},"options":{"rate":9000000}}`: "the limit of 1000000",
	} {
		d.refused(400, "bad_request", reason, "POST", redrives, body)
	}
	const mistaken = `{"source":{"queue":"dead"},"filter":"reason != expired"}`
	d.refused(400, "bad_request", "write -reason:expired;", "POST", redrives, mistaken)
	d.want(200, "POST", redrives, `{"source":{"queue":"dead"},"ids":[1,"2"],"dry_run":true}`)
	for _, path := range []string{"/api/x/lost-letters/%2F", "/api/x/held/%2F/dead"} {
		d.refused(400, "bad_request", "unknown parameter 'filter'", "GET", path+"?filter=header.t:a", "")
		d.want(200, "GET", path+"?limit=5&after=1", "")
	}
	d.refused(404, "not_found", "exchange_not_found", "POST", redrives, `{"source":{"queue":"dead"},"target":{"to":"elsewhere","exchange":"none"}}`)
	d.refused(404, "not_found", "queue_not_found", "POST", redrives, `{"source":{"queue":"dead"},"target":{"to":"queue","queue":"none"}}`)
	d.refused(400, "bad_request", "no queue 'none'", "POST", redrives, `{"source":{"queue":"none"}}`)
	d.refused(400, "bad_request", "no queue 'none'", "POST", redrives, `{"source":{"queue":"none"},"dry_run":true}`)
	d.want(404, "POST", "/api/x/redrives/none", `{"source":{"queue":"dead"}}`)
	if all := read[[]api.Redrive](d, redrives); len(all) != 0 {
		t.Errorf("jobs %+v", all)
	}
}

func TestNullNeverStandsForAGuard(t *testing.T) {
	// If this fails, a null where true or false belongs runs what was to be tried.
	t.Parallel()
	d := withDeadLetters(t, 2)
	resend := "/api/x/queues/%2F/dead/messages/1/resend"
	for _, c := range [][3]string{
		{"POST", redrives, `{"source":{"queue":"dead"},"dry_run":null}`},
		{"POST", redrives, `{"source":{"queue":"dead"},"force":null}`},
		{"POST", redrives, `{"source":{"queue":"dead"},"options":{"stop_no_consumer":null}}`},
		{"POST", resend, `{"dry_run":null}`}, {"POST", resend, `{"keep":null}`},
		{"POST", "/api/x/lost-letters/%2F/republish", `{"all":null}`},
		{"POST", "/api/x/waiting/%2F/dead/retry", `{"all":null}`},
		{"PUT", "/api/x/queues/%2F/new", `{"durable":null}`},
	} {
		d.refused(400, "bad_request", "must be true or false, not null", c[0], c[1], c[2])
	}
	d.refused(400, "bad_request", "'ids' must not be null", "POST", redrives, `{"source":{"queue":"dead"},"ids":null}`)
	d.refused(400, "bad_request", "{key_missing,suspended}", "PUT", "/api/x/listeners", `{"suspended":null}`)
	d.refused(400, "bad_request", "unknown field", "PUT", "/api/x/log-level", `{"level":"info","Category":"queue"}`)
	d.want(201, "PUT", "/api/queues/%2F/old", `{"durable":null}`) // as RabbitMQ does
	if all := read[[]api.Redrive](d, redrives); len(all) != 0 || d.messages("dead") != 2 {
		t.Errorf("jobs %+v, %d messages left", all, d.messages("dead"))
	}
}

func TestWhoMayRedrive(t *testing.T) {
	// If this fails, somebody sends or discards messages with a job who could not do it as a client.
	t.Parallel()
	d := withDeadLetters(t, 2)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"work","payload":"direct","payload_encoding":"string","properties":{}}`)
	d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	const back, dry = `{"source":{"queue":"dead"}}`, `{"source":{"queue":"dead"},"dry_run":true}`
	reader := d.operator("reader", "management", "", "", "^dead$")
	none := decoded[api.Redrive](d, reader.want(202, "POST", redrives, back).Body.Bytes())
	d.later(10 * time.Millisecond)
	if none = d.job(none.ID); none.Moved != 0 || none.Refused["access"] != 3 || none.State != "done" {
		t.Errorf("by one who may not publish: %+v", none)
	}
	d.operator("writer", "management", "", ".*", "^work$").
		refused(401, "not_authorised", "Access refused: ", "POST", redrives, back)
	some := d.operator("some", "management", "", "^orders$", "^dead$")
	trial := decoded[api.RedriveTrial](d, some.want(200, "POST", redrives, dry).Body.Bytes())
	if trial.Queues["work"] != 2 || trial.Refused["access"] != 1 {
		t.Errorf("of some messages: %+v", trial)
	}
	const named = `{"source":{"queue":"dead"},"target":{"to":"queue","queue":"work"}}`
	some.refused(401, "not_authorised", "Access refused: ", "POST", redrives, named)
	some.refused(401, "not_authorised", "Access refused: ", "POST", redrives,
		`{"source":{"queue":"dead"},"action":"discard"}`)
	some.refused(401, "not_authorised", "Not policymaker user", "POST", redrives, `{"source":{"lost":true}}`)
	some.refused(401, "not_authorised", "Access refused: ", "POST", redrives,
		`{"source":{"queue":"dead"},"target":{"to":"elsewhere","exchange":"amq.fanout"}}`)
	d.redrive(`{"source":{"queue":"dead"},"options":{"rate":1}}`)
	d.later(time.Millisecond)
	some.refused(401, "not_authorised", "belongs to user 'guest'", "POST", redrives+"/2/pause", "")
	d.want(200, "POST", redrives+"/2/cancel", "")
	j := decoded[api.Redrive](d, some.want(202, "POST", redrives, back).Body.Bytes())
	d.later(10 * time.Millisecond)
	if j = d.job(j.ID); j.Moved+1 != 2 || j.User != "some" {
		t.Errorf("by some: %+v", j)
	}
	if all := read[[]api.Redrive](d.as("writer:p"), redrives); len(all) != 0 {
		t.Errorf("seen by one who may not read the queue: %+v", all)
	}
	d.as("writer:p").refused(401, "not_authorised", "Access refused: ", "GET", redrives+"/2", "")

	strict := d.with(func(o *Options) { o.StrictOffice = true })
	strict.as("some:p").refused(401, "not_authorised", "Not office-redrive user", "POST", redrives, back)
	strict.operator("tagged", "management,office-redrive", ".*", ".*", ".*").want(202, "POST", redrives, back)
	strict.as("tagged:p").refused(401, "not_authorised", "Not office-discard user", "POST", redrives, `{"source":{"queue":"dead"},"action":"discard"}`)
}

func TestJobStopsWithItsUsersRights(t *testing.T) {
	// If this fails, a job goes on for a user who may not have it any more, or cannot go on when the right is back.
	t.Parallel()
	d := withDeadLetters(t, 5)
	maker := d.operator("maker", "management", "", ".*", "^dead$")
	slow := decoded[api.Redrive](d, maker.want(202, "POST", redrives, `{"source":{"queue":"dead"},"options":{"rate":10}}`).Body.Bytes())
	d.later(time.Millisecond)
	d.want(204, "PUT", "/api/permissions/%2F/maker", `{"configure":"","write":".*","read":"^other$"}`)
	d.later(150 * time.Millisecond)
	j := d.job(slow.ID)
	if j.State != "stopped" || j.Why != "access" || j.Moved == 0 || j.Moved == 5 {
		t.Errorf("without the right to read: %+v", j)
	}
	path := fmt.Sprint(redrives, "/", j.ID, "/resume")
	maker.refused(401, "not_authorised", "Access refused: ", "POST", path, "")
	d.want(204, "PUT", "/api/permissions/%2F/maker", `{"configure":"","write":".*","read":"^dead$"}`)
	maker.want(200, "POST", path, "")
	for range 20 {
		d.later(100 * time.Millisecond)
	}
	if j = d.job(j.ID); j.Moved != 5 {
		t.Errorf("with the right again: %+v", j)
	}
	gone := d.operator("gone", "management", "", ".*", ".*")
	const stays = `{"source":{"queue":"work"},"force":true,"options":{"rate":1}}`
	last := decoded[api.Redrive](d, gone.want(202, "POST", redrives, stays).Body.Bytes())
	d.later(time.Millisecond)
	d.want(204, "DELETE", "/api/users/gone", "")
	d.later(2 * time.Second)
	if j = d.job(last.ID); j.State != "stopped" || j.Why != "access" {
		t.Errorf("of a user that is gone: %+v", j)
	}
}

func TestJobsBelongToTheirMakers(t *testing.T) {
	// If this fails, somebody stops, speeds up or forgets what another began; or nobody can stop what goes wrong.
	t.Parallel()
	d := withDeadLetters(t, 40)
	tags := map[string]string{"reader": "management", "maker": "management", "policy": "policymaker", "watch": "monitoring", "admin": "administrator"}
	for name, tag := range tags {
		rights := ".*"
		if name == "reader" {
			rights = ""
		}
		d.operator(name, tag, rights, rights, ".*")
	}
	const slow = `{"source":{"queue":"dead"},"options":{"rate":1}}`
	verbs := map[string]func(by string, id int64) int{
		"pause": func(by string, id int64) int {
			return d.changes(by, "POST", fmt.Sprint(redrives, "/", id, "/pause"), "")
		},
		"resume": func(by string, id int64) int {
			return d.changes(by, "POST", fmt.Sprint(redrives, "/", id, "/resume"), "")
		},
		"rate": func(by string, id int64) int {
			return d.changes(by, "PATCH", fmt.Sprint(redrives, "/", id), `{"rate":2}`)
		},
		"cancel": func(by string, id int64) int {
			return d.changes(by, "POST", fmt.Sprint(redrives, "/", id, "/cancel"), "")
		},
		"forget": func(by string, id int64) int { return d.changes(by, "DELETE", fmt.Sprint(redrives, "/", id), "") },
	}
	for _, maker := range []string{"maker", "admin", "guest"} {
		j := decoded[api.Redrive](d, d.by(maker).want(202, "POST", redrives, slow).Body.Bytes())
		for _, verb := range []string{"rate", "pause", "resume", "cancel", "forget"} {
			for stranger := range tags {
				if stranger == maker || stranger == "admin" {
					continue
				}
				if code := verbs[verb](stranger, j.ID); code != 401 {
					t.Errorf("%s may %s a job of %s: %d", stranger, verb, maker, code)
				}
			}
			owner := maker
			if verb == "pause" || verb == "forget" {
				owner = "admin" // as good as the maker
			}
			if code := verbs[verb](owner, j.ID); code/100 != 2 {
				t.Errorf("%s may not %s the job of %s: %d", owner, verb, maker, code)
			}
		}
	}
	j := decoded[api.Redrive](d, d.by("maker").want(202, "POST", redrives, slow).Body.Bytes())
	d.want(204, "PUT", "/api/permissions/%2F/maker", `{"configure":"","write":"","read":""}`)
	if code := verbs["rate"]("maker", j.ID); code != 401 {
		t.Errorf("whoever may not read any more lets a job go on faster: %d", code)
	}
	if code := verbs["cancel"]("maker", j.ID); code != 200 {
		t.Errorf("whoever may not read any more cannot stop what it began: %d", code)
	}
}

// by is the same door for a user whose password is p, or guest.
func (d *door) by(user string) *door {
	if user == "guest" {
		return d
	}
	return d.as(user + ":p")
}

// changes is the status of a request of a user.
func (d *door) changes(user, method, path, body string) int {
	return d.by(user).send(method, path, body).Code
}

func TestJobsOfLostLettersAreSeenByThoseWhoMayMoveThem(t *testing.T) {
	// If this fails, a job tells everybody which lost letters there are, and how they are looked for.
	t.Parallel()
	d := withLostLetters(t)
	d.redrive(`{"source":{"lost":true},"action":"discard","options":{"rate":1}}`)
	for user, sees := range map[string]int{"some": 0, "all": 1, "mover": 1} {
		tag, queues := "management", ".*"
		if user == "mover" {
			tag = "policymaker"
		}
		if user != "all" {
			queues = "^q$"
		}
		if jobs := read[[]api.Redrive](d.operator(user, tag, "", "", queues), redrives); len(jobs) != sees {
			t.Errorf("%s sees %d jobs, not %d", user, len(jobs), sees)
		}
	}
}

func TestWhoMayHandleLostLetters(t *testing.T) {
	// If this fails, lost letters of queues that somebody may not read are shown to it, exported, or moved by its job.
	t.Parallel()
	d := withLostLetters(t) // of queue q three, of queue r one
	d.queueWith("plain", "")
	d.publish("amq.default", "plain", "never died")
	d.redrive(`{"source":{"queue":"plain"},"action":"discard"}`)
	d.later(10 * time.Millisecond)
	p := d.operator("p", "policymaker", "", "", "^r$")
	const lost = "/api/x/lost-letters/%2F"
	if page := read[api.MessagePage](p, lost+"/messages"); len(page.Items) != 1 || page.Items[0].Last.Queue != "r" {
		t.Errorf("seen: %+v", page)
	}
	if page := read[api.LostLetters](p, lost); len(page.Items) != 1 {
		t.Errorf("seen in the old form: %+v", page)
	}
	if file := p.want(200, "GET", "/api/x/letters/%2F/export?lost=true", "").Body.String(); strings.Count(file, "\n") != 1 {
		t.Errorf("exported: %s", file)
	}
	if plain := d.operator("c", "policymaker", "", "", "^plain$"); len(read[api.MessagePage](plain,
		lost+"/messages").Items) != 1 {
		t.Error("what was discarded from a queue is not seen by who may read that")
	}
	j := decoded[api.Redrive](d, p.want(202, "POST", redrives, `{"source":{"lost":true},"action":"discard"}`).Body.Bytes())
	d.later(10 * time.Millisecond)
	if j = d.job(j.ID); j.Moved != 1 {
		t.Errorf("discarded: %+v", j)
	}
	if page := read[api.MessagePage](d, lost+"/messages"); len(page.Items) != 4 {
		t.Errorf("left: %+v", page)
	}
	j = decoded[api.Redrive](d, p.want(202, "POST", redrives, `{"source":{"lost":true},"ids":["1"]}`).Body.Bytes())
	d.later(10 * time.Millisecond)
	if j = d.job(j.ID); j.Moved != 0 || j.Refused["access"] != 1 {
		t.Errorf("named, and not seen: %+v", j)
	}
	p.refused(401, "not_authorised", "Access refused: ", "GET", lost+"/messages/1", "")
}

func TestRedriveMetrics(t *testing.T) {
	// If this fails, a dashboard does not show that messages come back as fast as they are sent.
	t.Parallel()
	d := withDeadLetters(t, 3)
	d.redrive(`{"source":{"queue":"dead"},"max":2,"options":{"rate":1000}}`)
	d.later(10 * time.Millisecond)
	d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	p := scrapePage(d, "/metrics")
	for name, want := range map[string]string{
		`bartleby_redrive_jobs{vhost="/",state="watching"}`: "1", `bartleby_redrive_jobs{vhost="/",state="done"}`: "0",
		`bartleby_redrive_messages_total{vhost="/",result="moved"}`: "2", `bartleby_redrive_messages_total{vhost="/",result="came_back"}`: "1",
		`bartleby_redrive_rate_limit{vhost="/"}`: "1000", `bartleby_redrive_seconds_count{vhost="/"}`: "0",
	} {
		if got := fmt.Sprint(p.values[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	d.redrive(`{"source":{"queue":"dead"},"target":{"to":"elsewhere","exchange":"orders","routing_key":"nowhere"},"max":2}`)
	d.redrive(`{"source":{"queue":"dead"},"action":"discard","max":1}`)
	d.later(20 * time.Second)
	p = scrapePage(d, "/metrics")
	for name, want := range map[string]string{
		`bartleby_redrive_rate_limit{vhost="/"}`: "0", `bartleby_redrive_seconds_count{vhost="/"}`: "3", `bartleby_redrive_jobs{vhost="/",state="done"}`: "3",
		`bartleby_redrive_seconds_bucket{vhost="/",le="10.0"}`: "2", `bartleby_redrive_seconds_bucket{vhost="/",le="60.0"}`: "3",
	} {
		if got := fmt.Sprint(p.values[name]); got != want {
			t.Errorf("at the end: %s is %s, want %s", name, got, want)
		}
	}
	for _, path := range []string{"/metrics/per-object", "/metrics/detailed?family=redrive_metrics"} {
		p = scrapePage(d, path)
		for name, want := range map[string]float64{
			`bartleby_redrive_messages_total{vhost="/",queue="dead",result="moved"}`:     2,
			`bartleby_redrive_messages_total{vhost="/",queue="dead",result="discarded"}`: 1,
			`bartleby_redrive_messages_total{vhost="/",queue="dead",result="came_back"}`: 1,
			`bartleby_redrive_messages_total{vhost="/",queue="dead",result="refused"}`:   2,
		} {
			if got, there := p.values[name]; !there || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, want %v", path, name, got, want)
			}
		}
	}
	if got := fmt.Sprint(scrapePage(d, "/metrics/per-object").values[`bartleby_dlq_departures_total{vhost="/",queue="dead",how="redriven"}`]); got != "2" {
		t.Errorf("left by a redrive: %s", got)
	}
	p = scrapePage(withDeadLetters(t, 1), "/metrics/detailed?family=redrive_metrics")
	if _, there := p.values[`bartleby_redrive_messages_total{vhost="/",queue="dead",result="moved"}`]; !there {
		t.Error("a queue of dead letters is shown only when the first was sent back: the rate of these is unknown")
	}
}

func TestDryRunsNameQueuesWhereMessagesExpireAgain(t *testing.T) {
	// If this fails, messages that expired because nothing consumes them are redriven to die again, and nobody is told.
	t.Parallel()
	d := open(t)
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.queueWith("dead", "")
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"routing_key":"work","payload":"x","payload_encoding":"string","properties":{"expiration":"60000"}}`)
	d.later(time.Minute)
	id := read[api.MessagePage](d, deadLetters).Items[0].ID
	try := func(more string) string {
		t.Helper()
		w := d.want(200, "POST", redrives, `{"source":{"queue":"dead"},"dry_run":true`+more+`}`)
		return strings.Join(decoded[api.RedriveTrial](d, w.Body.Bytes()).Expiring, " ")
	}
	mend := func(more string) string {
		t.Helper()
		w := d.want(200, "POST", deadLetters+"/"+id+"/resend", `{"dry_run":true`+more+`}`)
		return strings.Join(decoded[api.Resent](d, w.Body.Bytes()).Expiring, " ")
	}
	d.queueWith("other", "")
	for more, want := range map[string]string{
		"": "work", `,"target":{"to":"origin"}`: "work", `,"options":{"drop_expiration":true}`: "",
		`,"target":{"to":"queue","queue":"other"}`: "", `,"action":"discard"`: "",
	} {
		if got := try(more); got != want {
			t.Errorf("redrive with %s: they expire in %q, not in %q", more, got, want)
		}
	}
	for more, want := range map[string]string{
		"": "work", `,"properties":{"message_id":"m"}`: "work", `,"properties":{"expiration":null}`: "",
		`,"exchange":"","routing_key":"other"`: "", `,"properties":{"expiration":"5"},"exchange":"","routing_key":"other"`: "other",
	} {
		if got := mend(more); got != want {
			t.Errorf("resend with %s: it expires in %q, not in %q", more, got, want)
		}
	}
	d.consume("work")
	if got := try("") + mend(""); got != "" {
		t.Errorf("with a consumer they expire in %s", got)
	}
}
