package web

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"
)

func TestMatchingEnds(t *testing.T) {
	// If this fails, a large expression on many names keeps a processor busy for minutes.
	t.Parallel()
	p := &NamePattern{pattern: regexp.MustCompile("a")}
	for range 100 {
		p.Match("ab")
	}
	if p.Match("ab") || p.Late(100) == nil {
		t.Error("names are matched when no time is left")
	}
	p = &NamePattern{pattern: regexp.MustCompile("a"), until: time.Now().Add(time.Hour)}
	for range 100 {
		if !p.Match("ab") || p.Match("b") || p.Late(100) != nil {
			t.Fatal("names are not matched although there is time")
		}
	}
}

// A timedWriter notes when it had to have taken what.
type timedWriter struct {
	*httptest.ResponseRecorder
	deadlines []int // bytes written before each
}

func (w *timedWriter) SetWriteDeadline(at time.Time) error {
	if left := time.Until(at); left <= 0 || left > TakeWithin {
		return fmt.Errorf("a piece has to be taken within %v", left)
	}
	w.deadlines = append(w.deadlines, w.Body.Len())
	return nil
}

func TestLargeAnswersAreTakenPieceByPiece(t *testing.T) {
	// If this fails, a client that does not read keeps an answer of any size in memory for as long as it likes.
	t.Parallel()
	w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
	text := bytes.Repeat([]byte("0123456789abcdef"), 3*answerPiece/16+1)
	if err := writePieces(requestOf(t, &Shared{}, "ann"), w, text); err != nil || !bytes.Equal(w.Body.Bytes(), text) {
		t.Errorf("%v, %d bytes of %d", err, w.Body.Len(), len(text))
	}
	if want := []int{0, answerPiece, 2 * answerPiece, 3 * answerPiece}; !slices.Equal(w.deadlines, want) {
		t.Errorf("deadlines after %v bytes, not %v", w.deadlines, want)
	}
}
