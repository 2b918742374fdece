package web

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
)

// A slowDocument is decoded until it is let go.
type slowDocument struct{ begun, let chan struct{} }

func (d *slowDocument) UnmarshalJSON([]byte) error {
	d.begun <- struct{}{}
	<-d.let
	return nil
}

// sharedDecoders decode two large documents at a time.
func sharedDecoders() (*Shared, slowDocument) {
	s := &Shared{Share: fairshare.New(func() uint64 { return 0 })}
	s.decoders.slots = make(chan struct{}, 2)
	s.Memory.Each, s.Memory.Total, s.Memory.Patience = 1<<30, 1<<30, time.Second
	return s, slowDocument{make(chan struct{}, 100), make(chan struct{})}
}

func requestOf(t *testing.T, s *Shared, user string) *Request {
	hr := httptest.NewRequestWithContext(t.Context(), "PUT", "/api/queues", nil)
	return &Request{Request: hr, Shared: s, Caller: authz.Of(&accounts.View{}, authz.Principal{User: user}, false)}
}

var largeText = []byte(`{"a":"` + strings.Repeat("x", largeDocument) + `"}`)

func TestFewLargeDocumentsAreDecodedAtATime(t *testing.T) {
	// If this fails, a user who sends large bodies on many connections occupies all processor cores while they are
	// decoded; or small ones wait for these.
	synctest.Test(t, func(t *testing.T) {
		s, d := sharedDecoders()
		done := make(chan error, 100)
		decode := func(n int, text []byte) {
			for range n {
				go func() { done <- requestOf(t, s, "ann").DecodeText(text, &d, false) }()
			}
			synctest.Wait()
		}
		decode(20, largeText)
		if begun, waits := len(d.begun), s.DecodingWaits(); begun != 2 || waits < 18 {
			t.Errorf("%d are decoded at a time, %d have waited; want 2 and 18 at least", begun, waits)
		}
		decode(3, []byte(`{}`))
		if begun := len(d.begun); begun != 5 {
			t.Errorf("%d of 3 small documents are decoded beside them", begun-2)
		}
		close(d.let)
		for range 23 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDocumentsWaitForAPlace(t *testing.T) {
	// If this fails, large bodies of a user are refused as soon as they are many, or a request that has a task takes a
	// second one.
	synctest.Test(t, func(t *testing.T) {
		s, d := sharedDecoders()
		done := make(chan error, 100)
		r := requestOf(t, s, "ann")
		if err := r.BeginTask(); err != nil {
			t.Fatal(err)
		}
		var tasks []*fairshare.Task
		for range fairshare.UserTasks - 1 {
			_, task, err := s.Share.Begin(t.Context(), "ann")
			if err != nil {
				t.Fatal(err)
			}
			tasks = append(tasks, task)
		}
		go func() { done <- r.DecodeText(largeText, &d, false) }()
		synctest.Wait() // it lends its place while it asks for memory
		go func() { done <- requestOf(t, s, "ann").DecodeText(largeText, &d, false) }()
		synctest.Wait()
		if begun := len(d.begun); begun != 1 {
			t.Fatalf("%d are decoded; want that of the request that has a turn", begun)
		}
		if err := <-done; !errors.Is(err, fairshare.ErrTooManyTasks) {
			t.Errorf("after a second without a place: %v", err)
		}
		go func() { done <- requestOf(t, s, "ann").DecodeText(largeText, &d, false) }()
		synctest.Wait()
		tasks[0].End()
		synctest.Wait()
		if begun := len(d.begun); begun != 2 {
			t.Errorf("a place that is free is not taken")
		}
		close(d.let)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if !r.Task.Lasts() {
			t.Error("decoding has ended the task of the request")
		}
		r.Ready()
		for range 2 { // tasks[0], and that of r
			if _, _, err := s.Share.Begin(t.Context(), "ann"); err != nil {
				t.Errorf("a place is held by nobody: %v", err)
			}
		}
		if taken := len(s.decoders.slots); taken != 0 {
			t.Errorf("%d slots are held by nobody", taken)
		}
	})
}
