package vhost_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// toldSteps are the steps of one event, each in a line behind the number of the one that it follows.
func toldSteps(t *testing.T, s *lint.Analysis, name, event string) string {
	t.Helper()
	paths, ok := s.Paths(name)
	i := slices.IndexFunc(paths, func(p lint.Path) bool { return p.Event == event })
	if !ok || i < 0 {
		t.Fatalf("no path of %s on %s", name, event)
	}
	p := &paths[i]
	lines := []string{fmt.Sprintf("%s %v", p.Code, p.Happens)}
	for _, step := range p.Steps {
		line := fmt.Sprintf("%d %s %s %s", step.After, step.Code, step.Queue, step.Guarantee)
		for _, m := range []struct {
			on   bool
			word string
		}{{!step.Sure, "perhaps"}, {step.Loop, "loop"}, {step.DeadEnd, "end"}, {step.OwnKeys, "own"}} {
			if m.on {
				line += " " + m.word
			}
		}
		if step.HasExchange {
			line += fmt.Sprintf(" %s(%s)>%s", step.Exchange, strings.Join(step.Keys, ","), strings.Join(step.Queues, ","))
		}
		if step.Full != nil {
			line += " full=" + strings.Join(step.Full, ",")
		}
		if text := step.Text(); strings.ContainsAny(text, "{}") || text == "" || strings.ContainsAny(p.When(), "{}") {
			t.Errorf("%s: %s %s", step.Code, text, p.When())
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestPaths(t *testing.T) {
	// If this fails, somebody is told that a message goes another way than it does, or is safer than it is.
	t.Parallel()
	for _, c := range []struct{ lines, queue, event, want string }{
		{"declare q", "q", "reject", "on_reject true; 0 no_dlx q lost end"},
		{"declare q", "q", "overflow", "on_no_limit false"},
		{"declare q", "q", "delivery_limit", "on_no_delivery_limit false; 0 returns q kept"},
		{"declare q", "q", "target_missing", "on_no_dlx false"},
		{"declare q", "q", "crash", "on_crash true; 0 restart_persistent q kept; 0 restart_unacked q kept; 0 restart_transient q lost end"},
		{"declare q transient", "q", "crash", "on_crash true; 0 restart_queue q lost end"},
		{"options sync=never; declare q type=quorum dlx=x strategy=at-least-once", "q", "crash",
			"on_crash true; 0 restart_persistent q kept; 0 restart_unacked q kept; 0 restart_quorum q kept; 0 restart_hop q moved; 0 restart_held q held; 0 restart_power q lost end"},
		{"declare q type=quorum", "q", "delivery_limit", "on_delivery_limit true; 0 returns q kept; 1 no_dlx_limit q shelf end"},
		{"options lost-letters-max-bytes=0; declare q limit=0", "q", "delivery_limit", "on_delivery_limit true; 0 no_dlx q lost end"},
		{"declare q dlx=nope", "q", "reject", "on_reject true; 0 no_exchange q shelf end own nope(q)>"},
		{"declare q dlx=nope strategy=at-least-once", "q", "reject", "on_reject true; 0 no_exchange q held end own nope(q)>"},
		{"options lost-letters-max-bytes=0; declare q dlx=amq.direct", "q", "expire", "on_expiration true; 0 no_route q lost end own amq.direct(q)>"},
		{`declare q dlx="" dlrk=d; declare d; consume d c`, "q", "reject", "on_reject true; 0 hop q moved (d)>d; 1 rests d kept"},
		{`declare q dlx="" dlrk=d; declare d ttl=5 dlx="" dlrk=e; declare e ttl=7`, "q", "reject",
			"on_reject true; 0 hop q moved (d)>d; 1 waits_ttl d kept; 2 hop d moved (e)>e; 3 waits_ttl e kept; 4 no_dlx e lost end"},
		{`declare q ttl=4 dlx="" dlrk=d; declare d ttl=5 dlx="" dlrk=q`, "q", "expire",
			"on_expire true; 0 hop q moved (d)>d; 1 waits_ttl d kept; 2 hop d moved (q)>q; 3 cycle q shelf loop end"},
		{`policy p . apply=queues cycle=keep; declare q ttl=4 dlx="" dlrk=d; declare d ttl=5 dlx="" dlrk=q`, "q", "expire",
			"on_expire true; 0 hop q moved (d)>d; 1 waits_ttl d kept; 2 hop d moved (q)>q; 3 cycle_kept d kept loop end"},
		{`declare q dlx="" dlrk=d; declare d ttl=5 dlx="" dlrk=q`, "q", "reject",
			"on_reject true; 0 hop q moved (d)>d; 1 waits_ttl d kept; 2 hop d moved (q)>q; 3 goes_round q kept loop"},
		{`declare q dlx="" dlrk=d; declare d max=1 overflow=reject-publish; publish d "1"`, "q", "reject",
			"on_reject true; 0 hop q moved (d)>d full=d; 1 target_full d shelf end full=d"},
		{`declare q dlx="" dlrk=d; declare d max=1 overflow=reject-publish-dlx dlx="" dlrk=e; declare e; publish d "1"`, "q", "reject",
			"on_reject true; 0 hop q moved (d)>d full=d; 1 hop d moved (e)>e; 2 rests_alone e kept end"},
		{"exchange x topic; exchange dlx topic; declare q dlx=dlx; bind x -> q key=a.*; declare d max=5; bind dlx -> d key=*.b", "q", "reject",
			"on_reject true; 0 hop q moved perhaps own dlx()>d; 1 rests_bounded d kept perhaps end"},
		{`exchange x fanout; declare q dlx=""; bind x -> q`, "q", "reject", "on_reject true; 0 hop_by_name q moved perhaps own ()>"},
		{"exchange dlx x-delayed-message x-delayed-type=fanout; declare d; bind dlx -> d; declare q dlx=dlx", "q", "reject",
			"on_reject true; 0 hop_delayed q moved own dlx(q)>d; 1 rests_alone d kept end"},
		{"declare q max=1 overflow=reject-publish", "q", "overflow", "on_reject_publish true; 0 refused q refused"},
		{`declare q max=1 dlx="" dlrk=d; declare d`, "q", "overflow", "on_drop_head true; 0 hop q moved (d)>d; 1 rests_alone d kept end"},
		{`declare q retry=failed retry-min=5 limit=2 dlx="" dlrk=d; declare d`, "q", "delivery_limit",
			"on_delivery_limit true; 0 waits_retry q kept; 1 hop q moved (d)>d; 2 rests_alone d kept end"},
		{"options consumer-timeout=0; declare q", "q", "consumer_timeout", "on_no_timeout false"},
		{"declare q timeout=9 mode=failed limit=1", "q", "consumer_timeout", "on_consumer_timeout true; 0 taken_back q kept; 1 returns q kept"},
		{"declare q dlx=x strategy=at-least-once", "q", "target_missing",
			"on_target_missing true; 0 no_exchange q held end x()>; 0 no_route q held end x()>; 2 held_retries q held"},
	} {
		if got := toldSteps(t, analysisOf(t, 5000, c.lines), c.queue, c.event); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.lines, got, c.want)
		}
	}
	if _, ok := analysisOf(t, 5000).Paths("nope"); ok {
		t.Error("there is no such queue")
	}
}

func TestPathsEnd(t *testing.T) {
	// If this fails, a topology that multiplies dead letters holds the broker up when somebody asks for a
	// path.
	t.Parallel()
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("declare q%d ttl=5 dlx=amq.fanout; bind amq.fanout -> q%d", i, i))
	}
	s := analysisOf(t, 5000, lines...)
	paths, _ := s.Paths("q0")
	for _, p := range paths {
		if len(p.Steps) > lint.PathStepsMax {
			t.Errorf("%s: %d steps", p.Event, len(p.Steps))
		}
	}
}

