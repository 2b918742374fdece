package engine

import (
	"cmp"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
)

// Guessing of passwords is slowed down. An address that has failed too often is refused without a look at the password
// until time has passed: for one user soon, for all users together later.
//
// A user who has logged in from an address before has a share of its own there, which strangers' guesses at other names
// do not use up and which is wide enough that guesses at its own name do not keep it out. Source: ours.
const (
	failuresAtOnce    = 20              // of one user from one address, where Options say nothing else
	failureEvery      = 5 * time.Second // one more attempt is granted
	failuresOfAll     = 10              // times as many of one address with any users
	failureEveryOfAll = time.Second / 2

	// The share of a user at an address from which it has logged in before. Passwords may be guessed there at this
	// rate, 40 a second: the price for not being kept out by somebody behind the same proxy or NAT.
	failuresOfKnown     = 10 // times as many at once
	failureEveryOfKnown = 25 * time.Millisecond
	knownFor            = 7 * 24 * time.Hour // after the latest login from there

	throttleSlots = 1 << 13 // of each kind, 320 KiB together; those that share one share its limit
)

// tooManyFailures is what the log is told of a login that was not looked at.
const tooManyFailures = "too many failed logins from this address"

// Authenticate checks a password that came from an address, which is invalid for one of this machine that is no
// network's. The reason says why not, for the log. Frontends ask here and not the picture of users, so that guessing
// takes its time at all of them together.
func (e *Engine) Authenticate(user, password string, from netip.Addr) (ok bool, reason string) {
	in, reason := e.LogIn(user, password, from)
	return in != nil, reason
}

// LogIn is Authenticate which tells by which view of the users it was decided: the user is in it. It is nil where
// Authenticate reports false.
func (e *Engine) LogIn(user, password string, from netip.Addr) (in *accounts.View, reason string) {
	now := time.Now()
	a := e.throttle.attempt(user, from)
	if !e.throttle.mayTry(a, now) {
		return nil, tooManyFailures
	}
	view := e.Accounts()
	ok, reason := view.Authenticate(user, password)
	if !ok {
		e.throttle.failed(a, now)
		return nil, reason
	}
	e.throttle.succeeded(a, now)
	return view, ""
}

// throttle counts failed logins in buckets that leak, and remembers who has logged in from where.
type throttle struct {
	most int64 // failures at once of one user from one address; negative: no limit
	seed maphash.Seed
	mu   struct {
		sync.Mutex
		one, all []bucket     // by hash of user and address, by hash of the address
		known    []knownLogin // by hash of user and address
	}
}

// bucket is full when its latest failure is paid for so late.
type bucket struct{ paid int64 } // ns since the Unix epoch

// knownLogin is a user who has logged in from an address. One that shares a slot with another takes its place at
// its next login.
type knownLogin struct {
	who    uint64 // hash of user and address; 0: nobody
	until  int64  // ns since the Unix epoch
	bucket bucket
}

// attempt is a user at an address: hashes of both, and of the address.
type attempt struct{ pair, address uint64 }

func newThrottle(most int) *throttle {
	t := &throttle{most: int64(cmp.Or(most, failuresAtOnce)), seed: maphash.MakeSeed()}
	t.mu.one, t.mu.all = make([]bucket, throttleSlots), make([]bucket, throttleSlots)
	t.mu.known = make([]knownLogin, throttleSlots)
	return t
}

// attempt names a user at an address. Of IPv6 a network of 64 bits counts as one address.
func (t *throttle) attempt(user string, from netip.Addr) attempt {
	from = from.Unmap().WithZone("")
	if from.Is6() {
		if net, err := from.Prefix(64); err == nil {
			from = net.Addr()
		}
	}
	address := from.String()
	return attempt{maphash.String(t.seed, address+" "+user), maphash.String(t.seed, address)}
}

// mayTry reports whether there is space for one more failure.
func (t *throttle) mayTry(a attempt, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.most < 0 {
		return true
	}
	if k := t.known(a, now); k != nil {
		return k.bucket.fits(now, t.most*failuresOfKnown, failureEveryOfKnown)
	}
	return t.mu.one[a.pair%throttleSlots].fits(now, t.most, failureEvery) &&
		t.mu.all[a.address%throttleSlots].fits(now, t.most*failuresOfAll, failureEveryOfAll)
}

func (t *throttle) failed(a attempt, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.known(a, now); k != nil {
		k.bucket.add(now, failureEveryOfKnown)
		return
	}
	t.mu.one[a.pair%throttleSlots].add(now, failureEvery)
	t.mu.all[a.address%throttleSlots].add(now, failureEveryOfAll)
}

// succeeded remembers that the user has logged in from there.
func (t *throttle) succeeded(a attempt, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &t.mu.known[a.pair%throttleSlots]
	if k.who != a.pair {
		*k = knownLogin{who: a.pair}
	}
	k.until = now.Add(knownFor).UnixNano()
}

// known is the share of one who has logged in from there before, nil for others. mu is held.
func (t *throttle) known(a attempt, now time.Time) *knownLogin {
	k := &t.mu.known[a.pair%throttleSlots]
	if k.who != a.pair || k.until < now.UnixNano() {
		return nil
	}
	return k
}

func (b *bucket) fits(now time.Time, atOnce int64, every time.Duration) bool {
	return max(b.paid, now.UnixNano()) <= now.UnixNano()+(atOnce-1)*int64(every)
}

func (b *bucket) add(now time.Time, every time.Duration) {
	b.paid = min(max(b.paid, now.UnixNano()), math.MaxInt64-int64(every)) + int64(every)
}
