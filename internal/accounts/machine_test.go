package accounts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLogIDsAreNeverReused(t *testing.T) {
	// If this fails, a new virtual host reads the log of a deleted one.
	t.Parallel()
	m := booted(t, Command{Kind: PutVHost, VHost: "a"}, Command{Kind: DeleteVHost, VHost: "a"})
	m = replay(t, m.Snapshot(nil)) // the number survives a restart although nothing has it any more
	step(t, m, Command{Kind: PutVHost, VHost: "a"})
	if h, _ := m.View().VHost("a"); h.LogID != 18 {
		t.Errorf("the second a has LogID %d, want 18", h.LogID)
	}
	step(t, m, Command{Kind: PutVHost, VHost: "a", Description: "changed"})
	if h, _ := m.View().VHost("a"); h.LogID != 18 || h.Description != "changed" {
		t.Errorf("a changed virtual host is %+v", h)
	}
}

func TestCreatedAndUnchanged(t *testing.T) {
	// If this fails, the management API answers 201 for 204, or idle repetitions fill the log.
	t.Parallel()
	m := booted(t)
	put := Command{Kind: PutUser, User: "u", Password: "p", Salt: Salt{9}, Tags: []string{"a"}}
	for _, c := range []struct {
		command Command
		created bool
		facts   int
	}{
		{put, true, 1},
		{put, false, 0},
		{Command{Kind: PutUser, User: "u", Password: "other"}, false, 1},
		{Command{Kind: SetPermission, User: "u", VHost: "/", Read: "q"}, true, 1},
		{Command{Kind: SetPermission, User: "u", VHost: "/", Read: "q"}, false, 0},
		{Command{Kind: ClearPermission, User: "u", VHost: "/"}, false, 1},
		{Command{Kind: ClearPermission, User: "u", VHost: "/"}, false, 0},
		{Command{Kind: SetTopicPermission, User: "u", VHost: "/", Exchange: "x"}, true, 1},
		{Command{Kind: ClearTopicPermission, User: "u", VHost: "/", Exchange: "y"}, false, 0},
		{Command{Kind: ClearTopicPermission, User: "u", VHost: "/"}, false, 1},
		{Command{Kind: SetVHostLimit, VHost: "/", Name: LimitQueues, Limit: 3}, true, 1},
		{Command{Kind: SetVHostLimit, VHost: "/", Name: LimitQueues, Limit: 3}, false, 0},
		{Command{Kind: SetVHostLimit, VHost: "/", Name: LimitQueues, Limit: 4}, false, 1},
		{Command{Kind: ClearVHostLimit, VHost: "/", Name: LimitConnections}, false, 0},
		{Command{Kind: ClearVHostLimit, VHost: "/", Name: LimitQueues}, false, 1},
		{Command{Kind: SetGlobalParameter, Name: "p", Value: []byte(`{"a": 1}`)}, true, 1},
		{Command{Kind: SetGlobalParameter, Name: "p", Value: []byte(`{ "a":1 }`)}, false, 0},
		{Command{Kind: ClearGlobalParameter, Name: "p"}, false, 1},
	} {
		out := step(t, m, c.command)
		if out.Created != c.created || len(out.Facts) != c.facts {
			t.Errorf("%+v: created %v, %d facts", c.command, out.Created, len(out.Facts))
		}
	}
}