// drawn is a topology by chance, and a message in queue q0, whose key is known.
func drawn(dice *rand.Rand) (lines []string) {
	one := func(of ...string) string { return of[dice.IntN(len(of))] }
	keys := []string{"q0", "q1", "q2", "q3", "k.a", "k.b"}
	if dice.IntN(3) == 0 {
		lines = append(lines, "options "+one("ttl-in-dlq=false", "hops-max=2", "hops-max=1", "lost-letters-max-bytes=0", "ttl-in-loops=false", "dialect=apsaramq"))
	}
	if dice.IntN(4) == 0 {
		lines = append(lines, "policy p [01] apply=queues cycle=keep")
	}
	lines = append(lines, "exchange in direct", "exchange x0 direct", "exchange x1 "+one("fanout", "topic", "direct alternate-exchange=x0"))
	for i := range 5 {
		l := fmt.Sprintf("declare q%d", i)
		if i == 0 || dice.IntN(2) == 0 {
			l += fmt.Sprintf(" ttl=%d", 1000+dice.IntN(5000))
		}
		if dice.IntN(5) > 0 {
			l += " dlx=" + one(`""`, "x0", "x1", "x1", "nope")
			if dice.IntN(3) > 0 {
				l += " dlrk=" + one(keys...)
			}
			if dice.IntN(3) == 0 {
				l += " strategy=at-least-once"
			}
		}
		full := i > 0 && dice.IntN(4) == 0 && !strings.Contains(l, "ttl")
		if full {
			l += " max=1 overflow=" + one("reject-publish", "reject-publish-dlx")
		}
		if lines = append(lines, l); full {
			lines = append(lines, fmt.Sprintf(`publish q%d "full"`, i))
		}
		for i > 0 && dice.IntN(2) == 0 {
			lines = append(lines, fmt.Sprintf("bind %s -> q%d key=%s", one("x0", "x1"), i, one(append(keys, "k.*", "#", "*.b")...)))
		}
	}
	key := one(keys...)
	return append(lines, "bind in -> q0 key="+key, fmt.Sprintf(`publish in:%s "m"`, key))
}

