package management

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// roles are what the lists of dead-letter queues and the topology graph say of the queues of the virtual host /: names
// with a role, in order.
func (d *door) roles() (listed, drawn string) {
	d.t.Helper()
	var dlqs, roles []string
	for _, q := range read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary").Queues {
		dlqs = append(dlqs, q.Name)
	}
	for _, n := range read[api.Topology](d, "/api/x/topology/%2F").Nodes {
		if n.Queue == nil {
			continue
		}
		if n.Queue.DeadLetterQueue != (n.Queue.Role == "dead_letter") {
			d.t.Errorf("%s: %+v", n.Name, n.Queue)
		}
		if at := read[api.Paths](d, "/api/x/paths/%2F/"+n.Name); at.Role != n.Queue.Role {
			d.t.Errorf("%s: paths say %q, the topology %q", n.Name, at.Role, n.Queue.Role)
		}
		if n.Queue.Role != "" {
			roles = append(roles, n.Name+":"+n.Queue.Role)
		}
	}
	slices.Sort(dlqs)
	slices.Sort(roles)
	return strings.Join(dlqs, " "), strings.Join(roles, " ")
}

func TestRolesOfQueues(t *testing.T) {
	// If this fails, a work queue or a retry queue is listed as a dead-letter queue, or a dead-letter queue is not; or
	// the lists and the topology do not agree.
	t.Parallel()
	to := func(queue string) string {
		return `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"` + queue + `"`
	}
	ttl := `,"x-message-ttl":60000`
	for _, c := range []struct {
		name   string
		queues map[string]string // arguments by name
		roles  string
	}{
		{"a dead-letter queue", map[string]string{"work": to("dead"), "dead": ""}, "dead:dead_letter"},
		{"a retry queue", map[string]string{"work": to("retry"), "retry": to("work") + ttl}, "retry:retry"},
		{"steps of a retry", map[string]string{
			"work": to("first"), "first": to("second") + ttl, "second": to("work") + ttl,
		}, "first:retry second:retry"},
		{"two work queues with one retry queue, through exchanges", map[string]string{
			"a": `"x-dead-letter-exchange":"retry"`, "b": `"x-dead-letter-exchange":"retry"`,
			"retry.wait": `"x-dead-letter-exchange":"again"` + ttl,
		}, "retry.wait:retry"},
		{"a retry queue that rejects into a dead-letter queue", map[string]string{
			"work": to("retry"), "retry": to("work") + ttl, "other": to("dead"), "dead": "",
		}, "dead:dead_letter retry:retry"},
		{"an archive behind a dead-letter queue that expires", map[string]string{
			"work": to("dead"), "dead": to("archive") + ttl, "archive": "",
		}, "archive:dead_letter dead:dead_letter"},
		{"a dead-letter queue from which consumers return messages by a rejection", map[string]string{
			"work": to("dead"), "dead": to("work"),
		}, "dead:dead_letter work:dead_letter"},
		{"a policy that covers the dead-letter queue", map[string]string{"work": to("dead"), "dead": to("dead")}, "dead:dead_letter"},
		{"a queue of its own dead letters", map[string]string{"work": to("work") + ttl}, ""},
		{"a delay", map[string]string{"delay": to("work") + ttl, "work": ""}, "work:dead_letter"},
		{"nothing", map[string]string{"work": `"x-dead-letter-exchange":"missing"`, "other": ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			for _, x := range []string{"retry", "again"} {
				d.want(201, "PUT", "/api/exchanges/%2F/"+x, `{"type":"fanout"}`)
			}
			for _, name := range slices.Sorted(maps.Keys(c.queues)) {
				d.queueWith(name, c.queues[name])
			}
			if c.queues["retry.wait"] != "" {
				for queue, x := range map[string]string{"a": "again", "b": "again", "retry.wait": "retry"} {
					d.want(201, "POST", fmt.Sprintf("/api/bindings/%%2F/e/%s/q/%s", x, queue), `{}`)
				}
			}
			listed, drawn := d.roles()
			var want []string
			for _, role := range strings.Fields(c.roles) {
				if name, dlq := strings.CutSuffix(role, ":dead_letter"); dlq {
					want = append(want, name)
				}
			}
			if drawn != c.roles || listed != strings.Join(want, " ") {
				t.Errorf("listed %q, drawn %q; want %q", listed, drawn, c.roles)
			}
		})
	}
}

const marks = "/api/x/options/%2F"

func TestMarkedQueueIsADeadLetterQueue(t *testing.T) {
	// If this fails, messages that a client has put into a queue of dead letters by itself are not found although the
	// queue is marked, by one of the three ways; or they are when it no longer is.
	t.Parallel()
	const policy = "/api/policies/%2F/mark"
	for name, c := range map[string]struct {
		arguments    string
		mark, unmark func(d *door)
	}{
		"option": {
			mark:   func(d *door) { d.want(204, "PUT", marks, `{"dead-letter-queues":{"work.dead":true,"else":true}}`) },
			unmark: func(d *door) { d.want(204, "PUT", marks, `{"dead-letter-queues":{"work.dead":null}}`) },
		},
		"policy": {
			mark: func(d *door) {
				d.want(201, "PUT", policy, `{"pattern":"dead$","apply-to":"queues","definition":{"dead-letter-queue":true}}`)
			},
			unmark: func(d *door) { d.want(204, "DELETE", policy, "") },
		},
		"argument": {
			arguments: `"x-dead-letter-queue":true`,
			mark:      func(*door) {},
			unmark:    func(d *door) { d.want(204, "PUT", marks, `{"dead-letter-queues":{"work.dead":false}}`) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.queueWith("work.dead", c.arguments)
			if c.arguments == "" {
				d.publish("amq.default", "work.dead", "before")
				d.isDeadLetterQueue("", 0)
				c.mark(d)
			} else {
				d.publish("amq.default", "work.dead", "before")
			}
			d.publish("amq.default", "work.dead", "after")
			d.isDeadLetterQueue("dead_letter", 2)
			c.unmark(d)
			d.isDeadLetterQueue("", 0)
		})
	}
}