func TestDeletionTakesEverythingAlong(t *testing.T) {
	// If this fails, a user or virtual host made anew inherits rights of its dead namesake.
	t.Parallel()
	setUp := func() *Machine {
		return booted(t,
			Command{Kind: PutUser, User: "u"},
			Command{Kind: PutVHost, VHost: "v"},
			Command{Kind: SetPermission, User: "u", VHost: "v", Read: ".*"},
			Command{Kind: SetTopicPermission, User: "u", VHost: "v", Exchange: "x"},
			Command{Kind: SetUserLimit, User: "u", Name: LimitChannels, Limit: 1},
			Command{Kind: SetVHostLimit, VHost: "v", Name: LimitQueues, Limit: 1},
		)
	}
	for _, cs := range [][]Command{
		{{Kind: DeleteUser, User: "u"}, {Kind: PutUser, User: "u"}},
		{{Kind: DeleteVHost, VHost: "v"}, {Kind: PutVHost, VHost: "v"}},
	} {
		m := setUp()
		for _, c := range cs {
			step(t, m, c)
		}
		v := m.View()
		u, _ := v.User("u")
		h, _ := v.VHost("v")
		if v.HasAccess("u", "v") || !v.TopicAllowed("u", "v", "x", Write, "k") || len(u.Limits) == len(h.Limits) {
			t.Errorf("after %+v something is left", cs)
		}
	}
}

func TestLimits(t *testing.T) {
	// If this fails, a limit restricts what it should not, or is lost when its owner changes.
	t.Parallel()
	v := booted(t,
		Command{Kind: SetUserLimit, User: "guest", Name: LimitConnections, Limit: 5},
		Command{Kind: SetUserLimit, User: "guest", Name: LimitChannels, Limit: -1},
		Command{Kind: PutUser, User: "guest", Password: "new"},
		Command{Kind: SetVHostLimit, VHost: "/", Name: LimitQueues, Limit: 0},
		Command{Kind: PutVHost, VHost: "/", Tracing: true},
	).View()
	u, _ := v.User("guest")
	h, _ := v.VHost("/")
	if n, ok := u.Limit(LimitConnections); n != 5 || !ok {
		t.Errorf("max-connections of guest is %d, %v", n, ok)
	}
	if _, ok := u.Limit(LimitChannels); ok {
		t.Error("a negative limit restricts")
	}
	if n, ok := h.Limit(LimitQueues); n != 0 || !ok {
		t.Errorf("max-queues of / is %d, %v", n, ok)
	}
}

func TestViewNeverChanges(t *testing.T) {
	// If this fails, a door reads a state that is being changed under its hands.
	t.Parallel()
	m := booted(t)
	v := m.View()
	before := picture(v)
	done := make(chan bool)
	go func() { // under the race detector this is the real test
		defer close(done)
		for range 200 {
			v.Allowed("guest", "/", Read, "q")
			v.Users()
		}
	}()
	walk(m, rand.New(rand.NewPCG(1, 2)), 500, func(Command, Outcome) {})
	<-done
	if after := picture(v); before != after {
		t.Errorf("the view changed\nfrom %s\nto   %s", before, after)
	}
	if m.View().Version() == v.Version() {
		t.Error("the version stood still")
	}
}

func picture(v *View) string {
	s := fmt.Sprint(v.version, v.nextLogID)
	for _, u := range v.Users() {
		s += fmt.Sprintf(" %+v", *u)
	}
	for _, h := range v.VHosts() {
		s += fmt.Sprintf(" %+v", *h)
	}
	for _, p := range v.Permissions() {
		s += fmt.Sprintf(" %v", p.fact())
	}
	for _, p := range v.TopicPermissions() {
		s += fmt.Sprintf(" %v", p.fact())
	}
	for _, g := range v.GlobalParameters() {
		s += fmt.Sprintf(" %s=%s", g.Name, g.Value)
	}
	return s + fmt.Sprintf(" %v %v", v.audit, v.importing)
}

