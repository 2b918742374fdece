package web

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
)

// A busyRow takes a while to be encoded. It counts how many are at once.
type busyRow struct{ now, most *atomic.Int32 }

const busyFor = 100 * time.Microsecond

func (x *busyRow) MarshalJSON() ([]byte, error) {
	if n := x.now.Add(1); n > x.most.Load() {
		x.most.Store(n)
	}
	<-time.After(busyFor)
	x.now.Add(-1)
	return []byte(`{"name":"a queue with a name of some length, so that the answer is larger than one piece"}`), nil
}

// A stuckWriter is that of a client that reads one piece, and no more.
type stuckWriter struct {
	*httptest.ResponseRecorder
	stuck, reads chan struct{}
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	if w.Body.Len() > 0 {
		w.stuck <- struct{}{}
		<-w.reads
	}
	return w.ResponseRecorder.Write(p)
}

func TestListsTakeTurns(t *testing.T) {
	// If this fails, one user who reads long lists on many connections, or does not read them, keeps all processor
	// cores busy, and has the pages of other users wait.
	synctest.Test(t, func(t *testing.T) {
		s := &Shared{Share: fairshare.New(func() uint64 { return 0 }), Lists: fairshare.NewTurns(2, 0)}
		s.Turns = fairshare.NewTurns(1, fairshare.TurnMost)
		s.Memory.Each, s.Memory.Total, s.Memory.Patience = 1<<30, 1<<30, time.Second
		row := busyRow{new(atomic.Int32), new(atomic.Int32)}
		items := make([]busyRow, 2000)
		for i := range items {
			items[i] = row
		}
		name := func(*busyRow) string { return "" }
		serve := func(user, query string, w http.ResponseWriter, n int) {
			r := requestOf(t, s, user)
			r.URL.RawQuery, r.Writer = query, w
			defer r.Ready()
			a, err := List(r, items[:n], name)
			if err == nil && a.Stream != nil {
				err = NewStream(r, &a).Run()
				a.Sent = true
			}
			if err != nil {
				t.Error(err)
			}
			Send(w, r, a)
		}
		var all sync.WaitGroup
		stuck, reads := make(chan struct{}, 1000), make(chan struct{})
		all.Go(func() { serve("ann", "", &stuckWriter{httptest.NewRecorder(), stuck, reads}, len(items)) })
		<-stuck
		began := time.Now()
		serve("bob", "", httptest.NewRecorder(), 10)
		if took := time.Since(began); took != 10*busyFor {
			t.Errorf("10 rows took %v beside an answer that is not read", took)
		}
		for range 20 {
			all.Go(func() { serve("ann", "", httptest.NewRecorder(), len(items)) })
			all.Go(func() { serve("ann", "columns=name", httptest.NewRecorder(), len(items)) })
			all.Go(func() { serve("ann", "page=1&page_size=100", httptest.NewRecorder(), len(items)) })
			all.Go(func() { serve("ann", "", &stuckWriter{httptest.NewRecorder(), stuck, reads}, len(items)) })
			all.Go(func() {
				r := requestOf(t, s, "ann")
				Send(httptest.NewRecorder(), r, Answer{Status: http.StatusOK, Body: &items[0]})
			})
		}
		<-time.After(time.Second)
		for _, query := range []string{"", "page=1&page_size=10", "page=1&page_size=10&sort=name"} {
			began := time.Now()
			serve("bob", query, httptest.NewRecorder(), 10)
			if took := time.Since(began); took > 5*time.Millisecond {
				t.Errorf("10 rows of another user, which take %v, took %v; query %q", 10*busyFor, took, query)
			}
		}
		if most := row.most.Load(); most != 1 {
			t.Errorf("%d rows are encoded at once, want one", most)
		}
		close(reads)
		all.Wait()
		if _, now, waits := s.Turns.Usage(); now != 0 || waits < 100 {
			t.Errorf("%d wait, %d have waited", now, waits)
		}
	})
}

func TestWholeListsTakeTurns(t *testing.T) {
	// If this fails, a page of ten exchanges waits for all sorted lists that another user asks for, or is refused after
	// ten seconds of that.
	synctest.Test(t, func(t *testing.T) {
		s := &Shared{Lists: fairshare.NewTurns(2, 0), Turns: fairshare.NewTurns(1, fairshare.TurnMost)}
		s.Memory.Patience = 10 * time.Second
		const takes = time.Second
		var all sync.WaitGroup
		var refused atomic.Int32
		for range 100 {
			all.Go(func() {
				r := requestOf(t, s, "ann")
				defer r.Ready()
				if err := r.Gather(); err != nil {
					refused.Add(1)
					return
				}
				r.turn.Leave()
				<-time.After(takes)
			})
		}
		<-time.After(takes / 2)
		for range 3 {
			began := time.Now()
			r := requestOf(t, s, "bob")
			if err := r.Gather(); err != nil || time.Since(began) > takes {
				t.Errorf("another user has waited for %v, %v", time.Since(began), err)
			}
			r.Ready()
		}
		all.Wait()
		if refused, most := int(refused.Load()), 100-int(2*s.Memory.Patience/takes); refused > most || refused == 0 {
			t.Errorf("%d requests of 100 were refused, want at most %d", refused, most)
		}
		if working, waiting, _ := s.Lists.Usage(); working+waiting != 0 {
			t.Errorf("%d lists are held by nobody, %d wait", working, waiting)
		}
	})
}
