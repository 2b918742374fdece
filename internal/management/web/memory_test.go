package web

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func budgetOf(total, each int64) *MemoryBudget {
	return &MemoryBudget{Total: total, Each: each, Patience: time.Second}
}

func TestRequestsShareTheMemoryBudget(t *testing.T) {
	// If this fails, one user's requests take the memory of all others, or space that came free is not found.
	synctest.Test(t, func(t *testing.T) {
		b := budgetOf(100, 60)
		var ann, ann2, bob, cid Account
		for a, user := range map[*Account]string{&ann: "ann", &ann2: "ann", &bob: "bob", &cid: "cid"} {
			a.Budget, a.User = b, user
		}
		take := func(a *Account, n int64) error { return a.Take(t.Context(), n) }
		for _, step := range []struct {
			who  *Account
			n    int64
			want error
		}{
			{&ann, 50, nil}, {&ann2, 11, ErrNoMemory}, {&ann2, 10, nil}, {&bob, 41, ErrNoMemory}, {&bob, 40, nil}, {&cid, 1, ErrNoMemory},
		} {
			if err := take(step.who, step.n); !errors.Is(err, step.want) {
				t.Fatalf("%s takes %d: %v, want %v", step.who.User, step.n, err, step.want)
			}
		}
		if taken, refused := b.Usage(); taken != 100 || refused != 3 {
			t.Errorf("%d bytes taken, %d refused", taken, refused)
		}
		waited := make(chan error)
		go func() { waited <- take(&cid, 30) }()
		synctest.Wait()
		ann2.End() // 10 bytes are not enough
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatalf("room for 10 bytes is enough for 30: %v", err)
		default:
		}
		bob.GiveBack(15)
		if err := <-waited; err != nil || bob.Taken != 15 {
			t.Errorf("%v, although there is room; %d left to whoever gave back", err, bob.Taken)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := cid.Take(ctx, 50); !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone still waits: %v", err)
		}
		for _, a := range []*Account{&ann, &ann2, &bob, &cid} {
			a.End()
			a.End()
		}
		if taken, _ := b.Usage(); taken != 0 || len(b.mu.users) != 0 {
			t.Errorf("%d bytes are never given back, %v", taken, b.mu.users)
		}
	})
}

func TestWhoeverIsAloneTakesWhatItNeeds(t *testing.T) {
	// If this fails, a list that is larger than the budget can never be had, or two of them are made at once.
	synctest.Test(t, func(t *testing.T) {
		b := budgetOf(100, 60)
		one, other := Account{Budget: b, User: "ann"}, Account{Budget: b, User: "bob"}
		for range 3 {
			if err := one.Take(t.Context(), 90); err != nil {
				t.Fatal(err)
			}
		}
		if err := other.Take(t.Context(), 1); !errors.Is(err, ErrNoMemory) {
			t.Errorf("beside 270 of 100 bytes there is room: %v", err)
		}
		one.End()
		if err := other.Take(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if err := one.Take(t.Context(), 200); !errors.Is(err, ErrNoMemory) {
			t.Errorf("whoever is not alone takes more than there is: %v", err)
		}
	})
}
