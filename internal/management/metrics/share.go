package metrics

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// A sharedPage is a page of metrics that is made once for all who asked for it before its making began. So a
// page is never older than the request that it answers, and however many ask at the same time, few pages are
// in memory. It is compressed: a page of a hundred thousand queues has a hundred megabytes, and a few when it
// is compressed.
type sharedPage struct {
	of      *page
	made    chan struct{} // closed when what follows is known
	err     error
	pieces  [][]byte
	packed  int64        // bytes in pieces
	length  int64        // bytes of the page
	account web.Account  // of the memory that it takes
	readers atomic.Int32 // and its maker; the last one to leave gives the memory back
}

// share is a page that is made from now on. Whoever gets it has to leave it.
func (c *scraper) share(ctx context.Context, p *page) (*sharedPage, error) {
	key := p.key()
	c.mu.Lock()
	x := c.mu.pages[key]
	if x == nil {
		x = &sharedPage{of: p, made: make(chan struct{}), account: web.Account{Budget: &p.server.Memory, User: metricsUser}}
		x.readers.Add(1)
		c.mu.pages[key] = x
		go c.make(x, key)
	}
	x.readers.Add(1)
	c.mu.Unlock()
	select {
	case <-x.made:
		if x.err != nil {
			x.leave()
			return nil, x.err
		}
		return x, nil
	case <-ctx.Done():
		x.leave()
		return nil, ctx.Err()
	}
}

// metricsUser is on whose account pages of metrics are: anybody may ask for them. It is no user's name.
const metricsUser = "\x00metrics"

// make waits for a turn and makes the page, unless nobody waits for it any more.
func (c *scraper) make(x *sharedPage, key string) {
	defer x.leave()
	defer close(x.made)
	defer func() { // net/http, which would do this, is not above
		if fault := recover(); fault != nil {
			x.of.server.Log.Error("panic while rendering metrics", "error", fmt.Sprint(fault), "stack", string(debug.Stack()))
			x.err = errors.New("cannot render the metrics")
		}
	}()
	turns := c.totals
	if x.of.endpoint == perObject || x.of.endpoint == detailed {
		turns = c.turns
	}
	turns <- struct{}{}
	defer func() { <-turns }()
	c.mu.Lock()
	delete(c.mu.pages, key) // who comes from now on gets the next one
	c.mu.Unlock()
	if x.readers.Load() == 1 {
		x.err = context.Canceled
		return
	}
	z, _ := gzip.NewWriterLevel((*packer)(x), gzip.BestSpeed) // a level that there is
	counted := &countingWriter{to: z}
	if x.err = x.of.write(context.Background(), counted); x.err == nil {
		x.err = z.Close()
	}
	x.length = counted.n
}

// leave says that a reader needs the page no more.
func (x *sharedPage) leave() {
	if x.readers.Add(-1) == 0 {
		x.account.End()
	}
}

// write sends the page.
func (x *sharedPage) write(w http.ResponseWriter, zipped bool) error {
	if zipped {
		w.Header().Set("Content-Length", strconv.FormatInt(x.packed, 10))
		for _, piece := range x.pieces {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
	w.Header().Set("Content-Length", strconv.FormatInt(x.length, 10))
	readers := make([]io.Reader, len(x.pieces))
	for i, piece := range x.pieces {
		readers[i] = bytes.NewReader(piece)
	}
	z, err := gzip.NewReader(io.MultiReader(readers...))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z)
	return err
}

// A packer collects a compressed page.
type packer sharedPage

// Write implements io.Writer.
func (x *packer) Write(p []byte) (n int, err error) {
	for n < len(p) {
		last := len(x.pieces) - 1
		if last < 0 || len(x.pieces[last]) == cap(x.pieces[last]) {
			if (last+2)*web.StreamPiece > web.LargeAnswer {
				if err := x.account.Take(context.Background(), web.StreamPiece); err != nil {
					return n, err
				}
			}
			x.pieces = append(x.pieces, make([]byte, 0, web.StreamPiece))
			last++
		}
		piece := x.pieces[last]
		k := copy(piece[len(piece):cap(piece)], p[n:])
		x.pieces[last] = piece[:len(piece)+k]
		n += k
	}
	x.packed += int64(n)
	return n, nil
}

// A countingWriter counts what goes through it.
type countingWriter struct {
	to io.Writer
	n  int64
}

// Write implements io.Writer.
func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.n += int64(n)
	return n, err
}
