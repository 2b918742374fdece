package repair

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// patient is a virtual host under examination.
type patient struct {
	name    string
	log     storage.LogID
	salvage *vhost.Salvage
	stops   string // why a broker would not open it, "" if it would
	hurt    bool   // its state has to be made anew
}

// replayVHost replays the log of a virtual host as far as possible, and reads all that it refers
// to. Doubt says what may have been lost at the end of its log, "" if nothing.
func replayVHost(j *journal.Journal, name string, log storage.LogID, doubt string) (*patient, error) {
	r := &records{j: j}
	p := &patient{name: name, log: log, salvage: vhost.NewSalvage(name, log, r.read)}
	from, err := p.applyCheckpoint(j)
	if err != nil {
		return nil, err
	}
	if err := p.applyBatches(j, from); err != nil {
		return nil, err
	}
	for _, l := range j.Logs() {
		if l.Log == log && l.Fault != nil {
			p.stop(l.Fault.Error())
		}
	}
	if doubt != "" {
		p.stop(doubt)
		p.salvage.Missing(j.Next(log), 0, doubt)
	}
	if p.salvage.Wants() {
		if err := p.search(j); err != nil {
			return nil, err
		}
	}
	p.salvage.Examine()
	for _, l := range p.salvage.DataLosses() {
		if l.Kind == vhost.LossOfPage || l.Kind == vhost.LossOfEnded {
			p.stop(l.Why) // at once, or as soon as it is wanted
		}
	}
	p.hurt = p.hurt || len(p.salvage.DataLosses()) > 0
	return p, nil
}

func (p *patient) stop(why string) { p.stops = cmp.Or(p.stops, why) }

// applyCheckpoint applies the newest checkpoint, and tells with which batch the log goes on. One that is damaged is not
// needed if all of the log is there.
func (p *patient) applyCheckpoint(j *journal.Journal) (from storage.Index, err error) {
	at, state, err := j.LoadCheckpoint(p.log)
	switch {
	case errors.Is(err, journal.ErrNoCheckpoint):
		return 1, nil
	case err == nil:
		return at + 1, p.salvage.Checkpoint(at, state, true)
	}
	p.hurt = true
	p.stop(err.Error())
	whole, err := isWhole(j, p.log)
	if err != nil || whole {
		return 1, err
	}
	at, state, err = j.DamagedCheckpoint(p.log)
	switch {
	case errors.Is(err, vfs.ErrNotExist):
		if first := j.First(p.log); first > 0 { // nothing else is known of what was before
			p.salvage.Missing(1, first-1, "the checkpoint is missing")
			return first, nil
		}
	case err != nil:
		return 0, err
	}
	return at + 1, p.salvage.Checkpoint(at, state, false)
}

// applyBatches applies the batches of the log from one on.
func (p *patient) applyBatches(j *journal.Journal, from storage.Index) error {
	missing, why := storage.Index(0), ""
	tell := func(next storage.Index) {
		if missing > 0 {
			p.salvage.Missing(missing, next-1, why)
			missing = 0
		}
	}
	next := j.Next(p.log)
	for i := from; i < next; i++ {
		data, err := j.ReadBatch(nil, p.log, i)
		var holes []journal.Hole
		var fault *journal.Fault
		if err != nil {
			p.stop(err.Error())
			data, holes, err = j.ReadHoles(p.log, i)
		}
		if errors.As(err, &fault) || errors.Is(err, journal.ErrGone) {
			if missing == 0 {
				missing, why = i, briefly(err).Error()
			}
			p.stop(err.Error())
			continue
		}
		if err != nil {
			return err
		}
		tell(i)
		if err := p.salvage.Batch(i, data, pairs(holes)); err != nil {
			return err
		}
	}
	tell(next)
	return nil
}

