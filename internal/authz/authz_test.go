package authz

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// commandKinds are the names of all kinds of commands, as the package vhost declares them, from 1 on.
func commandKinds(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../vhost/command.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			for _, n := range s.(*ast.ValueSpec).Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// TestEveryCommandKindIsListedOrDenied says that a kind of command was added, and nobody decided who may have it done.
func TestEveryCommandKindIsListedOrDenied(t *testing.T) {
	t.Parallel()
	names := commandKinds(t)
	brokers := []string{"SetSpace", "Tick", "Recovered"} // for the broker alone
	if len(names) < 40 || names[0] != "Connect" || names[len(names)-1] != "Recovered" {
		t.Fatalf("the kinds of commands are %v", names)
	}
	user, broker := Of(view(t), Principal{User: "nobody"}, false), Of(view(t), Broker(), false)
	for i, name := range names {
		kind := vhost.CommandKind(i + 1)
		listed := int(kind) < len(rules) && rules[kind] != nil
		if listed == slices.Contains(brokers, name) {
			t.Errorf("%s: has a rule: %v", name, listed)
		}
		if !listed {
			c := &vhost.Command{Kind: kind}
			if err := user.Command(nil, "/", c); err == nil || err.Code != amqp.CodeAccessRefused {
				t.Errorf("%s: a user has it done: %v", name, err)
			}
			if err := broker.Command(nil, "/", c); err != nil {
				t.Errorf("%s: the broker has it not done: %v", name, err)
			}
		}
	}
	if err := user.Command(nil, "/", &vhost.Command{Kind: 200}); err == nil {
		t.Error("an unknown kind of command is done")
	}
}

// machine is a virtual host with a topic exchange, a redrive of "some", and a schedule of exchange "later".
type machine struct{ topo *topology.Topology }

func (m *machine) Topology() topology.View             { return m.topo.View() }
func (m *machine) LastDeclared(vhost.ChannelID) string { return "last" }
func (m *machine) LostKeys(uint64) []string            { return []string{"a.b"} }
func (m *machine) RedriveJob(id fact.JobID) (vhost.Job, bool) {
	return vhost.Job{ID: id, JobSpec: vhost.JobSpec{User: "some", Source: vhost.Where{Queue: "dead"}, Target: vhost.TargetQueue}}, id == 1
}

func (m *machine) ScheduleName(id fact.QueueID) (string, bool) {
	return map[fact.QueueID]string{1: "later", 2: "work"}[id], id == 2
}

// TestNobodyMayDoAnything says that a command which touches something is done for a user without any permission.
func TestNobodyMayDoAnything(t *testing.T) {
	t.Parallel()
	free := []string{ // of one's own connection and channels
		"Connect", "Disconnect", "Grant", "StopDeliveries", "OpenChannel", "CloseChannel", "Qos", "Cancel", "Ack", "Nack", "Reject", "Recover",
		"SelectConfirms", "SelectTx", "CommitTx", "RollbackTx",
	}
	m := &machine{topo: topology.New()}
	nobody := Of(view(t), Principal{User: "nobody"}, false)
	for i, name := range commandKinds(t) {
		c := &vhost.Command{
			Kind: vhost.CommandKind(i + 1), Exchange: []byte("x"),
			Definition: &vhost.Definition{Name: "n", Source: "s", Type: "direct"}, Policy: &vhost.Policy{},
			Selection: &vhost.Selection{Scheduled: []vhost.ScheduledID{{Schedule: 1}}}, JobSpec: &vhost.JobSpec{Source: vhost.Where{Queue: "q"}},
			JobChange: &vhost.JobChange{Job: 1}, Edit: &vhost.Edit{Source: vhost.Where{Queue: "q"}},
		}
		if err := nobody.Command(m, "/", c); (err == nil) != slices.Contains(free, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWithoutATagARouteIsDenied says that a route which names no tag is served.
func TestWithoutATagARouteIsDenied(t *testing.T) {
	t.Parallel()
	for _, who := range []Principal{{User: "admin"}, {User: "nobody"}, {User: "nobody, not even a user"}} {
		r := Of(view(t), who, false)
		for _, tag := range []Tag{"", "root"} {
			if r.Route(tag) == nil {
				t.Errorf("%+v may use a route that asks for %q", who, tag)
			}
		}
		if r.Route(Anybody) != nil {
			t.Errorf("%+v may not use a route for anybody", who)
		}
		if (r.Route(Policymaker) == nil) != (who.User == "admin") {
			t.Errorf("%+v: %v", who, r.Route(Policymaker))
		}
	}
}

// TestTheZeroPrincipalIsNobody says that a frontend which forgets to say who asks has asked as the broker.
func TestTheZeroPrincipalIsNobody(t *testing.T) {
	t.Parallel()
	r := Of(view(t), Principal{}, false)
	if r.Has(Management) || r.Enter("/") || r.Read("/", "q") || r.Owns("nobody") || r.Impersonate() || r.SeeNotes("/") || r.NoteOnContents("/") == nil {
		t.Error("the zero principal may do something")
	}
	if err := r.Command(nil, "/", &vhost.Command{Kind: vhost.Tick}); err == nil {
		t.Error("the zero principal lets time pass")
	}
}

// TestLoginsEnd says that a login holds longer than it should, or ends too early.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	end := time.Unix(1_700_000_000, 0)
	p := Principal{User: "some", Until: end}
	if p.Expired(end.Add(-1)) || !p.Expired(end) || !p.Expired(end.Add(time.Hour)) {
		t.Error("a login ends at another time than at its end")
	}
	if p.Until = (time.Time{}); p.Expired(end) {
		t.Error("a login without an end has ended")
	}
}

// TestTheTopicRule says that the topic permissions count where they should not, or do not count where they should.
func TestTheTopicRule(t *testing.T) {
	t.Parallel()
	r := Of(view(t), Principal{User: "some"}, false)
	for _, c := range []struct {
		exchange string
		topic    bool
		keys     []string
		may      bool
	}{
		{"t", true, []string{"a.x"}, true},
		{"t", true, []string{"a.x", "b.x"}, false},
		{"t", true, nil, true},
		{"t", false, []string{"b.x"}, true}, // the exchange was deleted and made anew with another type
		{"other", true, []string{"b.x"}, true},
		{"closed", true, []string{"a.x"}, false},
	} {
		if err := r.PublishTo("/", c.exchange, c.topic, c.keys...); (err == nil) != c.may {
			t.Errorf("%+v: %v", c, err)
		}
	}
	broker := Of(view(t), Broker(), false)
	if broker.PublishTo("/", "t", true, "b.x") != nil {
		t.Error("the broker asks for topic permissions")
	}
}

// TestDenialsNameWhatIsMissing says that who is denied something is not told which permission or tag to ask for.
func TestDenialsNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	m := &machine{topo: topology.New()}
	r, strict := Of(view(t), Principal{User: "some"}, false), Of(view(t), Principal{User: "some"}, true)
	discard := &vhost.JobSpec{Source: vhost.Where{Queue: "dead"}, Discard: true}
	lost := vhost.Where{Lost: true}
	job := &vhost.Job{ID: 7, JobSpec: vhost.JobSpec{Source: vhost.Where{Queue: "secret"}}}
	for want, err := range map[string]error{
		"Access refused: read access to queue 'q' in vhost '/' refused for user 'some'":               r.NeedRead("/", "q"),
		"Access refused: write access to exchange 'amq.default' in vhost '/' refused for user 'some'": r.NeedWrite("/", ""),
		"Access refused: write access to topic 'b' in exchange 't' in vhost '/' refused for user 'some'": r.PublishTo(
			"/", "t", true, "a", "b"),
		"Access refused: configure access to queue 'dead' in vhost '/' refused for user 'some'": r.BeginJob(m, "/", discard),
		"Not policymaker user":    r.BeginJob(m, "/", &vhost.JobSpec{Source: lost}),
		"Not office-redrive user": strict.BeginJob(m, "/", &vhost.JobSpec{}),
		"Access refused: read access to the queue where the message died is missing": r.NeedLost(
			"/", &fact.History{}, "", fact.Discarded),
		"Access refused: read access to the source of redrive 7 is missing":                         r.NeedJob("/", job),
		"Access refused: the tag monitoring, or read access to all queues in vhost '/', is missing": r.NoteOnContents("/"),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	resend := &vhost.Command{Kind: vhost.Resend, Edit: &vhost.Edit{Source: vhost.Where{Queue: "q"}}}
	want := "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'some'"
	if err := r.Command(m, "/", resend); err == nil || err.Text != want {
		t.Errorf("over AMQP: %v, want %s", err, want)
	}
}

// view has an administrator, a user with some rights, and one with none.
func view(t *testing.T) *accounts.View {
	t.Helper()
	m := accounts.New()
	for _, c := range []accounts.Command{
		{Kind: accounts.PutVHost, VHost: "/"},
		{Kind: accounts.PutUser, User: "admin", Tags: []string{accounts.TagAdministrator}},
		{Kind: accounts.PutUser, User: "some"},
		{Kind: accounts.PutUser, User: "nobody"},
		{Kind: accounts.SetPermission, User: "some", VHost: "/", Configure: "", Write: "^(t|other)$", Read: "^dead$"},
		{Kind: accounts.SetPermission, User: "nobody", VHost: "/", Configure: "", Write: "", Read: ""},
		{Kind: accounts.SetTopicPermission, User: "some", VHost: "/", Exchange: "t", Write: "^a", Read: "^a"},
	} {
		var out accounts.Outcome
		if err := m.Step(c, &out); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
	}
	return m.View()
}
