package engine

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
)

// counted counts what a cache reads from its source.
type counted struct {
	source
	records, stretches atomic.Int64
}

func (c *counted) read(buf []byte, r place.Ref, hint *journal.Hint) ([]byte, error) {
	c.records.Add(1)
	return c.source.read(buf, r, hint)
}

func (c *counted) readStretch(s *journal.Stretch, log place.LogID, index place.Index, offset uint32) error {
	c.stretches.Add(1)
	return c.source.readStretch(s, log, index, offset)
}

// TestACrowdIsReadBeforehand says that each message of a crowd that is due at many instants of a moment costs a read of its own,
// or that they leave in another order than they are due, or that what was read is kept for ever.
func TestACrowdIsReadBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, instants = 12_000, 200
		d := newDisk()
		running := func(o *Options) { o.Clock = SystemClock() }
		e := start(t, d, running)
		c := attach(t, e, "")
		c.post(declare("dead"), declare("work", amqp.Field{Name: "x-dead-letter-exchange", Value: amqp.String("")},
			amqp.Field{Name: "x-dead-letter-routing-key", Value: amqp.String("dead")}))
		begin := time.Now()
		due := make([][]string, instants)
		for i := range n {
			at := i * 7919 % instants
			p := publish("work", fmt.Sprint(i))
			p.Properties = amqp.AppendProperties(nil, &amqp.Properties{
				Has: amqp.FlagDeliveryMode | amqp.FlagExpiration, DeliveryMode: amqp.Persistent, Expiration: strconv.Itoa(60_000 + at),
			})
			c.post(p)
			due[at] = append(due[at], "got "+strconv.Itoa(i))
		}
		c.expect()
		if time.Since(begin) != 0 {
			t.Fatal("time has passed: they are not due at the instants meant")
		}
		stop(t, e) // nothing of it is in memory after a restart
		e = start(t, d, running)
		defer stop(t, e)
		r, err := e.runnerOf("/")
		if err != nil {
			t.Fatal(err)
		}
		r.own()
		disk := &counted{source: r.cache.from}
		r.cache.from, r.cache.ahead.from = disk, disk
		r.release()

		time.Sleep(59 * time.Second)
		synctest.Wait()
		r.own()
		if r.cache.ahead.shown != nil {
			t.Error("records are read long before they are due")
		}
		r.release()
		time.Sleep(2 * time.Second)
		if got := ready(t, e, "dead"); got != n {
			t.Fatalf("%d letters have come, want %d", got, n)
		}
		records, stretches := disk.records.Load(), disk.stretches.Load()
		if records > n/4 || stretches > n/4 {
			t.Errorf("%d records were read alone, and %d stretches, for %d messages", records, stretches, n)
		}
		time.Sleep(time.Minute)
		c = attach(t, e, "")
		c.post(get("dead"))
		want := slices.Concat(due...)
		c.expect(want[0])
		r.own()
		if len(r.cache.ahead.shown) > 0 || e.cached.foreseen.Load() != 0 {
			t.Errorf("%d readings are kept, %d bytes, though nothing is due", len(r.cache.ahead.shown), e.cached.foreseen.Load())
		}
		r.release()
		for _, w := range want[1:5000] {
			c.post(get("dead"))
			c.expect(w)
		}
	})
}
