package vhost

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/liveheap"
)

func TestConsumerBytesAreAboutMemory(t *testing.T) {
	// Broken if what channels and consumers are said to take is not what they take: a limit of it would come too late,
	// or refuse what has space. A channel takes as much outside of the vhost as in it. Not parallel: it measures the
	// heap.
	const n = 20_000
	for what, c := range map[string]struct {
		tag       string
		arguments amqp.Table
		each      int // consumers of a channel
	}{
		"plain":          {"%031d", nil, n},
		"long tags":      {"%0240d", nil, n},
		"arguments":      {"%031d", amqp.Table{{Name: "x-priority", Value: amqp.Int64(5)}}, n},
		"10 per channel": {"%031d", nil, 10},
	} {
		w := newWorld()
		must(t, w, open("a")...)
		must(t, w, declareWith("q"))
		before, counted := liveheap.Bytes(), w.v.Subscribed().total
		ch := ChannelID(1)
		for i := range n {
			if i%c.each == 0 && i > 0 {
				ch++
				must(t, w, Command{Kind: OpenChannel, Conn: 1, Channel: ch, Number: uint16(ch)})
			}
			d := Definition{
				Name: strings.Clone("q"), ConsumerTag: fmt.Sprintf(c.tag, i),
				Arguments: append(amqp.Table(nil), c.arguments...),
			}
			if _, err := w.step(Command{Kind: Consume, Conn: 1, Channel: ch, Definition: &d}); err != nil {
				t.Fatal(err)
			}
			w.out.Effects = w.out.Effects[:0]
		}
		took, said := (liveheap.Bytes()-before)/n, int(w.v.Subscribed().total-counted)/n
		if said < took || said > 2*took {
			t.Errorf("%s: %d bytes each are counted, %d are taken", what, said, took)
		}
		t.Logf("%s: %d of %d", what, took, said)
		if err := w.v.Check(); err != nil {
			t.Error(err)
		}
		must(t, w, Command{Kind: DeleteQueue, Conn: 1, Channel: 1, Definition: &Definition{Name: "q"}})
		if err := w.ticks(); err != nil {
			t.Error(err)
		}
		if left := w.v.Subscribed().total; left != int64(ch)*channelBytes {
			t.Errorf("%s: %d bytes are counted of %d channels", what, left, ch)
		}
		runtime.KeepAlive(w)
	}
}