func TestPathsAreWhatHappens(t *testing.T) {
	// If this fails, the machine does something else with a message than its path says.
	t.Parallel()
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	compared := map[string]int{}
	for range 1000 {
		lines := drawn(dice)
		event := []string{"reject", "expire"}[dice.IntN(2)]
		machine := vhost.NewPlay()
		if err := machine.Given(lines...); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(lines, "\n"))
		}
		s := analyzed(machine.Reader(), 5000)
		want, sure := foretold(s, event)
		if !sure && event == "reject" {
			compared["no"]++
			continue
		}
		after := []string{"advance 1h"}
		if event == "reject" {
			after = []string{"get q0", "reject 1", "advance 1h"}
		}
		before := whereabouts(machine.Reader())
		before["q0"]--
		if err := machine.Given(after...); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(lines, "\n"))
		}
		got := whereabouts(machine.Reader())
		round := got["lost:cycle"] + got["held:cycle"]
		delete(got, "held:cycle")
		if event == "expire" && round > 0 && loopsOf(s, "loop", "loop_limited", "loop_returned") == nil {
			t.Fatalf("seed %d: what nobody has rejected came round, and no loop was found\n%s", seed, strings.Join(lines, "\n"))
		}
		in := func(f lint.Finding) bool { return f.Severity == lint.Error && strings.Contains(f.Text(), "q0") }
		if o := s.Rules.Options(); event == "expire" && round == 0 && o.LostLettersMaxBytes > 0 && slices.ContainsFunc(loopsOf(s, "loop"), in) &&
			got["q0"]+got["q1"]+got["q2"]+got["q3"]+got["q4"] == 0 { // kept in place
			t.Fatalf("seed %d: a loop was found, and nothing came round\n%s", seed, strings.Join(lines, "\n"))
		}
		if !sure {
			continue
		}
		for place, n := range before {
			if got[place] -= n; got[place] == 0 {
				delete(got, place)
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: %s\n%s\nforetold %v, happened %v\n%s", seed, event, strings.Join(lines, "\n"), want, got,
				toldSteps(t, analysisOf(t, 5000, lines...), "q0", event))
		}
		for place := range want {
			compared[place]++
		}
	}
	for _, place := range []string{"q1", "lost:no_exchange", "lost:no_route", "lost:cycle", "lost:refused", "held"} {
		if compared[place] < 3 {
			t.Errorf("seed %d: %v", seed, compared)
		}
	}
}

// loopsOf lists the findings of some codes.
func loopsOf(s *lint.Analysis, codes ...string) (found []lint.Finding) {
	return slices.DeleteFunc(s.Findings(), func(f lint.Finding) bool { return !slices.Contains(codes, f.Code) })
}

// whereabouts counts where messages are.
func whereabouts(v vhost.Reader) map[string]int {
	n := map[string]int{}
	for _, q := range v.Queues() {
		n[q.Name] += q.Ready
		n["held"] += q.Held
		held, _ := v.HeldDeadLetters(q.Name, 0, q.Held, math.MaxInt64)
		for _, x := range held {
			if x.Cause == fact.LostCycle {
				n["held:cycle"]++
			}
		}
	}
	v.LostLetters(0, func(l vhost.LostLetter) bool {
		n["lost:"+l.Cause.String()]++
		return true
	})
	return n
}

