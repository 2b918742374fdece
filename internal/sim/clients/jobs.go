package clients

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Clerk is a user of jobs whose rights come and go, and who may not take all dead letters. Any other user may
// do everything.
const Clerk = "clerk"

// redrive draws a job, a change of one, or a message that is sent anew.
func (cl *Clients) redrive() vhost.Command {
	source := vhost.Where{Queue: cl.queueName()}
	if cl.Chance(5) {
		source = vhost.Where{Lost: true}
	}
	if cl.Chance(6) {
		cl.Revoked = !cl.Revoked
	}
	switch cl.dice.IntN(7) {
	case 0, 1:
		return vhost.Command{Kind: vhost.ChangeRedrive, JobChange: &vhost.JobChange{
			Job: cl.someJob(), Action: vhost.JobAction(1 + cl.dice.IntN(int(vhost.JobForget))),
			Rate: cl.rate(), Note: "somebody",
		}}
	case 2:
		return cl.resend(source)
	}
	o := &vhost.JobSpec{
		User: "somebody", Source: source, Discard: cl.Chance(4), Newest: cl.Chance(4),
		Rate: cl.rate(), Ramp: cl.Chance(2),
		StopNoConsumer: cl.Chance(8), StripDeaths: cl.Chance(6), DropExpiration: cl.Chance(4), Keys: cl.Chance(3),
		Force: cl.Chance(2),
	}
	if cl.Chance(3) {
		o.User = Clerk
	}
	if cl.Chance(4) {
		o.Max = 1 + cl.dice.Uint64N(4)
	}
	if cl.Chance(3) {
		o.Canary = 1 + cl.dice.Uint64N(3)
	}
	if cl.Chance(2) {
		o.StopPercent = 1 + cl.dice.Uint64N(60)
	}
	if cl.Chance(2) {
		o.Watch = 1 + cl.dice.Uint64N(3000)
	}
	if cl.Chance(4) {
		o.Filter = []string{"reason:rejected", "-reason:expired", "count:>1"}[cl.dice.IntN(3)]
	}
	cl.aim(&o.Target, &o.Queue, &o.Exchange, &o.Key)
	if source.Lost && cl.Chance(2) {
		o.Target = vhost.TargetOnward
	}
	if cl.Chance(5) {
		for range 1 + cl.dice.IntN(4) {
			o.IDs = append(o.IDs, cl.idIn(source))
		}
	}
	return vhost.Command{Kind: vhost.BeginRedrive, JobSpec: o}
}

// resend draws a message that is sent anew: as it is, since a message is known by its body.
func (cl *Clients) resend(source vhost.Where) vhost.Command {
	x := &vhost.Edit{Source: source, ID: cl.idIn(source), Keep: cl.Chance(3), Force: cl.Chance(2)}
	cl.aim(&x.Way, &x.Queue, &x.Exchange, &x.Key)
	e := cl.CopyAt(source, x.ID)
	if e == nil || cl.Messages[e.Message].Delay > 0 || cl.Messages[e.Message].Nonsense {
		return vhost.Command{}
	}
	m := cl.Messages[e.Message]
	return vhost.Command{Kind: vhost.Resend, Edit: x, Properties: m.properties(nil), Body: m.Body}
}

func (cl *Clients) aim(to *vhost.Target, name, exchange, key *string) {
	switch cl.dice.IntN(5) {
	case 0:
		*to = vhost.TargetQueue
	case 1:
		*to, *name = vhost.TargetQueue, cl.queueName()
	case 2:
		*to, *exchange, *key = vhost.TargetExchange, cl.exchangeName(), cl.key()
	case 3:
		*to, *key = vhost.TargetExchange, cl.queueName()
	}
}

func (cl *Clients) rate() uint64 {
	if cl.Chance(2) {
		return 0
	}
	return 1 + cl.dice.Uint64N(60)
}

func (cl *Clients) someJob() fact.JobID {
	if len(cl.view.Ledger().Jobs) == 0 || cl.Chance(20) {
		return fact.JobID(cl.dice.IntN(9))
	}
	var ids []fact.JobID
	for id := range cl.view.Ledger().Jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids[cl.dice.IntN(len(ids))]
}

// whereabouts finds a source in the ledger, nil if it is not there.
func (cl *Clients) whereabouts(source vhost.Where) *ledger.Line {
	if source.Lost {
		return cl.view.Ledger().LostStore
	}
	return cl.view.Ledger().Lines[cl.QueueID(source.Queue, nil)]
}

func (cl *Clients) idIn(source vhost.Where) uint64 {
	if q := cl.whereabouts(source); q != nil && len(q.Copies) > 0 && !cl.Chance(12) {
		there := q.Seqs()
		return uint64(there[cl.dice.IntN(len(there))]) + 1
	}
	return uint64(1 + cl.dice.IntN(9))
}

// CopyAt finds the copy with an ID in a source, nil if it is not there.
func (cl *Clients) CopyAt(source vhost.Where, id uint64) *ledger.Entry {
	if q := cl.whereabouts(source); q != nil && id > 0 {
		return q.Copies[queue.Seq(id-1)]
	}
	return nil
}

// QueueID finds a queue as a client names it.
func (cl *Clients) QueueID(name string, ch *Channel) fact.QueueID {
	if name == "" && ch != nil {
		name = ch.LastQueue
	}
	id, _ := cl.view.Topology().Queue(name)
	return id
}
