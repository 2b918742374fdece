package cluster

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A MemberID names a replica of one group. A node that gives up a replica and gets another gets another id: a member
// that has forgotten its vote is no member.
type MemberID uint64

// Member is a replica of a group.
type Member struct {
	ID   MemberID
	Node NodeID
}

// State is what a replica must remember beside its log: it is durable before anything that rests on it is said. Each is
// a batch of the replica's state log, of which the last counts.
type State struct {
	Self       MemberID
	Term, Vote uint64
	// Commit is a lower bound of what is committed. It is exact about changes of members: before a replica acknowledges
	// what comes behind a committed change, it is durable that the change is committed. Else two that were restarted
	// could elect a leader among the members of before.
	Commit uint64
}

// Base is where a replica's log begins: a checkpoint of the machine at that index, or nothing.
type Base struct {
	At     storage.Index
	Term   uint64 // of the batch at At
	Config Config // after it
}

// Config says who the members of a group are. While it changes there are two sets of voters, and a majority of each
// decides.
type Config struct {
	Members  []Member // all of them, in order of their ids
	Voters   []MemberID
	Outgoing []MemberID // the voters before a change that is under way
	Learners []MemberID
	Next     []MemberID // learners, once a change is over; they are outgoing voters now
}

// NodeOf returns the node of a member; 0: there is no such member.
func (c *Config) NodeOf(id MemberID) NodeID {
	for _, m := range c.Members {
		if m.ID == id {
			return m.Node
		}
	}
	return 0
}

// nodesOf are the nodes of a set of members.
func (c *Config) nodesOf(ids []MemberID) (nodes []NodeID) {
	for _, id := range ids {
		nodes = append(nodes, c.NodeOf(id))
	}
	return nodes
}

// voters are the nodes of each set of voters, of which a majority decides.
func (c *Config) voters() [][]NodeID {
	sets := [][]NodeID{c.nodesOf(c.Voters)}
	if len(c.Outgoing) > 0 {
		sets = append(sets, c.nodesOf(c.Outgoing))
	}
	return sets
}

func (c *Config) raft() *raftpb.ConfState {
	return &raftpb.ConfState{
		Voters: raw(c.Voters), VotersOutgoing: raw(c.Outgoing), Learners: raw(c.Learners), LearnersNext: raw(c.Next),
		AutoLeave: proto.Bool(false),
	}
}

// become takes over what Raft made of a change. Members that are new came with the change; those that are in no set any
// more are gone.
func (c *Config) become(to *raftpb.ConfState, added []Member) {
	known := slices.Clone(c.Members)
	for _, m := range added {
		known = slices.DeleteFunc(known, func(o Member) bool { return o.ID == m.ID })
		known = append(known, m)
	}
	*c = Config{
		Voters: members(to.GetVoters()), Outgoing: members(to.GetVotersOutgoing()),
		Learners: members(to.GetLearners()), Next: members(to.GetLearnersNext()),
	}
	for _, m := range known {
		if slices.Contains(c.Voters, m.ID) || slices.Contains(c.Outgoing, m.ID) || slices.Contains(c.Learners, m.ID) {
			c.Members = append(c.Members, m)
		}
	}
	slices.SortFunc(c.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
}

func raw(ids []MemberID) (raw []uint64) {
	for _, id := range ids {
		raw = append(raw, uint64(id))
	}
	return raw
}

func members(raw []uint64) (ids []MemberID) {
	for _, id := range raw {
		ids = append(ids, MemberID(id))
	}
	return ids
}

const stateVersion = 1

// ErrState is a state, or the head of a checkpoint, that cannot be read.
var ErrState = errors.New("unknown state of a replica")

// Append appends the state's bytes.
func (s *State) Append(b []byte) []byte {
	return appendNumbers(append(b, stateVersion), uint64(s.Self), s.Term, s.Vote, s.Commit)
}

// ReadState reads what Append has made.
func ReadState(b []byte) (s State, err error) {
	err = read(b, func(r *numbers) {
		s = State{Self: MemberID(r.next()), Term: r.next(), Vote: r.next(), Commit: r.next()}
	})
	return s, err
}

// Append appends the bytes of a base, with which a checkpoint of the machine begins.
func (o *Base) Append(b []byte) []byte {
	c := &o.Config
	b = appendNumbers(append(b, stateVersion), uint64(o.At), o.Term, uint64(len(c.Members)))
	for _, m := range c.Members {
		b = appendNumbers(b, uint64(m.ID), uint64(m.Node))
	}
	for _, set := range c.sets() {
		b = appendNumbers(b, uint64(len(*set)))
		b = appendNumbers(b, raw(*set)...)
	}
	return b
}

// ReadBase reads what Append has made.
func ReadBase(b []byte) (o Base, err error) {
	err = read(b, func(r *numbers) {
		o.At, o.Term = storage.Index(r.next()), r.next()
		for n := r.count(); n > 0; n-- {
			o.Config.Members = append(o.Config.Members, Member{ID: MemberID(r.next()), Node: NodeID(r.next())})
		}
		for _, set := range o.Config.sets() {
			for n := r.count(); n > 0; n-- {
				*set = append(*set, MemberID(r.next()))
			}
		}
	})
	return o, err
}

func (c *Config) sets() []*[]MemberID {
	return []*[]MemberID{&c.Voters, &c.Outgoing, &c.Learners, &c.Next}
}

func appendNumbers(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// read has all of b read as numbers, behind a version.
func read(b []byte, by func(*numbers)) error {
	if len(b) == 0 || b[0] != stateVersion {
		return fmt.Errorf("%w: %d bytes", ErrState, len(b))
	}
	r := numbers{rest: b[1:]}
	if by(&r); r.broken || len(r.rest) > 0 {
		return fmt.Errorf("%w: version %d, %d bytes", ErrState, b[0], len(b))
	}
	return nil
}

// numbers reads varints one after the other.
type numbers struct {
	rest   []byte
	broken bool
}

func (r *numbers) next() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.broken, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count is a number of things that take at least a byte each.
func (r *numbers) count() uint64 {
	n := r.next()
	if n > uint64(len(r.rest)) {
		r.broken = true
		return 0
	}
	return n
}
