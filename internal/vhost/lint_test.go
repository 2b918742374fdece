package vhost_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// analysisOf plays lines, as scenarios have them, and analyzes what there is then, copied in portions of that size.
func analysisOf(t testing.TB, portion int, lines ...string) *lint.Analysis {
	t.Helper()
	p := vhost.NewPlay()
	var all []string
	for _, text := range lines {
		for line := range strings.SplitSeq(text, ";") {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, line)
			}
		}
	}
	if err := p.Given(all...); err != nil {
		t.Fatal(err)
	}
	return analyzed(p.Reader(), portion)
}

func analyzed(v vhost.Reader, portion int) *lint.Analysis {
	var to vhost.Snapshotter
	for v.SnapshotSome(&to, portion) {
	}
	return lint.Analyze(to.Snapshot())
}

// grave is a queue whose dead letters have a good way.
const grave = "exchange dlx direct; declare dead max=1000; bind dlx -> dead key=dead"

// fixtures are topologies of which the first has what a finding is about, and the second, which is nearly the same, has
// not.
var fixtures = []struct{ code, name, bad, good string }{
	{"missing_dlx", "q",
		"declare q dlx=nope",
		grave + "; declare q dlx=dlx dlrk=dead"},
	{"no_binding", "q",
		grave + "; declare q dlx=dlx dlrk=other",
		grave + "; declare q dlx=dlx dlrk=dead"},
	{"no_binding_own_keys", "q",
		grave + "; exchange x direct; declare q dlx=dlx; bind x -> q key=a; bind x -> q key=b",
		grave + "; exchange x direct; declare q dlx=dlx; bind x -> q key=dead"},
	{"no_binding_own_keys", "q",
		"exchange x topic; exchange dlx topic; declare dead max=9; bind dlx -> dead key=invoices.#; declare q dlx=dlx; bind x -> q key=orders.*",
		"exchange x topic; exchange dlx topic; declare dead max=9; bind dlx -> dead key=*.new; declare q dlx=dlx; bind x -> q key=orders.*"},
	{"no_binding_own_keys", "q",
		`exchange x direct; declare q dlx=""; bind x -> q key=a`,
		`exchange x fanout; declare q dlx=""; bind x -> q`},
	{"some_keys_unbound", "q",
		grave + "; exchange x direct; declare q dlx=dlx; bind x -> q key=dead; bind x -> q key=b",
		grave + "; bind dlx -> dead key=b; exchange x direct; declare q dlx=dlx; bind x -> q key=dead; bind x -> q key=b"},
	{"loop", "a",
		`declare a ttl=5 dlx="" dlrk=b; declare b ttl=5 dlx="" dlrk=a`,
		`declare a ttl=5 dlx="" dlrk=b; declare b dlx="" dlrk=a`},
	{"loop", "q",
		`declare q ttl=5 dlx=""`,
		`declare q ttl=5 dlx="" dlrk=dead; declare dead`},
	{"loop_limited", "a",
		`declare a max=5 dlx="" dlrk=b; declare b ttl=5 dlx="" dlrk=a`,
		`declare a max=5 overflow=reject-publish dlx="" dlrk=b; declare b ttl=5 dlx="" dlrk=a`},
	{"loop_returned", "a",
		`declare a type=quorum dlx="" dlrk=b; declare b ttl=5 dlx="" dlrk=a`,
		`declare a type=quorum limit=-1 dlx="" dlrk=b; declare b ttl=5 dlx="" dlrk=a`},
	{"loop_with_rejection", "retry",
		`declare work dlx="" dlrk=retry; declare retry ttl=5 dlx="" dlrk=work`,
		`declare work dlx="" dlrk=retry; declare retry ttl=5 dlx="" dlrk=other; declare other`},
	{"policy_covers_dlq", "dead",
		"exchange dlx fanout; declare q; declare dead; bind dlx -> dead; policy p .* apply=queues dead-letter-exchange=dlx",
		"exchange dlx fanout; declare q; declare dead; bind dlx -> dead; policy p ^q apply=queues dead-letter-exchange=dlx"},
	{"target_full", "dead",
		`declare dead max=1 overflow=reject-publish; declare q dlx="" dlrk=dead; publish dead "1"`,
		`declare dead max=2 overflow=reject-publish; declare q dlx="" dlrk=dead; publish dead "1"`},
	{"target_refuses", "dead",
		`declare dead max=2 overflow=reject-publish; declare q dlx="" dlrk=dead`,
		`declare dead max=2; declare q dlx="" dlrk=dead`},
	{"target_never_takes", "dead",
		`declare dead max=0 overflow=reject-publish; declare q dlx="" dlrk=dead strategy=at-least-once`,
		`declare dead max=0 overflow=reject-publish; declare q dlx="" dlrk=dead`},
	{"target_never_takes", "dead",
		`declare dead max=1 overflow=reject-publish; declare q dlx="" dlrk=dead strategy=at-least-once; publish dead "1"`,
		`declare dead max=1 overflow=reject-publish; declare q dlx="" dlrk=dead strategy=at-least-once; publish dead "1"; consume dead c`},
	{"no_consumer", "dead",
		`declare dead; declare q dlx="" dlrk=dead`,
		`declare dead; declare q dlx="" dlrk=dead; consume dead c`},
	{"dlq_drops_head", "dead",
		`declare dead max=100; declare q dlx="" dlrk=dead`,
		`declare dead max=100 overflow=reject-publish; declare q dlx="" dlrk=dead`},
	{"dlq_expires", "dead",
		`declare dead expires=9; declare q dlx="" dlrk=dead`,
		`declare dead ttl=9; declare q dlx="" dlrk=dead`},
	{"dlq_goes", "dead",
		`declare dead auto-delete; declare q dlx="" dlrk=dead`,
		`declare dead; declare q dlx="" dlrk=dead`},
	{"dlq_not_durable", "dead",
		`declare dead transient; declare q dlx="" dlrk=dead`,
		`declare dead transient; declare q transient dlx="" dlrk=dead`},
	{"ttl_not_for_letters", "dead",
		`options ttl-in-dlq=false; declare dead ttl=9; declare q dlx="" dlrk=dead`,
		`declare dead ttl=9; declare q dlx="" dlrk=dead`},
	{"marked_no_limit", "errors", "declare errors x-dead-letter-queue=true",
		"declare errors; declare work x-dead-letter-queue=false"},
	{"marked_no_limit", "errors", "declare errors; options dead-letter-queues=F:errors=true",
		"declare errors x-dead-letter-queue=true; options dead-letter-queues=F:errors=false"},
	{"marked_no_limit", "errors", "declare errors; policy p err dead-letter-queue=true",
		"declare errors; policy p err dead-letter-queue=true max-length=1000"},
	{"marked_drops_head", "errors", "declare errors x-dead-letter-queue=true max=100", "declare errors max=100"},
	{"marked_goes", "errors", "declare errors x-dead-letter-queue=true expires=9",
		"declare errors x-dead-letter-queue=true ttl=9"},
	{"marked_goes", "errors", "declare errors x-dead-letter-queue=true auto-delete", "declare errors auto-delete"},
	{"mark_unused", "errors", "options dead-letter-queues=F:errors=true",
		"declare errors; options dead-letter-queues=F:errors=true"},
	{"dlx_not_durable", "q",
		"exchange dlx fanout transient; declare dead; bind dlx -> dead; declare q dlx=dlx",
		"exchange dlx fanout transient; declare dead; bind dlx -> dead; declare q transient dlx=dlx"},
	{"dlx_auto_delete", "q",
		"exchange dlx fanout auto-delete; declare dead; bind dlx -> dead; declare q dlx=dlx",
		"exchange dlx fanout; declare dead; bind dlx -> dead; declare q dlx=dlx"},
	{"ttl_without_dlx", "q", "declare q ttl=9", grave + "; declare q ttl=9 dlx=dlx dlrk=dead"},
	{"delivery_limit_without_dlx", "q", "declare q limit=3", "declare q type=quorum"},
	{"key_without_dlx", "q",
		"declare q; policy p q apply=queues dead-letter-routing-key=k",
		"declare q dlx=x; policy p q apply=queues dead-letter-routing-key=k"},
	{"strategy_without_dlx", "q", "declare q strategy=at-least-once", "declare q dlx=x strategy=at-least-once"},
	{"reject_publish_at_most_once", "q",
		grave + "; declare q max=9 overflow=reject-publish dlx=dlx dlrk=dead",
		grave + "; declare q max=9 overflow=reject-publish dlx=dlx dlrk=dead strategy=at-least-once"},
	{"max_length_zero", "q", "declare q max=0", "declare q max=1"},
	{"max_length_small", "q", "declare q max-bytes=100", "declare q max-bytes=100000"},
	{"ladder_outlives_ttl", "q",
		"declare q ttl=1h x-delayed-retry-type=all x-delayed-retry-steps=\"10m,50m\"",
		"declare q ttl=2h x-delayed-retry-type=all x-delayed-retry-steps=\"10m,50m\""},
	{"ladder_outlives_ttl", "q",
		"declare q ttl=10s limit=4 retry=all retry-min=1s retry-max=9s",
		"declare q ttl=10s limit=3 retry=all retry-min=1s retry-max=9s"},
	{"retry_without_wait", "q", "declare q retry=all", "declare q retry=all retry-min=5"},
	{"unknown_argument", "q", "declare q x-dead-letter-exchang=dlx", "declare q ttl=4"},
	{"missing_alternate", "x", "exchange x direct alternate-exchange=nope", "exchange x direct alternate-exchange=amq.fanout"},
	{"delayed_without_bindings", "later",
		"exchange later x-delayed-message x-delayed-type=direct",
		"exchange later x-delayed-message x-delayed-type=direct; declare q; bind later -> q key=k"},
	{"policy_unused", "p", "policy p nothing max-length=9", "declare q; policy p q max-length=9"},
	{"policy_beaten", "p",
		"declare q; policy p q max-length=9; policy better q priority=9 max-length=8",
		"declare q; declare qq; policy p q max-length=9; policy better ^q$ priority=9 max-length=8"},
	{"policy_for_streams", "p", "declare q; policy p .* apply=streams max-age=1D", "declare q; policy p .* apply=queues max-length=20"},
	{"policy_dlx_ignored", "p",
		"options dlx-by-argument-only=true; declare q; policy p .* apply=queues dead-letter-exchange=amq.fanout",
		"declare q; policy p .* apply=queues dead-letter-exchange=amq.fanout"},
	{"no_shelf", "/", "options lost-letters-max-bytes=0", "options lost-letters-max-bytes=5"},
}