// replay applies what b holds into an empty machine.
func replay(t *testing.T, b []byte) *Machine {
	t.Helper()
	facts, err := ParseFacts(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	m := New()
	for _, f := range facts {
		m.Apply(f)
	}
	return m
}

func TestReplayEqualsLive(t *testing.T) {
	// If this fails, a restart finds other users or permissions than those that were set.
	t.Parallel()
	for seed := range uint64(50) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			live, log := New(), []byte(nil)
			succeeded := map[CommandKind]int{}
			walk(live, rand.New(rand.NewPCG(seed, 0)), 4000, func(c Command, out Outcome) {
				log = append(log, out.Batch...)
				if len(out.Facts) > 0 {
					succeeded[c.Kind]++
				}
			})
			for k := PutUser; k <= EndImport; k++ {
				if succeeded[k] == 0 {
					t.Errorf("seed %d: command %d never changed anything", seed, k)
				}
			}
			want := live.Snapshot(nil)
			if got := replay(t, log).Snapshot(nil); !bytes.Equal(got, want) {
				t.Errorf("seed %d: replay of the log differs from live", seed)
			}
			if got := replay(t, want).Snapshot(nil); !bytes.Equal(got, want) {
				t.Errorf("seed %d: replay of the snapshot differs from live", seed)
			}
			if got, want := picture(replay(t, want).View()), picture(live.View()); afterVersion(got) != afterVersion(want) {
				t.Errorf("seed %d: the view of the replayed machine differs\n%s\n%s", seed, got, want)
			}
		})
	}
}

// afterVersion cuts off the first word, which counts the facts applied by this machine.
func afterVersion(s string) string { return s[bytes.IndexByte([]byte(s), ' '):] }

// walk lets a machine decide n random commands over few names, so that they meet.
func walk(m *Machine, r *rand.Rand, n int, done func(Command, Outcome)) {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	for range n {
		c := Command{
			Kind: CommandKind(1 + r.IntN(int(EndImport))),
			User: pick("ann", "bob", "{vhost}"), VHost: pick("/", "v", "w"), Exchange: pick("x", "y", ""),
			Tags:     slices.Repeat([]string{pick("management", "t")}, r.IntN(3)),
			Password: pick("", "p", "q"), Algorithm: Algorithm(r.IntN(3)), Salt: Salt{byte(r.IntN(3))},
			Description: pick("", "d"), DefaultQueueType: pick("", "classic", "quorum"), Tracing: r.IntN(2) == 0, Protected: r.IntN(8) == 0,
			Configure: pick("", ".*", "^a"), Write: pick("", "^{username}", "["), Read: pick("", "q|r"),
			Name: pick(LimitConnections, LimitQueues, LimitChannels), Value: []byte(pick("1", `{"k": [true]}`, "nope")), Limit: int64(r.IntN(5) - 1),
			Deed: Deed{
				At: int64(r.Uint64()), User: pick("ann", ""), Action: pick("PUT", "\xff"), Status: uint16(r.IntN(600)),
				Detail: []byte(pick("", "{}")),
			},
		}
		if (c.Kind == DeleteUser || c.Kind == DeleteVHost) && r.IntN(4) > 0 {
			continue // else hardly anything lives long enough to meet
		}
		var out Outcome
		if m.Step(c, &out) == nil {
			done(c, out)
		}
	}
}

func TestOutcomeReset(t *testing.T) {
	// If this fails, one batch's facts are logged again with the next.
	t.Parallel()
	m, out := New(), Outcome{}
	if err := m.Step(Command{Kind: PutVHost, VHost: "v"}, &out); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if len(out.Facts) != 0 || len(out.Batch) != 0 || out.Created {
		t.Errorf("after Reset there is %+v", out)
	}
}