// search looks for messages of lost pages in what there is of the log.
func (p *patient) search(j *journal.Journal) error {
	for i := j.First(p.log); i > 0 && i < j.Next(p.log); i++ {
		data, holes, err := j.ReadHoles(p.log, i)
		var fault *journal.Fault
		if errors.As(err, &fault) || errors.Is(err, journal.ErrGone) {
			continue
		}
		if err == nil {
			err = p.salvage.Search(i, data, pairs(holes))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pairs(holes []journal.Hole) [][2]int {
	var all [][2]int
	for _, h := range holes {
		all = append(all, [2]int{h.From, h.To})
	}
	return all
}

// describe is the virtual host as the report shows it.
func (p *patient) describe(j *journal.Journal) VHost {
	v := p.salvage.VHost()
	h := describe(v)
	h.Name, h.Log, h.State, h.Starts, h.LastBatch = p.name, uint32(p.log), Sound, p.stops == "", uint64(j.Next(p.log)-1)
	for _, l := range j.Logs() {
		if l.Log == p.log {
			h.Checkpoint = uint64(l.Checkpoint)
		}
	}
	if p.hurt {
		h.State = Damaged
	}
	for _, l := range p.salvage.DataLosses() {
		h.Lost = append(h.Lost, lostOf(&l))
	}
	return h
}

// describe counts what is in a virtual host.
func describe(v *vhost.VHost) VHost {
	h := VHost{LostLetters: v.Reader().LostStore().Messages}
	for range v.Topology().Exchanges() {
		h.Exchanges++
	}
	for range v.Topology().Bindings() {
		h.Bindings++
	}
	for _, q := range v.Reader().Queues() {
		h.Queues++
		h.Messages += q.Ready + q.Waiting + q.Held
		h.Bytes += q.ReadyBytes + q.WaitingBytes + q.HeldBytes
		h.Held += q.Held
		h.Waiting += q.Waiting
	}
	for _, s := range v.Reader().Schedules() {
		h.Scheduled += s.Messages
	}
	return h
}

func lostOf(l *vhost.DataLoss) Lost {
	out := Lost{
		Kind: l.Kind, Batch: uint64(l.Index), LastBatch: uint64(l.Last), Queue: l.Queue, LostLetters: l.Lost, Priority: l.Priority, Number: l.Number,
		Count: l.Count, Found: l.Found, Position: l.Position, BodyBytes: l.BodyBytes, Exchange: l.Exchange, RoutingKey: l.RoutingKey,
		DiedIn: l.DiedIn, Why: l.Why,
	}
	out.Text = inWords(&out)
	return out
}

// queueOf names where a message was.
func queueOf(l *Lost) string {
	if l.LostLetters {
		return "the lost letters"
	}
	return fmt.Sprintf("queue %q", l.Queue)
}

func ofPriority(p uint8) string {
	if p == 0 {
		return ""
	}
	return fmt.Sprintf(" of priority %d", p)
}

// inWords says what is lost.
func inWords(l *Lost) string {
	queue, number := queueOf(l), fmt.Sprint(l.Number)+ofPriority(l.Priority)
	switch l.Kind {
	case vhost.LossOfFacts:
		switch {
		case l.Batch == 0:
			return l.Why
		case l.LastBatch == 0:
			return fmt.Sprintf("possibly batches after %d: %s", l.Batch-1, l.Why)
		case l.LastBatch > l.Batch:
			return fmt.Sprintf("the contents of batches %d to %d: %s", l.Batch, l.LastBatch, l.Why)
		}
		return fmt.Sprintf("the contents of batch %d: %s", l.Batch, l.Why)
	case vhost.LossOfContext:
		return fmt.Sprintf("a fact that needs lost facts: %s", l.Why)
	case vhost.LossOfQueue:
		return fmt.Sprintf("the declaration of a queue, which is now %q: %s", l.Queue, l.Why)
	case vhost.LossOfMessages:
		return fmt.Sprintf("%d messages of %s from number %s on: %s", l.Count, queue, number, l.Why)
	case vhost.LossOfPage:
		return fmt.Sprintf("%d messages of %s among those from number %s on, %d were found again in the log: %s", l.Count, queue, number, l.Found, l.Why)
	case vhost.LossOfRecord:
		return fmt.Sprintf("message %s of %s%s: %s", number, queue, knownOf(l), l.Why)
	case vhost.LossOfHistory:
		return fmt.Sprintf("the death history of message %s of %s; the message is kept, without x-death: %s", number, queue, l.Why)
	case vhost.LossOfRecent:
		return fmt.Sprintf("a message in the recent history of exchange %q: %s", l.Queue, l.Why)
	case vhost.LossOfEnded:
		return fmt.Sprintf("a page of ended messages, but no message: %s", l.Why)
	}
	return l.Why
}

// knownOf says what is known of a message.
func knownOf(l *Lost) string {
	known := ""
	if l.Position > 0 {
		known += fmt.Sprintf(", number %d in line", l.Position)
	}
	if l.BodyBytes > 0 && !l.LostLetters {
		known += fmt.Sprintf(", %d bytes", l.BodyBytes)
	}
	if l.Exchange != "" || l.RoutingKey != "" {
		known += fmt.Sprintf(", published to exchange %q with key %q", l.Exchange, l.RoutingKey)
	}
	if l.DiedIn != "" {
		known += fmt.Sprintf(", died in queue %q", l.DiedIn)
	}
	return known
}
