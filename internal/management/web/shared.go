package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Shared is what all requests have in common.
type Shared struct {
	Engine       *engine.Engine
	Log          *slog.Logger
	Node         string // the name of this node
	PathPrefix   string // before /api
	BodyBytesMax int64  // the largest body that any endpoint takes
	// lists show definitions only, unless a query says otherwise
	hideStatistics bool
	Share          *fairshare.Share                                  // tasks that read many messages
	Turns          *fairshare.Turns                                  // requests that make an answer
	Memory         MemoryBudget                                      // of requests
	Lists          *fairshare.Turns                                  // requests that hold a whole list
	Audit          func(r *Request, status int, detail []byte) error // records what a request has done, or is about to
	Copies         chan struct{}                                     // of virtual hosts, in use
	decoders       decoders                                          // of large documents
}

// SharedOptions are what operators decide of all requests.
type SharedOptions struct {
	Engine         *engine.Engine
	Log            *slog.Logger
	Node           string
	PathPrefix     string
	BodyBytesMax   int64
	HideStatistics bool
}

// NewShared returns what all requests of one server have in common.
func NewShared(o SharedOptions) *Shared {
	s := &Shared{
		Engine: o.Engine, Log: o.Log, Node: o.Node, PathPrefix: o.PathPrefix, BodyBytesMax: o.BodyBytesMax, hideStatistics: o.HideStatistics,
		Share: fairshare.New(o.Engine.Commands), Turns: fairshare.NewTurns(halfOfCores(), fairshare.TurnMost),
		Lists: fairshare.NewTurns(GathersMax, 0), Copies: make(chan struct{}, copiesMax),
	}
	s.decoders.slots = make(chan struct{}, halfOfCores())
	s.Memory.Each = max(userMemoryMin, 6*o.BodyBytesMax)
	s.Memory.Total, s.Memory.Patience = s.Memory.Each*3/2, memoryPatience
	return s
}

// halfOfCores is how many requests work at a time, so that the other cores are for messages.
func halfOfCores() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// Below is the escaped path of a request behind the prefix, "" if it is not below that.
func (s *Shared) Below(hr *http.Request) string {
	path, ok := strings.CutPrefix(hr.URL.EscapedPath(), s.PathPrefix)
	if !ok {
		return ""
	}
	return path
}

// Analyze copies what says where messages of a virtual host go, and finds out what that means.
func (s *Shared) Analyze(ctx context.Context, name string, use func(*lint.Analysis)) error {
	var to vhost.Snapshotter
	return s.Copy(ctx, name, func(v vhost.Reader, most int) bool { return v.SnapshotSome(&to, most) }, func() error {
		use(lint.Analyze(to.Snapshot()))
		return nil
	})
}

// errAlarmCopy refuses a copy of a large virtual host while there is too little memory.
var errAlarmCopy = &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
	Reason: fmt.Sprintf("memory alarm: a virtual host with more than %d queues, exchanges and bindings is not analyzed until it ends", AlarmCopyMax)}

// IsShortOfMemory reports whether nothing was copied because too much memory is in use.
func IsShortOfMemory(err error) bool {
	return errors.Is(err, errAlarmCopy) || errors.Is(err, ErrNoMemory)
}

// Copy copies a virtual host in portions between which it serves others, by some, which copies up to most things and
// reports whether there are more. Then use works with the copy. Few copies are made, or in use, at a time in the whole
// node: a copy takes far more memory than the answer. What waits for its turn holds nothing.
func (s *Shared) Copy(ctx context.Context, name string, some func(v vhost.Reader, most int) (more bool), use func() error) error {
	if err := fairshare.From(ctx).Idle(func() error { return s.awaitCopy(ctx) }); err != nil {
		return err
	}
	defer func() { <-s.Copies }()
	soon, cancel := context.WithTimeout(ctx, LookPatience)
	defer cancel()
	for more := true; more; {
		refused := false
		err := Look(soon, s.Engine, name, func(v vhost.Reader) {
			if refused = s.Engine.Alarms().Has(resource.LowMemory) && v.HasMore(AlarmCopyMax); !refused {
				more = some(v, snapshotPortion)
			}
		})
		if err != nil {
			return err
		}
		if refused {
			return errAlarmCopy
		}
	}
	return use()
}

// awaitCopy waits until a copy may be made.
func (s *Shared) awaitCopy(ctx context.Context) error {
	timer := time.NewTimer(s.Memory.Patience)
	defer timer.Stop()
	select {
	case s.Copies <- struct{}{}:
		return nil
	case <-timer.C:
		return ErrNoMemory
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ahead is by how much the time of a virtual host, in which it is told when things are due, is ahead of the wall clock,
// in ms; mostly 0.
func (s *Shared) Ahead(name string) int64 {
	for _, t := range s.Engine.Time().VHosts {
		if t.VHost == name {
			return t.Behind.Milliseconds()
		}
	}
	return 0
}
