package repair

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// people is the machine of users and virtual hosts, restored as far as possible.
type people struct {
	machine *accounts.Machine
	lost    []string
	hurt    bool // its log, or its checkpoint, is damaged
	stops   bool // no broker would start with it
}

const ownLog = storage.LogID(accounts.OwnLogID)

// replayAccounts replays the log of users and virtual hosts. A later version's is an error.
func replayAccounts(j *journal.Journal, doubt string) (*people, error) {
	p := &people{machine: accounts.New()}
	next := j.Next(ownLog)
	at, state, err := j.LoadCheckpoint(ownLog)
	switch {
	case err == nil:
		if err := p.apply(0, state, nil); err != nil {
			return nil, err
		}
	case errors.Is(err, journal.ErrNoCheckpoint):
		if next == 1 && len(j.Logs()) > 0 {
			p.lose("everything: neither a checkpoint nor a batch of the log exists")
		}
	default:
		p.hurt, p.stops = true, true
		var whole bool
		if whole, err = isWhole(j, ownLog); err != nil {
			return nil, err
		}
		if at = 0; !whole {
			at, state, err = j.DamagedCheckpoint(ownLog)
			if err != nil && !errors.Is(err, vfs.ErrNotExist) {
				return nil, err
			}
			p.lose("the damaged part of the checkpoint; the readable part may be wrong")
			p.takeSome(state)
		}
	}
	for i := at + 1; i < next; i++ {
		data, err := j.ReadBatch(nil, ownLog, i)
		var holes []journal.Hole
		var fault *journal.Fault
		if err != nil {
			p.stops = true
			data, holes, err = j.ReadHoles(ownLog, i)
		}
		switch {
		case err == nil:
			if err := p.apply(i, data, holes); err != nil {
				return nil, err
			}
		case errors.As(err, &fault) || errors.Is(err, journal.ErrGone):
			p.lose(fmt.Sprintf("the changes in batch %d: %v", i, briefly(err)))
		default:
			return nil, err
		}
	}
	for _, l := range j.Logs() {
		p.stops = p.stops || l.Log == ownLog && l.Fault != nil
	}
	if doubt != "" {
		p.stops = true
		p.lose(fmt.Sprintf("possibly the newest changes, after batch %d: %s", next-1, doubt))
	}
	return p, nil
}

func (p *people) lose(what string) { p.hurt, p.lost = true, append(p.lost, what) }

// apply applies the facts of a batch, up to the first that is damaged.
func (p *people) apply(index storage.Index, data []byte, holes []journal.Hole) error {
	if len(holes) > 0 {
		p.lose(fmt.Sprintf("the changes in batch %d from byte %d of %d on", index, holes[0].From, len(data)))
		p.takeSome(data[:holes[0].From])
		return nil
	}
	facts, err := accounts.ParseFacts(nil, data)
	for _, f := range facts {
		p.machine.Apply(f)
	}
	return err
}

// takeSome applies the facts that can be parsed.
func (p *people) takeSome(data []byte) {
	facts, _ := accounts.ParseFacts(nil, data) // the rest is lost, which has been said
	for _, f := range facts {
		p.machine.Apply(f)
	}
}

// reconcile settles, if changes are lost, which virtual hosts there are: logs that nobody owns get one, and one whose
// log was dropped was deleted.
func (p *people) reconcile(j *journal.Journal) (orphans []storage.LogID) {
	dropped, lossy := j.Dropped(), len(p.lost) > 0
	known := map[storage.LogID]bool{ownLog: true}
	for _, h := range p.machine.View().VHosts() {
		known[storage.LogID(h.LogID)] = true
		if lossy && slices.Contains(dropped, storage.LogID(h.LogID)) {
			p.machine.Apply(accounts.Fact{Kind: accounts.VHostDeleted, VHost: h.Name})
			p.lost = append(p.lost, fmt.Sprintf("the deletion of virtual host %q, which its log shows", h.Name))
		}
	}
	for _, l := range j.Logs() {
		id := l.Log.Owner()
		if known[id] || slices.Contains(dropped, id) {
			continue
		}
		known[id] = true
		if !lossy {
			orphans = append(orphans, id)
			continue
		}
		name := fmt.Sprintf("recovered-%d", id)
		for {
			if _, taken := p.machine.View().VHost(name); !taken {
				break
			}
			name += "-"
		}
		p.machine.Apply(accounts.Fact{Kind: accounts.VHostPut, VHost: name, LogID: uint32(id),
			Description: "recovered: its name is lost"})
		p.lost = append(p.lost, fmt.Sprintf("the name of the virtual host with log %d: it is now %q, and no user has permissions in it", id, name))
	}
	return orphans
}

// isWhole reports whether all batches of a log are there, from the first to the last known.
func isWhole(j *journal.Journal, log storage.LogID) (bool, error) {
	if j.First(log) != 1 {
		return false, nil
	}
	for i := storage.Index(1); i < j.Next(log); i++ {
		_, holes, err := j.ReadHoles(log, i)
		var fault *journal.Fault
		switch {
		case errors.As(err, &fault) || errors.Is(err, journal.ErrGone) || len(holes) > 0:
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}
