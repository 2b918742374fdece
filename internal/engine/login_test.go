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
		a := th.attempt(user, from)
		if !th.mayTry(a, now) {
			return false
		}
		th.failed(a, now)
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

func TestThrottleSharesFairly(t *testing.T) {
	// If this fails, somebody who guesses passwords keeps those out who know theirs, or a login from there once lets
	// anybody guess as fast as the network allows.
	t.Parallel()
	th := newThrottle(0)
	now := time.Unix(1000, 0)
	here := netip.MustParseAddr("192.0.2.1")
	fails := func(user string) (looked int) {
		for range 10_000 {
			a := th.attempt(user, here)
			if !th.mayTry(a, now) {
				return looked
			}
			th.failed(a, now)
			looked++
		}
		return looked
	}
	guest, late := th.attempt("guest", here), th.attempt("late", here)
	th.succeeded(guest, now)
	kept := 0
	for i := range 60 * 20 { // a minute of 20 guesses a second at two names, and a login of each every second
		now = now.Add(time.Second / 20)
		for _, a := range []attempt{guest, late} {
			if th.mayTry(a, now) {
				th.failed(a, now)
			}
		}
		if i%20 == 10 && th.mayTry(guest, now) {
			th.succeeded(guest, now)
			kept++
		}
	}
	if kept != 60 {
		t.Errorf("%d of 60 logins of one who has logged in from there before", kept)
	}
	if th.mayTry(late, now) {
		t.Error("one who never has is not slowed down")
	}
	for i := range 100 { // the address is slowed down for all others
		fails(string(rune('A' + i)))
	}
	if th.mayTry(th.attempt("other", here), now) || !th.mayTry(guest, now) {
		t.Error("guesses at other names count for one who has logged in from there, or do not for others")
	}
	now = now.Add(time.Hour)
	if n := fails("guest"); n != failuresAtOnce*failuresOfKnown {
		t.Errorf("%d attempts at once", n)
	}
	if now = now.Add(time.Second); fails("guest") != int(time.Second/failureEveryOfKnown) {
		t.Error("guesses come faster than at the rate that is granted")
	}
	if now = now.Add(knownFor); fails("guest") != failuresAtOnce {
		t.Error("a login is remembered for ever")
	}
}

func TestThrottledLogin(t *testing.T) {
	// If this fails, the frontends are not told that a login was not looked at.
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
