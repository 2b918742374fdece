package cluster

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Write is what a replica has to make durable, in the order in which it was given out: first the state, then the
// batches. Then who drives the node calls Stored.
type Write struct {
	Group   *Group
	State   *State        // nil: it has not changed
	First   storage.Index // of the batches
	Batches [][]byte
	Cuts    bool // the first takes the place of a batch of that index, and of all behind it

	responses []*raftpb.Message
}

// EventKind says what has become of a replica.
type EventKind uint8

// The kinds of events.
const (
	// Commits: a batch is committed, and on the disk of this node.
	Commits EventKind = iota + 1
	// Leads: the replica leads. All batches before Index are committed; its machine decides from there on.
	Leads
	// Follows: the replica leads no more. What it has decided, and is not committed, may be lost.
	Follows
)

// Event is told to the machine of a replica, in order.
type Event struct {
	Kind  EventKind
	Group *Group
	Index storage.Index
	Batch []byte // of Commits; a control batch too
	Term  uint64 // of Leads
}

// ready moves on what Raft has to give out.
func (g *Group) ready(out *Output) {
	g.guard(func() error {
		for g.raft.HasReady() {
			rd := g.raft.Ready()
			if err := g.roles(&rd, out); err != nil {
				return err
			}
			for _, m := range rd.Messages {
				if err := g.give(m, out); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if g.fault != nil && g.leading {
		g.follow(out)
	}
}

// roles takes note of who leads, and of the term.
func (g *Group) roles(rd *raft.Ready, out *Output) error {
	s := g.raft.BasicStatus()
	leading := s.RaftState == raft.StateLeader
	if g.leading && (!leading || s.GetTerm() != g.term) {
		g.follow(out)
	}
	if g.term = s.GetTerm(); leading && !g.leading {
		g.leading, g.lease, g.supported = true, Lease{}, 0
		g.last = 0
	}
	if n := len(rd.Entries); g.leading && n > 0 {
		g.last = max(g.last, storage.Index(rd.Entries[n-1].GetIndex()))
	}
	if s.Lead != raft.None {
		g.campaignAt = 0
		if g.supported != g.book[MemberID(s.Lead)] {
			g.supported = 0 // a majority has elected another since, so no lease of a term before can be held any more
		}
	}
	return nil
}

// follow ends a leadership.
func (g *Group) follow(out *Output) {
	if g.leads {
		out.Events = append(out.Events, Event{Kind: Follows, Group: g})
	}
	g.leading, g.leads = false, false
}

// give gives out one message of Raft.
func (g *Group) give(m *raftpb.Message, out *Output) error {
	switch m.GetTo() {
	case raft.LocalAppendThread:
		return g.write(m, out)
	case raft.LocalApplyThread:
		for _, e := range m.GetEntries() {
			if err := g.apply(e, out); err != nil {
				return err
			}
		}
		return g.respond(m.GetResponses(), out)
	}
	g.send(m, out)
	return nil
}

// write makes a Write of what Raft wants to be stored.
func (g *Group) write(m *raftpb.Message, out *Output) error {
	w := &Write{Group: g, responses: m.GetResponses()}
	if entries := m.GetEntries(); len(entries) > 0 {
		w.First = storage.Index(entries[0].GetIndex())
		w.Cuts = w.First <= g.log.last
		for _, e := range entries {
			batch, err := batchOf(e)
			if err != nil {
				return err
			}
			w.Batches = append(w.Batches, batch)
			g.log.grow(storage.Index(e.GetIndex()), e.GetTerm(), e.GetType() == raftpb.EntryConfChangeV2)
		}
	}
	if m.Term != nil || m.Vote != nil || m.Commit != nil {
		s := g.stored
		s.Term, s.Vote, s.Commit = m.GetTerm(), m.GetVote(), m.GetCommit()
		from, to := storage.Index(g.stored.Commit), storage.Index(s.Commit)
		if s.Term != g.stored.Term || s.Vote != g.stored.Vote || g.log.changesIn(from, to) {
			g.stored, w.State = s, &s
		}
	}
	out.Writes = append(out.Writes, w)
	return nil
}

// apply gives a committed batch to the machine, or takes it itself.
func (g *Group) apply(e *raftpb.Entry, out *Output) error {
	batch, err := batchOf(e)
	if err != nil {
		return err
	}
	g.applied = storage.Index(e.GetIndex())
	if e.GetType() == raftpb.EntryConfChangeV2 {
		if err := g.changed(e.GetData()); err != nil {
			return err
		}
	}
	out.Events = append(out.Events, Event{Kind: Commits, Group: g, Index: g.applied, Batch: batch})
	if g.leading && !g.leads && e.GetTerm() == g.term {
		g.leads = true
		out.Events = append(out.Events, Event{Kind: Leads, Group: g, Index: g.last + 1, Term: g.term})
	}
	return nil
}

// changed takes over a change of the members.
func (g *Group) changed(data []byte) error {
	var c raftpb.ConfChangeV2
	if err := proto.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("change %d of the members: %w", g.applied, err)
	}
	added, err := ReadBase(c.GetContext())
	if err != nil {
		return fmt.Errorf("change %d of the members: %w", g.applied, err)
	}
	g.config.become(g.raft.ApplyConfChange(&c), added.Config.Members)
	g.note(g.config.Members)
	return nil
}

// respond has Raft hear what has been done, and others what rests on it.
func (g *Group) respond(responses []*raftpb.Message, out *Output) error {
	for _, m := range responses {
		if m.GetTo() != uint64(g.self) {
			g.send(m, out)
			continue
		}
		if err := g.feed(m); err != nil {
			return err
		}
	}
	return nil
}

// send sends a message to another member. With what acknowledges a leader of the present term goes the session of this
// node's promise.
func (g *Group) send(m *raftpb.Message, out *Output) {
	to := g.book[MemberID(m.GetTo())]
	if to == 0 {
		return
	}
	f := Frame{To: to, Group: g.id, Raft: m}
	switch m.GetType() {
	case raftpb.MsgAppResp, raftpb.MsgHeartbeatResp:
		if s := g.raft.BasicStatus(); m.GetTerm() == s.GetTerm() && m.GetTo() == s.Lead {
			if f.Session = g.node.promises.Session(to, g.node.now); f.Session != 0 {
				g.supported = to
			}
		}
	}
	out.Frames = append(out.Frames, f)
}

// Stored says that a write is durable, and all before it.
func (n *Node) Stored(w *Write) {
	g := w.Group
	g.guard(func() error { return g.respond(w.responses, &n.out) })
	n.touch(g)
}
