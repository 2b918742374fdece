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
	for _, q := range read[api.LettersSummary](d, "/api/x/letters/%2F/summary").Queues {
		dlqs = append(dlqs, q.Name)
	}
	for _, n := range read[api.Topology](d, "/api/x/topology/%2F").Nodes {
		if n.Queue == nil {
			continue
		}
		if n.Queue.Letters != (n.Queue.Role == "dead_letter") {
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
