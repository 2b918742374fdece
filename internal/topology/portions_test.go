package topology

import (
	"fmt"
	"testing"
)

func TestBindingsAreReadInPortions(t *testing.T) {
	// If this fails, a list of bindings that is read in portions misses some, or has some twice.
	t.Parallel()
	top := New()
	top.Declare(Exchange{Name: "x", Kind: Direct})
	for i := range 20 {
		name := fmt.Sprint("q", i)
		top.AddQueue(name, QueueID(i+1))
		top.Bind(Binding{Source: "x", Destination: name, ToQueue: true, RoutingKey: name})
	}
	var seen []string
	numbers := map[string]uint64{}
	last, more := uint64(0), true
	for portion := 0; more; portion++ {
		last, more = top.BindingsAfter("x", last, 6, func(seq uint64, b Binding) {
			seen = append(seen, b.Destination)
			numbers[b.Destination] = seq
		})
		if portion == 0 { // the last one that was seen goes, one that comes next goes, and one comes back at the end
			for _, name := range []string{"q5", "q6", "q2"} {
				top.Unbind(Binding{Source: "x", Destination: name, ToQueue: true, RoutingKey: name})
			}
			top.Bind(Binding{Source: "x", Destination: "q2", ToQueue: true, RoutingKey: "q2"})
		}
	}
	if got, want := fmt.Sprint(seen), "[q0 q1 q2 q3 q4 q5 q7 q8 q9 q10 q11 q12 q13 q14 q15 q16 q17 q18 q19 q2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if b, ok := top.BindingNumbered("x", numbers["q9"]); !ok || b.Destination != "q9" {
		t.Errorf("%v, %t", b, ok)
	}
	if b, ok := top.BindingNumbered("x", numbers["q5"]); ok {
		t.Errorf("a binding that is gone has number %d: %v", numbers["q5"], b)
	}
	if _, more := top.BindingsAfter("none", 0, 6, func(uint64, Binding) { t.Error("an exchange that is not there has bindings") }); more {
		t.Error("an exchange that is not there has more")
	}
}