func TestFindings(t *testing.T) {
	// If this fails, lint overlooks a mistake, or blames who has not made it.
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range fixtures {
		covered[c.code] = true
		for text, wanted := range map[string]bool{c.bad: true, c.good: false} {
			found := analysisOf(t, 5000, text).Findings()
			i := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Code == c.code })
			switch {
			case wanted != (i >= 0):
				t.Errorf("%s: found %v, want %v\n%s\n%s", c.code, i >= 0, wanted, text, told(found))
			case i >= 0 && found[i].Name != c.name:
				t.Errorf("%s: about '%s', want '%s'", c.code, found[i].Name, c.name)
			}
			for i := range found {
				if s := found[i].Text(); strings.ContainsAny(s, "{}") || s == "" {
					t.Errorf("%s: %s", found[i].Code, s)
				}
			}
		}
	}
	for _, code := range lint.FindingCodes() {
		if !covered[code] {
			t.Errorf("%s has no fixture", code)
		}
	}
}

func TestFindingsNameAllSources(t *testing.T) {
	// If this fails, a user who corrects one of the queues whose dead letters go to a queue learns of
	// the next one with the next check; or a finding has as many names as there are queues.
	t.Parallel()
	text := "declare dead max=9 dlx=\"\" dlrk=dead expires=9"
	for i, want := range []string{"", "", " Other source queues: b.", " Other source queues: b, c.",
		" Other source queues: b, c, ….", " Other source queues: b, c, …."} {
		if i > 0 {
			text += fmt.Sprintf("; declare %c dlx=\"\" dlrk=dead", 'a'+i-1)
		}
		found := analysisOf(t, 5000, text).Findings()
		at := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Code == "dlq_expires" })
		switch {
		case at < 0 && i > 0, at >= 0 && i == 0:
			t.Errorf("of %d queues: %s", i, told(found))
		case i > 0 && found[at].Text() != "Dead letters of queue 'a' go to queue 'dead', which is deleted with all its "+
			"messages when it is unused for 9 ms."+want:
			t.Errorf("of %d queues: %s", i, found[at].Text())
		}
	}
}

