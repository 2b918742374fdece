//go:build linux

package crashtest

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	commitQueues   = 200
	commitMessages = 200 // of a transaction, each for all queues: more copies than a step makes
	commitSources  = 2000
	purgedMessages = 20_000
)

// If this fails, the end of the process in the middle of a command that runs in portions leaves a part of a
// transaction, undoes an answered command, or restores a deleted queue.
func TestKillLargeCommands(t *testing.T) {
	random := dice(t)
	dir := t.TempDir()
	b := start(t, dir, smallFiles...)
	ch := b.channel()
	must(t, ch.ExchangeDeclare("all", "fanout", true, false, false, false, nil))
	for i := range commitQueues {
		name := fmt.Sprint("part.", i)
		declare(t, ch, name, true, nil)
		must(t, ch.QueueBind(name, "", "all", false, nil))
	}
	bodies := make([][]byte, purgedMessages)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, "%d", i)
	}
	committed, before, unasked := 0, 0, 0
	for round := range 8 {
		ch = b.channel()
		source, purged, deleted := fmt.Sprint("source.", round), fmt.Sprint("purged.", round), fmt.Sprint("deleted.", round)
		for _, name := range []string{source, purged, deleted} {
			declare(t, ch, name, true, nil)
		}
		publish(t, ch, source, bodies[:commitSources]...)
		publish(t, ch, purged, bodies...)
		publish(t, ch, deleted, bodies[:1000]...)

		tx := channelOn(t, b.dial())
		must(t, tx.Tx())
		deliveries, err := tx.Consume(source, "", false, false, false, false, nil)
		must(t, err)
		var last amqp.Delivery
		for range commitSources {
			last = await(t, "a delivery", deliveries)
		}
		must(t, last.Ack(true))
		for i := range commitMessages {
			must(t, tx.Publish("all", "", false, false, persistent(fmt.Appendf(nil, "%d.%d", round, i))))
		}
		answers := make(chan string, 3)
		ask := func(what string, do func() error) {
			go func() {
				if do() == nil {
					answers <- what
				}
			}()
		}
		other := channelOn(t, b.dial())
		ask("commit", tx.TxCommit)
		ask("purge and delete", func() error {
			if _, err := other.QueuePurge(purged, false); err != nil {
				return err
			}
			_, err := other.QueueDelete(deleted, false, false, false)
			return err
		})
		<-time.After(time.Duration(random.IntN(40_000)) * time.Microsecond)
		answered := map[string]bool{}
		for n := len(answers); n > 0; n-- {
			answered[<-answers] = true
		}
		b.kill()
		b = start(t, dir, smallFiles...)
		ch = b.channel()
		happened := depth(t, ch, source) == 0
		if happened {
			committed++
		}
		for i := range commitQueues {
			name := fmt.Sprint("part.", i)
			eventually(t, fmt.Sprintf("%s has %d transactions (answered: %v)", name, committed, answered), func() bool {
				return depth(t, ch, name) == committed*commitMessages
			})
		}
		switch n := depth(t, ch, source); {
		case answered["commit"] && !happened:
			t.Errorf("round %d: a transaction was answered, and did not happen", round)
		case !happened && n != commitSources:
			t.Errorf("round %d: %d messages are left of %d that no transaction has settled", round, n, commitSources)
		case happened && !answered["commit"]:
			unasked++
		case !happened:
			before++
		}
		if n := depth(t, ch, purged); answered["purge and delete"] && n > 0 {
			t.Errorf("round %d: %d messages are back that were purged", round, n)
		}
		probe := b.channel()
		if _, err := probe.QueueDeclarePassive(deleted, true, false, false, false, nil); answered["purge and delete"] {
			refusal(t, err, amqp.NotFound)
		}
	}
	t.Logf("%d transactions happened, %d of them without an answer; %d did not", committed, unasked, before)
}
