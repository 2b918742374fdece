package queue

import (
	"strings"
	"testing"
)

// crowd makes consumers of one queue by name, with prefetch, and counts what they take.
type crowd struct {
	Consumers
	shared, window Limit
	byTag          map[string]*Consumer
}

func (c *crowd) add(tag string, prefetch int64, change ...func(*Consumer)) *Consumer {
	x := &Consumer{Tag: tag, Own: Limit{Max: prefetch}, Shared: &c.shared, Window: &c.window}
	for _, f := range change {
		f(x)
	}
	c.Add(x)
	if c.byTag == nil {
		c.byTag = map[string]*Consumer{}
	}
	c.byTag[tag] = x
	return x
}

func priority(n int64) func(*Consumer) { return func(c *Consumer) { c.Priority = n } }

// serve hands over n messages of one byte each, and tells to whom; - is nobody.
func (c *crowd) serve(n int) string {
	var tags []string
	for range n {
		x := c.Next()
		if x == nil {
			tags = append(tags, "-")
			continue
		}
		x.Window.Used++
		if !x.NoAck {
			x.Own.Used++
			x.Shared.Used++
		}
		tags = append(tags, x.Tag)
	}
	return strings.Join(tags, "")
}

func (c *crowd) settle(tag string) {
	x := c.byTag[tag]
	x.Own.Used--
	x.Shared.Used--
	c.WakeAll()
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("served %s, not %s", got, want)
	}
}

// TestRoundRobin says that consumers of one priority do not take turns.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	var c crowd
	c.add("a", 0)
	c.add("b", 0)
	c.add("c", 0)
	expect(t, c.serve(4), "abca")
	c.Remove(c.byTag["b"]) // whose turn it was
	expect(t, c.serve(3), "cac")
	c.add("d", 0)
	expect(t, c.serve(3), "dac")
}

// TestPrioritiesOfConsumers says that a consumer of lower priority is served while one of a higher has credit,
// or is not while none has.
func TestPrioritiesOfConsumers(t *testing.T) {
	t.Parallel()
	var c crowd
	c.add("l", 0, priority(-1))
	c.add("h", 1, priority(5))
	c.add("i", 1, priority(5))
	c.add("m", 1)
	expect(t, c.serve(5), "himll")
	c.settle("h")
	expect(t, c.serve(2), "hl")
	if all := c.All(); all[0].Tag != "h" || all[1].Tag != "i" || all[2].Tag != "m" || all[3].Tag != "l" {
		t.Errorf("the order is %s%s%s%s", all[0].Tag, all[1].Tag, all[2].Tag, all[3].Tag)
	}
}

// TestStuckAndWake says that a queue goes on asking consumers that have no credit, or does not ask again when one
// has.
func TestStuckAndWake(t *testing.T) {
	t.Parallel()
	var c crowd
	a := c.add("a", 1)
	expect(t, c.serve(2), "a-")
	a.Own.Used--
	expect(t, c.serve(1), "-") // nobody has said that anything changed
	c.WakeAll()
	expect(t, c.serve(2), "a-")
	c.add("b", 1)
	expect(t, c.serve(2), "b-")
	c.Remove(a)
	expect(t, c.serve(1), "-")
}

// TestLimits says that somebody is handed more than their own prefetch, that of their channel, or the window of
// their connection lets through.
func TestLimits(t *testing.T) {
	t.Parallel()
	var c crowd
	c.shared.Max = 3
	c.add("a", 2)
	c.add("b", 2)
	expect(t, c.serve(4), "aba-")
	c.settle("b")
	expect(t, c.serve(2), "b-")
	c.add("n", 0, func(x *Consumer) { x.NoAck = true })
	expect(t, c.serve(1), "-") // without acks the prefetch of the channel counts, too
	c.settle("b")
	c.byTag["b"].Own.Max = 1
	c.shared.Max = 4 // a and b have all that they may hold
	c.WakeAll()
	expect(t, c.serve(4), "bnnn")
	c.window.Max = c.window.Used + 1
	expect(t, c.serve(2), "n-")
	c.settle("a")
	expect(t, c.serve(1), "-")
	c.window.Used = 0
	c.WakeAll()
	expect(t, c.serve(1), "a")
}

// TestSingleActive says that a second consumer takes messages beside the first, or that none does after it.
func TestSingleActive(t *testing.T) {
	t.Parallel()
	var c crowd
	c.SetSingle(true, false)
	a := c.add("a", 2)
	b := c.add("b", 0, priority(9))
	expect(t, c.serve(3), "aa-")
	if !c.Active(a) || c.Active(b) {
		t.Error("not the first is the active one")
	}
	c.Remove(a)
	expect(t, c.serve(2), "bb")
	c.add("c", 0)
	expect(t, c.serve(2), "bb")
}

// TestSingleActiveByPriority says that a consumer of higher priority takes over while the active one still holds
// something, or does not when that is settled.
func TestSingleActiveByPriority(t *testing.T) {
	t.Parallel()
	var c crowd
	c.SetSingle(true, true)
	a := c.add("a", 0)
	expect(t, c.serve(1), "a")
	b := c.add("b", 0, priority(5))
	c.add("c", 0, priority(5))
	expect(t, c.serve(1), "-")
	if !c.Active(a) {
		t.Error("a still holds a message, and is not the active one")
	}
	c.settle("a")
	expect(t, c.serve(2), "bb")
	c.Remove(b)
	expect(t, c.serve(1), "c")
}

// TestExclusive says that a queue does not know that a consumer has it for itself.
func TestExclusive(t *testing.T) {
	t.Parallel()
	var c crowd
	if c.Exclusive() {
		t.Error("nobody has it")
	}
	x := c.add("x", 0, func(x *Consumer) { x.Exclusive = true })
	if !c.Exclusive() || c.Len() != 1 {
		t.Error("x has it")
	}
	if !c.Remove(x) || c.Remove(x) || c.Exclusive() {
		t.Error("x is gone once")
	}
}

func BenchmarkNext(b *testing.B) {
	var c crowd
	for _, tag := range strings.Split("abcdefgh", "") {
		c.add(tag, 0)
	}
	for b.Loop() {
		if c.Next() == nil {
			b.Fatal("nobody")
		}
	}
}