func TestUnknownFactsAreRefused(t *testing.T) {
	// If this fails, an older build starts on the data of a newer one and forgets what it cannot read.
	t.Parallel()
	good := AppendFact(nil, Fact{Kind: UserDeleted, User: "u"})
	edit := func(at int, to byte) []byte {
		b := slices.Clone(good)
		b[at] = to
		return b
	}
	for what, c := range map[string]struct {
		b    []byte
		want string
	}{
		"format":    {edit(0, 2), "accounts: fact at byte 0: format 2 is unknown, this build reads 1"},
		"kind":      {edit(1, 99), "accounts: fact at byte 0: kind 99 is unknown to this build"},
		"cut":       {good[:len(good)-1], "accounts: fact at byte 0: truncated"},
		"length":    {edit(2, 200), "accounts: fact at byte 0: truncated"},
		"left over": {append(edit(2, 3), 0), "accounts: fact at byte 0: unexpected bytes after its fields"},
		"string":    {edit(3, 9), "accounts: fact at byte 0: truncated"},
		"second fact": {append(slices.Clone(good), 7, 7, 7),
			"accounts: fact at byte 5: format 7 is unknown, this build reads 1"},
		"bool": {[]byte{1, byte(VHostPut), 7, 1, 'v', 16, 0, 0, 0, 2},
			"accounts: fact at byte 0: a value is out of its range"},
	} {
		if _, err := ParseFacts(nil, c.b); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", what, err, c.want)
		}
	}
}

func FuzzParseFacts(f *testing.F) {
	// If this fails, bytes from a damaged disk crash the node, or are read as something that writes back differently.
	m := New()
	walk(m, rand.New(rand.NewPCG(7, 7)), 300, func(Command, Outcome) {})
	f.Add(m.Snapshot(nil))
	f.Add(AppendFact(nil, Fact{Kind: LogIDsUsed, LogID: 99}))
	f.Fuzz(func(t *testing.T, b []byte) {
		facts, err := ParseFacts(nil, b)
		if err != nil {
			return
		}
		var again []byte
		m := New()
		for _, x := range facts {
			again = AppendFact(again, x)
			m.Apply(x)
		}
		second, err := ParseFacts(nil, again)
		if err != nil || !reflect.DeepEqual(facts, second) {
			t.Errorf("facts do not survive: %v\n%+v\n%+v", err, facts, second)
		}
		m.Snapshot(nil)
	})
}

func TestTopicPermissionsAreBoundedTogether(t *testing.T) {
	// If this fails, whoever may set topic permissions fills the memory with them, each of which takes up to two
	// megabytes, and every checkpoint carries them; or what was deleted counts as if it were there.
	t.Parallel()
	m := booted(t)
	set := func(exchange, vhost, write string) Command {
		return Command{
			Kind: SetTopicPermission, User: "guest", VHost: vhost, Exchange: exchange, Write: write, Read: ".*",
		}
	}
	large := strings.Repeat("(a|b){500}", 9)
	n := 0
	for ; m.Step(set(fmt.Sprint("x", n), "/", large), &Outcome{}) == nil; n++ {
		if n > topicsBytesMax/instructionBytes/9000 {
			t.Fatalf("%d topic permissions are taken", n)
		}
	}
	full := func(m *Machine) error { return m.Step(set("more", "/", large), &Outcome{}) }
	if err := full(m); n < 20 || err == nil || !strings.Contains(err.Error(), "all topic permissions together") {
		t.Errorf("the one behind %d: %v", n, err)
	}
	if err := full(replay(t, m.Snapshot(nil))); err == nil {
		t.Error("after a restart there is room for one more")
	}
	step(t, m, set("x0", "/", large)) // the same is no more
	step(t, m, Command{Kind: ClearTopicPermission, User: "guest", VHost: "/", Exchange: "x0"})
	step(t, m, set("x0", "/", large))
	step(t, m, set("x0", "/", "^a"))
	step(t, m, set("more", "/", large))
	step(t, m, Command{Kind: ClearTopicPermission, User: "guest", VHost: "/"})
	if m.now.topicsBytes != 0 {
		t.Errorf("without topic permissions %d bytes are counted", m.now.topicsBytes)
	}
	for _, end := range []Command{{Kind: DeleteVHost, VHost: "v"}, {Kind: DeleteUser, User: "guest"}} {
		step(t, m, Command{Kind: PutVHost, VHost: "v"})
		step(t, m, set("x", "v", "^a"))
		if step(t, m, end); m.now.topicsBytes != 0 {
			t.Errorf("after the end of their owner %d bytes are counted", m.now.topicsBytes)
		}
	}
}

