package engine

import (
	"net/netip"
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	// If this fails, passwords can be guessed as fast as the network allows, or those who know theirs are kept out.
	t.Parallel()
	th := newThrottle(0)
	now := time.Unix(1000, 0)
	here := netip.MustParseAddr("192.0.2.1")
	try := func(user string, from netip.Addr) bool {
		one, all := th.keys(user, from)
		if !th.mayTry(one, all, now) {
			return false
		}
		th.failed(one, all, now)
		return true
	}
	attempts := func(user string, from netip.Addr) (n int) {
		for try(user, from) {
			n++
		}
		return n
	}
	if n := attempts("guest", here); n != failuresAtOnce {
		t.Errorf("%d attempts at once", n)
	}
	if try("guest", netip.MustParseAddr("::ffff:192.0.2.1")) {
		t.Error("the same address, written otherwise, is another")
	}
	if !try("guest", netip.MustParseAddr("192.0.2.2")) || !try("other", here) || !try("guest", netip.Addr{}) {
		t.Error("others have to wait, too")
	}
	now = now.Add(failureEvery)
	if n := attempts("guest", here); n != 1 {
		t.Errorf("%d attempts after %v", n, failureEvery)
	}
	now = now.Add(time.Hour)
	if n := attempts("guest", here); n != failuresAtOnce {
		t.Errorf("%d attempts after an hour", n)
	}
	six := netip.MustParseAddr("2001:db8::1")
	total := 0
	for i := range 100 {
		total += attempts(string(rune('A'+i)), six)
		six = six.Next()
	}
	if total != failuresAtOnce*failuresOfAll {
		t.Errorf("%d attempts with many users from one network", total)
	}
}

func TestThrottledLogin(t *testing.T) {
	// If this fails, the doors are not told that a login was not looked at.
	t.Parallel()
	e := start(t, newDisk())
	defer stop(t, e)
	from := netip.MustParseAddr("192.0.2.1")
	for range failuresAtOnce {
		if ok, reason := e.Authenticate("guest", "wrong", from); ok || reason != "invalid credentials" {
			t.Fatalf("%v, %q", ok, reason)
		}
	}
	if ok, reason := e.Authenticate("guest", "guest", from); ok || reason != tooManyFailures {
		t.Errorf("%v, %q", ok, reason)
	}
	if ok, _ := e.Authenticate("guest", "guest", netip.MustParseAddr("192.0.2.9")); !ok {
		t.Error("refused elsewhere")
	}
}