func told(found []lint.Finding) string {
	var b strings.Builder
	for i := range found {
		fmt.Fprintf(&b, "  %s %s %s: %s\n", found[i].Severity, found[i].Code, found[i].Name, found[i].Text())
	}
	return b.String()
}

func TestNothingIsFoundInAGoodTopology(t *testing.T) {
	// If this fails, lint is not silent where there is nothing to say, and nobody looks at it any more.
	t.Parallel()
	for _, text := range []string{
		"",
		"declare q; declare r type=quorum; exchange x topic; bind x -> q key=#",
		"exchange dlx fanout; declare dead ttl=1h; bind dlx -> dead; declare q ttl=5s dlx=dlx; declare r type=quorum dlx=dlx limit=3; policy p ^q$ apply=queues max-length=100; " +
			"declare dead2; consume dead2 c; bind dlx -> dead2",
	} {
		for _, f := range analysisOf(t, 5000, text).Findings() {
			if f.Severity > lint.Note {
				t.Errorf("%s: %s", text, f.Text())
			}
		}
	}
}

func TestSnapshotInPortions(t *testing.T) {
	// If this fails, a snapshot that is made in portions lacks something, has it twice, or depends on their size.
	t.Parallel()
	var whole, parts [][]string
	for _, c := range fixtures {
		for _, portion := range []int{1, 2, 3, 10_000} {
			s := analysisOf(t, portion, c.bad)
			var names []string
			for _, q := range s.Queues {
				names = append(names, "q:"+q.Name)
			}
			for _, x := range s.Exchanges {
				names = append(names, "e:"+x.Name)
			}
			for _, b := range s.Bindings {
				names = append(names, b.Source+">"+b.Destination+b.RoutingKey)
			}
			names = append(names, told(s.Findings()))
			if portion == 10_000 {
				for range 3 {
					whole = append(whole, names)
				}
			} else {
				parts = append(parts, names)
			}
		}
	}
	for i := range whole {
		if !slices.Equal(whole[i], parts[i]) {
			t.Errorf("whole %q\nin portions %q", whole[i], parts[i])
		}
	}
	p := vhost.NewPlay()
	var to vhost.Snapshotter
	for n := 0; p.Reader().SnapshotSome(&to, 2); n++ { // each portion finds another topology
		if n < 20 {
			if err := p.Given(fmt.Sprintf("declare q%d", n)); err != nil {
				t.Fatal(err)
			}
		} else if n > 200 {
			t.Fatal("a snapshot of what changes has no end")
		}
	}
	lint.Analyze(to.Snapshot()).Findings()
}

