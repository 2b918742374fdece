package cluster

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

var someState = State{Self: 7, Term: 1 << 40, Vote: 9, Commit: 300}

var someBase = Base{At: 1 << 33, Term: 12, Config: Config{
	Members: []Member{{1, 11}, {2, 1 << 63}, {3, 13}, {4, 14}}, Voters: []MemberID{1, 2}, Outgoing: []MemberID{1, 3},
	Learners: []MemberID{4}, Next: []MemberID{3},
}}

func TestWhatIsStoredIsReadAgain(t *testing.T) {
	t.Parallel()
	// If it fails, a replica begins with another state than it had.
	if s, err := ReadState(someState.Append(nil)); err != nil || s != someState {
		t.Errorf("%+v, %v", s, err)
	}
	if o, err := ReadBase(someBase.Append(nil)); err != nil || !reflect.DeepEqual(o, someBase) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestDamagedStatesAreRefused(t *testing.T) {
	t.Parallel()
	// If it fails, a replica goes on with a vote or with members that it has never had.
	for name, of := range map[string]struct {
		bytes []byte
		read  func([]byte) error
	}{
		"state": {someState.Append(nil), func(b []byte) error { _, err := ReadState(b); return err }},
		"base":  {someBase.Append(nil), func(b []byte) error { _, err := ReadBase(b); return err }},
	} {
		for n := range of.bytes {
			if err := of.read(of.bytes[:n]); !errors.Is(err, ErrState) {
				t.Errorf("%s: %d of %d bytes: %v", name, n, len(of.bytes), err)
			}
		}
		later := bytes.Clone(of.bytes)
		later[0]++
		for _, b := range [][]byte{append(bytes.Clone(of.bytes), 0), later} {
			if err := of.read(b); !errors.Is(err, ErrState) {
				t.Errorf("%s: % x: %v", name, b, err)
			}
		}
	}
	many := []byte{stateVersion, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}
	if _, err := ReadBase(many); !errors.Is(err, ErrState) {
		t.Errorf("more members than bytes: %v", err)
	}
}

// disk has batches from 1 on.
type disk [][]byte

func (d disk) ReadBatch(i storage.Index) ([]byte, error) {
	if i == 0 || int(i) > len(d) {
		return nil, errors.New("no such batch")
	}
	return d[i-1], nil
}

func begins(term uint64) []byte {
	b, _ := batchOf(&raftpb.Entry{Term: proto.Uint64(term), Type: raftpb.EntryNormal.Enum()})
	return b
}

func TestTermsAreFoundInTheLog(t *testing.T) {
	t.Parallel()
	// If it fails, a replica takes batches of one leader for those of another.
	work := []byte{1, 2, 3}
	change := []byte{controlMark, changeKind, 5}
	d := disk{begins(2), work, change, begins(4), work, begins(4), begins(9), change}
	terms := []uint64{2, 2, 2, 4, 4, 4, 9, 9}
	for _, c := range []struct {
		first storage.Index
		at    Base
		base  storage.Index
	}{
		{1, Base{}, 0},
		{1, Base{At: 5, Term: 4}, 0},
		{2, Base{At: 5, Term: 4}, 4}, // what comes before a control batch is of an unknown term
		{6, Base{At: 5, Term: 4}, 5},
		{5, Base{At: 5, Term: 4}, 5},
		{8, Base{At: 7, Term: 9}, 7},
	} {
		l, err := openLog(d, State{}, &c.at, c.first, 8)
		if err != nil {
			t.Fatalf("from %d, machine %d: %v", c.first, c.at.At, err)
		}
		if l.base != c.base || l.last != 8 {
			t.Errorf("from %d, machine %d: the log goes from %d to %d", c.first, c.at.At, l.base, l.last)
		}
		for i := max(l.base, 1); i <= 8; i++ {
			if got, err := l.Term(uint64(i)); err != nil || got != terms[i-1] {
				t.Errorf("from %d, machine %d: batch %d is of term %d, %v", c.first, c.at.At, i, got, err)
			}
		}
		if !l.changesIn(7, 8) || l.changesIn(4, 7) {
			t.Errorf("from %d, machine %d: changes at %v", c.first, c.at.At, l.changes)
		}
	}
}

func TestBadLogsAreRefused(t *testing.T) {
	t.Parallel()
	// If it fails, a replica votes and leads with a log that has not all.
	for name, c := range map[string]struct {
		d           disk
		machine     Base
		first, last storage.Index
		want        error
	}{
		"a gap":             {disk{begins(1), begins(1), begins(1)}, Base{At: 1, Term: 1}, 3, 3, ErrGap},
		"too short":         {disk{begins(1)}, Base{At: 2, Term: 1}, 1, 1, ErrGap},
		"a term goes back":  {disk{begins(3), begins(2)}, Base{}, 1, 2, ErrControl},
		"an unknown kind":   {disk{begins(3), {controlMark, 77}}, Base{}, 1, 2, ErrControl},
		"no kind":           {disk{{controlMark}}, Base{}, 1, 1, ErrControl},
		"a term of no byte": {disk{{controlMark, termKind}}, Base{}, 1, 1, ErrControl},
		"a term and more":   {disk{append(begins(3), 1)}, Base{}, 1, 1, ErrControl},
	} {
		if _, err := openLog(c.d, State{}, &c.machine, c.first, c.last); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := NewNode(1, UsualTiming, 0, 0, func() uint64 { return 0 })
	if _, err := n.Open(1, disk{begins(1)}, State{Self: 1, Term: 1, Commit: 2}, Base{}, 1, 1); err == nil {
		t.Error("a replica without a batch that is committed has been opened")
	}
}
