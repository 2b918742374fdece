package search

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Broker is what the index looks at.
type Broker interface {
	// Look runs fn on the live state of a virtual host; it must be short, and keep no more than copies.
	Look(ctx context.Context, vhostName string, fn func(*vhost.VHost)) error
	Access() *access.View
	Now() time.Time
	// LowOnDisk reports whether publishers are held back for want of disk: then nothing is written.
	LowOnDisk() bool
}

// Options say what an index has.
type Options struct {
	Broker   Broker
	Dir      string // where it is kept; "": there is none, and every question is answered by a scan
	MaxBytes int64  // on the disk, about; 0: MaxBytes
	Log      *slog.Logger
}

// A Ref names a message.
type Ref struct {
	vhost.Where
	ID uint64
}

// Order is which letters come first.
type Order uint8

// The orders, by the time of the newest death.
const (
	Newest Order = iota
	Oldest
)

// A Query asks for letters.
type Query struct {
	VHost  string
	Filter *sift.Filter // nil: all
	Order  Order
	After  string // Answer.Next of the portion before; "": from the beginning
	Limit  int    // 0: LimitUsual
	// May says whether the caller may see letters of a place; lastQueue is where a lost letter died, else "". nil: all.
	May func(at vhost.Where, lastQueue string) bool
}

// Visit is shown a letter in the loop of its virtual host: it must be short, and all is lent. m has what Filter.Needs of
// the question names, and the deaths.
type Visit func(x *vhost.Seen, m *sift.Message)

// An Answer says what there is to know beside the letters.
type Answer struct {
	Next    string // what Query.After has to be for the next portion, "" at the end
	Scanned int    // letters that were looked at
	Partial bool   // the budget ended before the portion was full, or the index has forgotten old letters: go on with Next, if there is one
	Index   *State // nil: answered without the index
}

// State says how complete the index is.
type State struct {
	CompleteUntil time.Time // what came before is known
	Behind        int64     // messages that came since, about
	Forgotten     bool      // it has no room for the oldest letters
}

// A GroupQuery asks for groups of letters.
type GroupQuery struct {
	VHost  string
	By     sift.Grouping
	Filter *sift.Filter // nil: all
	Most   int          // groups, the largest; 0: GroupsUsual
	May    func(at vhost.Where, lastQueue string) bool
}

// Groups are the answer: the largest first.
type Groups struct {
	Groups []Group
	Total  int64 // letters in all groups, shown or not
	Others int64 // groups that are not shown
	Answer
}

// A Group is letters that have something in common.
type Group struct {
	Value       string
	Filter      string // of this group alone, as sift reads it
	Count       int64
	First, Last int64             // ms since the Unix epoch: the deaths of the oldest and the newest; 0: unknown
	Spark       [SparkParts]int64 // letters in equal stretches from First to Last
	Sample      Ref               // one of the newest
}

// SparkParts is into how many stretches the time of a group is divided.
const SparkParts = 24

// Errors.
var (
	// ErrCursor says that Query.After was not made by an answer to the same question.
	ErrCursor = errors.New("search: after must be what an answer to the same question has given as next")
	// ErrOff says that there is no index to be rebuilt.
	ErrOff = errors.New("search: there is no index: index.enabled is false, or the broker runs in memory")
)

// Show visits messages by their names, in order; those that are gone are left out. needs is what m has.
func (x *Index) Show(ctx context.Context, name string, refs []Ref, needs sift.Need, visit Visit) error {
	for len(refs) > 0 {
		err := x.look(ctx, name, func(v *vhost.VHost) {
			began := time.Now()
			for len(refs) > 0 && time.Since(began) < portion {
				if seen, ok := v.Find(refs[0].Where, refs[0].ID); ok {
					m := seen.Sift(needs)
					visit(&seen, &m)
				}
				refs = refs[1:]
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