func TestGraph(t *testing.T) {
	// If this fails, the topology graph lacks a way, or has one that there is not.
	t.Parallel()
	s := analysisOf(t, 5000, `
		exchange x topic alternate-exchange=rest; exchange rest fanout; exchange later x-delayed-message x-delayed-type=direct; exchange lonely fanout;
		declare work dlx=dlx; declare retry ttl=5 dlx=x dlrk=back; declare byname dlx="" dlrk=work; declare other dlx=gone;
		bind x -> work key=a; bind x -> work key=back; bind later -> work key=k; exchange dlx fanout; bind dlx -> retry; link x -> rest key=z`)
	g, ok := s.Graph("", 0, 1000)
	if !ok || g.Partial {
		t.Fatal("no graph")
	}
	edges := map[string]bool{}
	for _, e := range g.Edges {
		edges[fmt.Sprintf("%s %s>%s %s n%d own=%v implicit=%v loop=%v", e.Kind, g.Nodes[e.From].Name, g.Nodes[e.To].Name,
			strings.Join(e.Keys, ","), e.Count, e.OwnKeys, e.Implicit, e.Loop)] = true
	}
	want := []string{
		"alternate x>rest  n1 own=false implicit=false loop=false",
		"binding >work work n1 own=false implicit=true loop=false",
		"binding dlx>retry  n1 own=false implicit=false loop=true",
		"binding x>rest z n1 own=false implicit=false loop=false",
		"binding x>work a,back n2 own=false implicit=false loop=true",
		"dead_letter byname> work n1 own=false implicit=false loop=false",
		"dead_letter other>gone  n1 own=true implicit=false loop=false",
		"dead_letter retry>x back n1 own=false implicit=false loop=true",
		"dead_letter work>dlx  n1 own=true implicit=false loop=true",
		"delayed later>work k n1 own=false implicit=false loop=false",
	}
	if got := slices.Sorted(maps.Keys(edges)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	names := func(g *lint.Graph) string {
		var all []string
		for _, n := range g.Nodes {
			all = append(all, n.Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(g); got != " dlx gone later lonely rest x byname other retry work" {
		t.Errorf("nodes: %s", got)
	}
	for _, c := range []struct {
		root  string
		depth int
		most  int
		names string
	}{
		{"q:retry", 1, 99, "dlx x retry"},
		{"retry", 1, 99, "dlx x retry"},
		{"e:later", 0, 99, "later"},
		{"later", 1, 99, "later work"},
		{"q:retry", 1, 2, "dlx retry"},
		{"amq.topic", 3, 9, "amq.topic"},
		{"gone", 1, 9, "gone other"},
	} {
		g, ok := s.Graph(c.root, c.depth, c.most)
		if !ok || names(g) != c.names {
			t.Errorf("%+v: %v %s", c, ok, names(g))
		}
	}
	if g, _ := s.Graph("retry", 1, 99); g.Nodes[1].Hidden != 3 { // x: work, rest twice
		t.Errorf("hidden: %+v", g.Nodes)
	}
	if _, ok := s.Graph("nope", 1, 9); ok {
		t.Error("there is no such node")
	}
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("declare q%d dlx=hub dlrk=k%d; declare d%d; bind hub -> d%d key=k%d", i, i, i, i, i))
	}
	s = analysisOf(t, 5000, append([]string{"exchange hub direct"}, lines...)...)
	if g, _ := s.Graph("q7", 3, 99); names(g) != "hub d7 q7" || g.Nodes[0].Hidden != 58 {
		t.Errorf("near q7: %s, %d hidden", names(g), g.Nodes[0].Hidden)
	}
	if g, _ := s.Graph("hub", 1, 99); len(g.Nodes) != 61 {
		t.Errorf("near the hub: %s", names(g))
	}
}
