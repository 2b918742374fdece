package amqpserver

import (
	"bytes"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If this fails, a client that sends heartbeats, or empty pieces of a body, without pause keeps a core busy for as long
// as it likes, or a busy publisher has to wait.
func TestFramesThatLeadToNothingAreLimited(t *testing.T) {
	t.Parallel()
	publish, flow := publishing(1, "q", "x"), wire.AppendMethod(nil, 1, &wire.ChannelFlow{Active: true})
	const n = 5 * framesOfOne
	for what, c := range map[string]struct {
		frames      []byte
		least, most time.Duration
	}{
		"heartbeats": {bytes.Repeat(wire.AppendHeartbeat(nil), n), 3 * framesWindow, 6 * framesWindow},
		"flow":       {bytes.Repeat(flow, n/framesOfReply), 3 * framesWindow, 6 * framesWindow},
		"publishes":  {bytes.Repeat(publish, n), 0, 0},
	} {
		inBubble(t, nil, func(b *bed) {
			client := b.open(0)
			client.openChannel(1)
			ended := make(chan struct{})
			go func() { // until the server has read all, and answers connection.close
				for f := range client.frames {
					if f.Channel == 0 && f.Type == wire.FrameMethod {
						close(ended)
						return
					}
				}
			}()
			began := time.Now()
			client.raw(c.frames)
			client.send(0, &wire.ConnectionClose{})
			<-ended
			if took := time.Since(began); took < c.least || took > c.most {
				client.Errorf("%s: read within %v, not %v to %v", what, took, c.least, c.most)
			}
		})
	}
}
