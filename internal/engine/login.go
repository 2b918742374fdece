package engine

import (
	"cmp"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
)

// Who guesses passwords is slowed down: an address that has failed too often is refused unheard until time has passed, for
// one user soon, for all users together later. Source: ours.
const (
	failuresAtOnce    = 20              // of one user from one address, where Options say nothing else
	failureEvery      = 5 * time.Second // one more attempt is granted
	failuresOfAll     = 10              // times as many of one address with any users
	failureEveryOfAll = time.Second / 2
	throttleSlots     = 1 << 13 // of each kind; those who share one share its patience: 256 KiB together
)

// tooManyFailures is what the log is told of a login that was not looked at.
const tooManyFailures = "too many failed logins from this address: not looked at"

// Authenticate checks a password that came from an address, which is invalid for one of this machine that is no
// network's. The reason says why not, for the log. Doors ask here and not the picture of users, so that guessing takes its
// time at all of them together.
func (e *Engine) Authenticate(user, password string, from netip.Addr) (ok bool, reason string) {
	in, reason := e.LogIn(user, password, from)
	return in != nil, reason
}

// LogIn is Authenticate which tells by which view of the users it was decided: the user is in it. It is nil where Authenticate
// reports false.
func (e *Engine) LogIn(user, password string, from netip.Addr) (in *access.View, reason string) {
	one, all := e.throttle.keys(user, from)
	now := time.Now()
	if !e.throttle.mayTry(one, all, now) {
		return nil, tooManyFailures
	}
	view := e.Access()
	ok, reason := view.Authenticate(user, password)
	if !ok {
		e.throttle.failed(one, all, now)
		return nil, reason
	}
	return view, ""
}

// throttle counts failed logins in buckets that leak.
type throttle struct {
	most int64 // failures at once of one user from one address; negative: no limit
	seed maphash.Seed
	mu   struct {
		sync.Mutex
		one, all []bucket // by hash of user and address, by hash of the address
	}
}

// bucket is full when its latest failure is paid for so late.
type bucket struct{ paid int64 } // ns since the Unix epoch

func newThrottle(most int) *throttle {
	t := &throttle{most: int64(cmp.Or(most, failuresAtOnce)), seed: maphash.MakeSeed()}
	t.mu.one, t.mu.all = make([]bucket, throttleSlots), make([]bucket, throttleSlots)
	return t
}

// keys are the slots of a user at an address, and of the address. Of IPv6 a network of 64 bits counts as one address.
func (t *throttle) keys(user string, from netip.Addr) (one, all uint64) {
	from = from.Unmap().WithZone("")
	if from.Is6() {
		if net, err := from.Prefix(64); err == nil {
			from = net.Addr()
		}
	}
	place := from.String()
	return maphash.String(t.seed, place+" "+user) % throttleSlots, maphash.String(t.seed, place) % throttleSlots
}

// mayTry reports whether there is room for one more failure.
func (t *throttle) mayTry(one, all uint64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most < 0 || t.mu.one[one].fits(now, t.most, failureEvery) && t.mu.all[all].fits(now, t.most*failuresOfAll, failureEveryOfAll)
}

func (t *throttle) failed(one, all uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.one[one].add(now, failureEvery)
	t.mu.all[all].add(now, failureEveryOfAll)
}

func (b *bucket) fits(now time.Time, atOnce int64, every time.Duration) bool {
	return max(b.paid, now.UnixNano()) <= now.UnixNano()+(atOnce-1)*int64(every)
}

func (b *bucket) add(now time.Time, every time.Duration) {
	b.paid = min(max(b.paid, now.UnixNano()), math.MaxInt64-int64(every)) + int64(every)
}
