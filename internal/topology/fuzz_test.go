package topology

import (
	"strings"
	"testing"
)

func FuzzTopic(f *testing.F) {
	// Broken if for some patterns and key the trie found another set than matching each pattern by the book.
	f.Add("a.*.c a.# # #.c.# *.b. ~", "a.b.c")
	f.Add("#.* *.# a..b .", "a..b")
	f.Add("#.#.# * a*", ".")
	f.Fuzz(func(t *testing.T, patterns, key string) {
		if len(key) > 40 || len(patterns) > 400 {
			return // the book is exponential
		}
		top := New()
		top.Declare(Exchange{Name: "x", Kind: Topic})
		top.AddQueue("odd", 1)
		top.AddQueue("even", 2)
		bound := strings.Split(patterns, " ")
		for i, p := range bound {
			if strings.Count(p, "#") > 4 {
				return
			}
			bound[i] = strings.Trim(p, "~")
		}
		bind := func(i int) Binding {
			return Binding{Source: "x", Destination: []string{"even", "odd"}[i%2], ToQueue: true, RoutingKey: bound[i]}
		}
		for i := range bound {
			top.Bind(bind(i))
		}
		for {
			want := map[QueueID]bool{}
			for b := range top.Bindings() {
				if topicMatches(words(b.RoutingKey), words(key)) {
					want[top.queues[b.Destination].id] = true
				}
			}
			route := top.Route(top.Exchange("x"), &Message{Key: []byte(key)}, nil)
			got, byKeys := route.Queues, route.ByKeys
			if len(got) != len(want) || !byKeys {
				t.Fatalf("%q with %q goes to %v, want %v", key, bound, got, want)
			}
			for _, id := range got {
				if !want[id] {
					t.Fatalf("%q with %q goes to %v, want %v", key, bound, got, want)
				}
			}
			check(t, top)
			if len(bound) == 0 {
				return
			}
			top.Unbind(bind(len(bound) - 1)) // and again, with one fewer
			bound = bound[:len(bound)-1]
		}
	})
}