// foretold counts where a path says that the copies of a message of q0 will be; sure is false if it does not.
func foretold(s *lint.Analysis, event string) (where map[string]int, sure bool) {
	paths, _ := s.Paths("q0")
	p := paths[slices.IndexFunc(paths, func(p lint.Path) bool { return p.Event == event })]
	where = map[string]int{}
	held := map[int]bool{}
	causes := map[string]string{"cycle": "cycle", "no_route": "no_route", "no_exchange": "no_exchange", "target_full": "refused"}
	for _, step := range p.Steps {
		switch {
		case !step.Sure || step.Code == "goes_round" || strings.HasPrefix(step.Code, "more"):
			return nil, false
		case step.Guarantee == lint.HeldBack && !held[step.After]:
			held[step.After] = true
			where["held"]++
		case step.Guarantee == lint.InLostStore:
			where["lost:"+causes[step.Code]]++
		case strings.HasPrefix(step.Code, "rests") || step.Code == "cycle_kept":
			where[step.Queue]++
		}
	}
	return where, true
}

func TestAnalysisOfAnything(t *testing.T) {
	// If this fails, there is a topology of which nothing can be told.
	t.Parallel()
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	one := func(of ...string) string { return of[dice.IntN(len(of))] }
	exchanges := []string{"x0", "x1", "x2", "x3", "x4", "amq.topic", "amq.headers"}
	for range 300 {
		var lines []string
		for i := range 5 {
			lines = append(lines, fmt.Sprintf("exchange x%d %s", i, one("direct", "fanout", "topic", "headers", "x-random", "x-modulus-hash", "x-consistent-hash",
				"x-recent-history", "x-delayed-message x-delayed-type=topic", "x-delayed-message x-delayed-type=headers", "topic alternate-exchange="+one("x0", "x1", "nope"))))
		}
		for i := range 6 {
			lines = append(lines, fmt.Sprintf("declare q%d type=%s ttl=%d dlx=%s %s max=%d overflow=%s retry=all x-delayed-retry-steps=\"1s,2s\" expires=%d", i, one("classic", "quorum"),
				dice.IntN(9000), one(append(exchanges, `""`, "nope")...), one("", `dlrk="1"`, "dlrk=a.b", `dlrk=""`), dice.IntN(3), one("drop-head", "reject-publish", "reject-publish-dlx"), 1+dice.IntN(9)))
		}
		for range dice.IntN(12) {
			lines = append(lines, fmt.Sprintf("%s -> q%d key=%s %s", "bind "+one(exchanges...), dice.IntN(6), one("1", "a.b", "a.*", "#", "*.#.b"), one("", "x-match=any", "x-match=all")))
		}
		for range dice.IntN(6) {
			lines = append(lines, fmt.Sprintf("link %s -> %s key=%s", one(exchanges...), one(exchanges...), one("1", "a.b", "#")))
		}
		lines = append(lines, fmt.Sprintf("policy p q[%d-5] apply=queues dead-letter-exchange=%s message-ttl=5 cycle=keep", dice.IntN(5), one(exchanges...)))
		machine := vhost.NewPlay()
		if err := machine.Lines(lines...); err != nil { // some of it may be refused
			t.Fatal(seed, err)
		}
		s := analyzed(machine.Reader(), 1+dice.IntN(9))
		found := len(s.Findings())
		for i := range 6 {
			name := fmt.Sprintf("q%d", i)
			paths, ok := s.Paths(name)
			for _, p := range paths {
				for n, step := range p.Steps {
					if step.After > n || strings.ContainsAny(step.Text(), "{}") || step.Guarantee == "" {
						t.Errorf("seed %d: %s %s: %+v", seed, name, p.Event, step)
					}
				}
				ok = ok && len(p.Steps) <= lint.PathStepsMax
			}
			g, found := s.Graph(name, dice.IntN(5), 1+dice.IntN(9))
			if !ok || !found {
				t.Errorf("seed %d: %s", seed, name)
			}
			for _, e := range g.Edges {
				if e.From >= len(g.Nodes) || e.To >= len(g.Nodes) {
					t.Errorf("seed %d: %s: an edge leads nowhere: %+v", seed, name, e)
				}
			}
		}
		if again := len(s.Findings()); again != found {
			t.Errorf("seed %d: %d findings, then %d", seed, found, again)
		}
	}
}
