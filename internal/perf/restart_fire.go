package perf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// The figures of a restart with messages that wait.
const (
	figureFire      = "first message fired after kill -9, median"
	figureFireWorst = "first message fired after kill -9, worst"
)

// firedQueue is where those messages go that are due while the broker is down.
const firedQueue = restartName + ".fired"

// fuse is the delay of such a message: enough to kill the broker before. A broker that is up again sooner is not
// measured to be.
const fuse = 200 * time.Millisecond

// letWait makes the delayed exchange of a run that fills, and has it hold as many messages as -waiting says.
func (r *restarts) letWait(filling *run) error {
	if r.o.waiting == 0 {
		return nil
	}
	if err := filling.declareDelayed(); err != nil {
		return err
	}
	if _, err := call[*wire.QueueDeclareOk](filling.control, &wire.QueueDeclare{Queue: firedQueue, Durable: true}); err != nil {
		return err
	}
	if err := filling.bind([]string{firedQueue}); err != nil {
		return err
	}
	waiting, err := filling.farAway()
	if err != nil {
		return err
	}
	defer waiting.close()
	waiting.run.queues, waiting.run.exchanges = nil, nil // they stay
	r.report.Spans = append(r.report.Spans, waiting.loaded)
	return nil
}

// fires measures the time from exec to the arrival of a message that was due while nobody was there to fire it.
func (r *restarts) fires() error {
	if r.o.waiting == 0 {
		return nil
	}
	r.queue = firedQueue
	return r.measure("after kill -9, fired", figureFire, figureFireWorst, func() error {
		if err := r.light(); err != nil {
			return fmt.Errorf("the message to fire: %w", err)
		}
		r.broker.kill()
		return nil
	})
}

// light publishes one message that is due soon, and returns once it is confirmed.
func (r *restarts) light() error {
	l, err := r.broker.link(r.ctx)
	if err != nil {
		return err
	}
	defer l.conn.Close()
	if _, err := call[*wire.QueuePurgeOk](l, &wire.QueuePurge{Queue: firedQueue}); err != nil { // of the one before
		return err
	}
	if _, err := call[*wire.ConfirmSelectOk](l, &wire.ConfirmSelect{}); err != nil {
		return err
	}
	to := lane{exchange: restartName + delayedSuffix, queues: []string{firedQueue}}
	properties := amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent}
	one := newTimed(to, r.o.size, properties, l.frameMax, byDelay, calendar{least: int64(fuse), most: int64(fuse)}, rand.New(rand.NewPCG(1, 1)))
	message, err := one.batch(0, 1, now())
	if err != nil {
		return err
	}
	l.conn.SetReadDeadline(time.Now().Add(replyTimeout))
	if err := l.send(message); err != nil {
		return err
	}
	got, err := l.receive()
	if err != nil {
		return err
	}
	if len(got.settled) != 1 || got.settled[0].nacked {
		return errors.New("not confirmed")
	}
	return nil
}
