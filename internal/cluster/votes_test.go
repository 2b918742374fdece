package cluster

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

var three = Config{Members: []Member{{1, 11}, {2, 12}, {3, 13}}, Voters: []MemberID{1, 2, 3}}

// asksFor is a request for a vote in a term, of a member whose log ends at a batch of term 1.
func asksFor(term uint64, id MemberID, last uint64) Frame {
	return Frame{From: NodeID(10 + id), To: 11, Group: 1, Raft: &raftpb.Message{
		Type: raftpb.MsgVote.Enum(), From: proto.Uint64(uint64(id)), To: proto.Uint64(1), Term: proto.Uint64(term),
		Index: proto.Uint64(last), LogTerm: proto.Uint64(min(last, 1)),
	}}
}

// answered stores what is given out, and returns the state that was written and whether a vote was given.
func answered(t *testing.T, n *Node, f Frame) (s *State, given bool) {
	t.Helper()
	n.Receive(f)
	out := n.Take()
	for _, w := range out.Writes {
		if w.State != nil {
			s = w.State
		}
		n.Stored(w)
	}
	for _, f := range out.Frames {
		if f.Raft.GetType() == raftpb.MsgVoteResp {
			t.Error("a vote is answered before it is stored")
		}
	}
	for _, f := range n.Take().Frames {
		if f.Raft.GetType() == raftpb.MsgVoteResp {
			given = !f.Raft.GetReject()
		}
	}
	return s, given
}

// voter is node 11 after its silence, whose log has one batch.
func voter(t *testing.T, s State) *Node {
	t.Helper()
	n := NewNode(11, UsualTiming, 0, 0, func() uint64 { return 0 })
	if _, err := n.Open(1, disk{begins(1)}, s, Base{Config: three}, 1, 1); err != nil {
		t.Fatal(err)
	}
	n.Pass(UsualTiming.Silence)
	n.Take()
	return n
}

func TestAVoteIsStoredBeforeItIsGiven(t *testing.T) {
	t.Parallel()
	// If it fails, a member that is restarted votes for two leaders of one term.
	n := voter(t, State{Self: 1, Term: 1})
	s, given := answered(t, n, asksFor(5, 2, 0)) // its log is too short
	if given || s == nil || *s != (State{Self: 1, Term: 5}) {
		t.Fatalf("%+v is written, given %t", s, given)
	}
	s, given = answered(t, n, asksFor(5, 3, 1))
	if !given || s == nil || *s != (State{Self: 1, Term: 5, Vote: 3}) {
		t.Fatalf("%+v is written, given %t", s, given)
	}
	n = voter(t, *s)
	if _, given = answered(t, n, asksFor(5, 2, 1)); given {
		t.Error("it votes for another one in the same term")
	}
	if _, given = answered(t, n, asksFor(6, 2, 1)); !given {
		t.Error("it does not vote in the next term")
	}
}

func TestWhoHasJustStartedDoesNotVote(t *testing.T) {
	t.Parallel()
	// If it fails, a member that is restarted breaks the promises that it has forgotten.
	n := NewNode(11, UsualTiming, 500, 0, func() uint64 { return 0 })
	if _, err := n.Open(1, disk{begins(1)}, State{Self: 1, Term: 1}, Base{Config: three}, 1, 1); err != nil {
		t.Fatal(err)
	}
	n.Pass(500 + UsualTiming.Silence - 1)
	n.Take()
	if _, given := answered(t, n, asksFor(5, 2, 1)); given {
		t.Error("it has voted in its first second")
	}
	n.Pass(500 + UsualTiming.Silence)
	if _, given := answered(t, n, asksFor(5, 2, 1)); !given {
		t.Error("it does not vote after its first second")
	}
}

func TestWhoseSupportCounts(t *testing.T) {
	t.Parallel()
	// If it fails, a leader shows what a majority may decide otherwise.
	c := Config{
		Members: []Member{{1, 11}, {2, 12}, {3, 13}, {4, 14}, {5, 15}}, Voters: []MemberID{1, 2, 3},
		Outgoing: []MemberID{1, 4, 5}, Learners: []MemberID{4, 5}, Next: []MemberID{4},
	}
	for _, x := range []struct {
		by    []NodeID
		words string
		holds bool
	}{
		{[]NodeID{12, 14}, "one of each set", true},
		{[]NodeID{14, 15}, "learners", false},
		{[]NodeID{12, 13}, "no outgoing voter", false},
	} {
		s, l := NewSupport(UsualTiming), Lease{}
		for _, node := range x.by {
			s.Answered(node, 0, 0, 1)
			l.Acked(node, 1)
		}
		if l.Holds(s, 11, 1, c.voters()...) != x.holds {
			t.Errorf("supported by %s: %t", x.words, !x.holds)
		}
	}
}
