package management

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func budgetOf(total, each int64) *memoryBudget {
	return &memoryBudget{total: total, each: each, patience: time.Second}
}

func TestRequestsShareTheMemoryBudget(t *testing.T) {
	// If this fails, one user's requests take the memory of all others, or room that came free is not found.
	synctest.Test(t, func(t *testing.T) {
		b := budgetOf(100, 60)
		var ann, ann2, bob, cid account
		for a, user := range map[*account]string{&ann: "ann", &ann2: "ann", &bob: "bob", &cid: "cid"} {
			a.budget, a.user = b, user
		}
		take := func(a *account, n int64) error { return a.take(t.Context(), n) }
		for _, step := range []struct {
			who  *account
			n    int64
			want error
		}{
			{&ann, 50, nil}, {&ann2, 11, errNoMemory}, {&ann2, 10, nil}, {&bob, 41, errNoMemory}, {&bob, 40, nil}, {&cid, 1, errNoMemory},
		} {
			if err := take(step.who, step.n); !errors.Is(err, step.want) {
				t.Fatalf("%s takes %d: %v, want %v", step.who.user, step.n, err, step.want)
			}
		}
		if taken, refused := b.usage(); taken != 100 || refused != 3 {
			t.Errorf("%d bytes taken, %d refused", taken, refused)
		}
		waited := make(chan error)
		go func() { waited <- take(&cid, 30) }()
		synctest.Wait()
		ann2.end() // 10 bytes are not enough
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatalf("room for 10 bytes is enough for 30: %v", err)
		default:
		}
		bob.giveBack(15)
		if err := <-waited; err != nil || bob.taken != 15 {
			t.Errorf("%v, although there is room; %d left to whoever gave back", err, bob.taken)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := cid.take(ctx, 50); !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone still waits: %v", err)
		}
		for _, a := range []*account{&ann, &ann2, &bob, &cid} {
			a.end()
			a.end()
		}
		if taken, _ := b.usage(); taken != 0 || len(b.mu.users) != 0 {
			t.Errorf("%d bytes are never given back, %v", taken, b.mu.users)
		}
	})
}

func TestWhoeverIsAloneTakesWhatItNeeds(t *testing.T) {
	// If this fails, a list that is larger than the budget can never be had, or two of them are made at once.
	synctest.Test(t, func(t *testing.T) {
		b := budgetOf(100, 60)
		one, other := account{budget: b, user: "ann"}, account{budget: b, user: "bob"}
		for range 3 {
			if err := one.take(t.Context(), 90); err != nil {
				t.Fatal(err)
			}
		}
		if err := other.take(t.Context(), 1); !errors.Is(err, errNoMemory) {
			t.Errorf("beside 270 of 100 bytes there is room: %v", err)
		}
		one.end()
		if err := other.take(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if err := one.take(t.Context(), 200); !errors.Is(err, errNoMemory) {
			t.Errorf("whoever is not alone takes more than there is: %v", err)
		}
	})
}