// isDeadLetterQueue checks what all lists say of queue work.dead, and of the messages in it.
func (d *door) isDeadLetterQueue(role string, messages int) {
	d.t.Helper()
	s := read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary")
	if s.DeadLetters != int64(messages) || len(s.Queues) != min(messages, 1) ||
		messages > 0 && (s.Queues[0].Role != role || s.Queues[0].DeadLetters != int64(messages)) {
		d.t.Errorf("summary: %+v", s)
	}
	if _, drawn := d.roles(); drawn != strings.TrimSuffix("work.dead:"+role, "work.dead:") {
		d.t.Errorf("drawn %q", drawn)
	}
	found := read[api.MessagePage](d, "/api/x/letters/%2F?filter=reason:republished").Items
	if len(found) != messages || messages > 0 && found[0].Republished == nil {
		d.t.Errorf("found %+v", found)
	}
	if g := read[api.Groups](d, "/api/x/letters/%2F/groups?by=queue"); g.Total != int64(messages) {
		d.t.Errorf("groups: %+v", g)
	}
	if n := strings.Count(d.want(200, "GET", "/api/x/letters/%2F/export", "").Body.String(), "\n"); n != messages {
		d.t.Errorf("%d exported", n)
	}
	scrapePage(d, "/metrics").want(map[string]float64{
		`bartleby_dlq_queues{vhost="/"}`: float64(min(messages, 1)), `bartleby_dlq_messages{vhost="/"}`: float64(messages),
		`bartleby_dead_letter_messages{vhost="/"}`: float64(messages),
	})
	findings := d.want(200, "GET", "/api/x/lint", "").Body.String()
	if warned := strings.Contains(findings, "marked_no_limit"); warned != (messages > 0) {
		d.t.Errorf("lint warns: %v", warned)
	}
}

func TestMarksOfQueues(t *testing.T) {
	// If this fails, a mark is lost by that of another queue or by an import, does not override an argument, is not
	// explained, or a wrong one is taken.
	t.Parallel()
	d := open(t)
	d.queueWith("a", `"x-dead-letter-queue":false`)
	d.want(204, "PUT", marks, `{"dead-letter-queues":{"a":true}}`)
	d.want(204, "PUT", marks, `{"dead-letter-queues":{"b":false},"ttl-in-dlq":false}`)
	set := `{"dead-letter-queues":{"a":true,"b":false},"ttl-in-dlq":false}`
	if got := d.want(200, "GET", marks, "").Body.String(); strings.TrimSpace(got) != set {
		t.Errorf("set: %s", got)
	}
	explained := d.want(200, "GET", "/api/x/explain/queues/%2F/a", "").Body.String()
	for _, part := range []string{
		`"name":"dead-letter-queue","value":true,"source":"option","from":"dead-letter-queues"`,
		`the option dead-letter-queues overrides the argument, which overrides policies; the argument sets false`,
	} {
		if !strings.Contains(explained, part) {
			t.Errorf("%s is not in %s", part, explained)
		}
	}
	definitions := d.want(200, "GET", "/api/definitions", "").Body.String()
	d.want(204, "PUT", marks, `{"dead-letter-queues":{"a":null,"c":true}}`)
	d.want(204, "POST", "/api/definitions", definitions)
	if got := d.want(200, "GET", marks, "").Body.String(); strings.TrimSpace(got) != set {
		t.Errorf("after an import: %s", got)
	}
	d.want(204, "PUT", marks, `{"dead-letter-queues":{"a":null,"b":null}}`)
	if got := d.want(200, "GET", marks, "").Body.String(); strings.TrimSpace(got) != `{"ttl-in-dlq":false}` {
		t.Errorf("taken back: %s", got)
	}
	for body, reason := range map[string]string{
		`{"dead-letter-queues":{"a":"yes"}}`: "has the value yes for queue 'a': it must be true or false",
		`{"dead-letter-queues":{"":true}}`:   "has a queue without a name",
		`{"dead-letter-queues":true}`:        "has names of queues with true or false, not true",
	} {
		d.refused(400, "bad_request", "the option 'dead-letter-queues' "+reason, "PUT", marks, body)
	}
	var many []string
	for i := range 1001 {
		many = append(many, fmt.Sprintf(`"q%d":true`, i))
	}
	d.refused(400, "bad_request", "may name 1000 queues, and would name 1001",
		"PUT", marks, `{"dead-letter-queues":{`+strings.Join(many, ",")+`}}`)
	d.refused(400, "bad_request", "invalid arg 'x-dead-letter-queue' for queue 'q' in vhost '/': {unacceptable_type,longstr}",
		"PUT", "/api/queues/%2F/q", `{"arguments":{"x-dead-letter-queue":"true"}}`)
	d.refused(400, "bad_request", `1 is not a valid mark of a dead letter queue. Must be true or false`,
		"PUT", "/api/policies/%2F/p", `{"pattern":"a","definition":{"dead-letter-queue":1}}`)
	d.operator("looks", "management", ".*", ".*", ".*").refused(401, "not_authorised", "",
		"PUT", marks, `{"dead-letter-queues":{"a":true}}`)
}