func TestLargePermissionsAreBoundedTogether(t *testing.T) {
	// If this fails, users with large permissions fill the memory, a megabyte each, and set a memory alarm that does
	// not end; or small ones are refused then; or what was deleted counts as if it were there.
	t.Parallel()
	m := booted(t)
	set := func(user, vhost, write string) Command {
		return Command{Kind: SetPermission, User: user, VHost: vhost, Configure: "^a", Write: write, Read: ".*"}
	}
	create := func(user string) {
		step(t, m, Command{Kind: PutUser, User: user, Hash: []byte("12345678901234567890123456789012345")})
	}
	large := strings.Repeat("(a|b){500}", 9)
	n := 0
	for {
		user := fmt.Sprint("u", n)
		create(user)
		if err := m.Step(set(user, "/", large), &Outcome{}); err != nil {
			if !strings.Contains(err.Error(), "all large permissions together") {
				t.Error(err)
			}
			break
		}
		if n++; n > 200 {
			t.Fatalf("%d large permissions are taken", n)
		}
	}
	if n < 20 {
		t.Errorf("only %d large permissions are taken", n)
	}
	more := fmt.Sprint("u", n)
	step(t, m, set(more, "/", "^(orders|invoices)\\..*$"))
	full := func(m *Machine) error { return m.Step(set(more, "/", large), &Outcome{}) }
	if full(m) == nil || full(replay(t, m.Snapshot(nil))) == nil {
		t.Error("beyond the limit, or after a restart, there is room for one more")
	}
	step(t, m, set("u0", "/", large)) // the same is no more
	step(t, m, Command{Kind: ClearPermission, User: "u0", VHost: "/"})
	step(t, m, set("u0", "/", large))
	step(t, m, set("u0", "/", "^a"))
	step(t, m, set(more, "/", large))
	for i := range n + 1 {
		step(t, m, Command{Kind: DeleteUser, User: fmt.Sprint("u", i)})
	}
	if m.now.largeBytes != 0 {
		t.Errorf("without large permissions %d bytes are counted", m.now.largeBytes)
	}
	step(t, m, Command{Kind: PutVHost, VHost: "v"})
	step(t, m, set("guest", "v", large))
	if step(t, m, Command{Kind: DeleteVHost, VHost: "v"}); m.now.largeBytes != 0 {
		t.Errorf("after the end of their virtual host %d bytes are counted", m.now.largeBytes)
	}
}

func TestGlobalParametersAreBoundedTogether(t *testing.T) {
	// If this fails, policymakers fill the memory with global parameters, one after the other, and every checkpoint
	// carries them.
	t.Parallel()
	m := booted(t)
	value := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), valueBytesMax-2)...), '"')
	set := func(i int, value []byte) Command {
		return Command{Kind: SetGlobalParameter, Name: fmt.Sprintf("%02d", i), Value: value}
	}
	n := globalsBytesMax / (valueBytesMax + 2)
	for i := range n {
		step(t, m, set(i, value))
	}
	full := func(m *Machine) error { return m.Step(set(n, value), &Outcome{}) }
	if err := full(m); err == nil || !strings.Contains(err.Error(), "together have at most") {
		t.Errorf("one more than there is room for: %v", err)
	}
	if err := full(replay(t, m.Snapshot(nil))); err == nil {
		t.Error("after a restart there is room for one more")
	}
	step(t, m, set(0, value)) // the same is no more
	step(t, m, set(0, []byte("1")))
	step(t, m, set(n, value))
	step(t, m, Command{Kind: ClearGlobalParameter, Name: "01"})
	step(t, m, set(n+1, value))
	if m.now.globalsBytes > globalsBytesMax || full(m) != nil {
		t.Errorf("%d bytes are counted", m.now.globalsBytes)
	}
}
