package amqpserver

import "time"

// Frames that lead to no command, such as heartbeats and empty pieces of a body, take no turn in the virtual host. A
// client that sends them without pause would keep a core busy for as long as it likes: its connection is read at a
// limited rate. What leads to commands is limited by the turns of the virtual host.
// Source: ours, docs/limits.md.
const (
	// framesOfOne is how many such frames a connection may send within framesWindow; framesOfAll is what all together
	// may send, so that many connections have less each, but not less than framesLeast.
	framesOfOne  = 16 << 10
	framesOfAll  = 512 << 10
	framesLeast  = 512
	framesWindow = 100 * time.Millisecond
	// framesOfReply is for how many a method counts that the reader answers by itself, framesOfCommand how many a
	// command makes up for: a publish is three.
	framesOfReply   = 64
	framesOfCommand = 4
)

// idleFrames counts the frames of a connection that led to no command.
type idleFrames struct {
	n     int
	since time.Time // begin of the window
}

// madeUp takes off what commands make up for.
func (f *idleFrames) madeUp(commands int) { f.n = max(f.n-commands*framesOfCommand, 0) }

// pause is how long a connection, one of so many, is not read: a window for as many frames as it may send in one, less
// the time since the last pause, of which one window counts.
func (f *idleFrames) pause(connections int) time.Duration {
	limit := min(max(framesOfAll/max(connections, 1), framesLeast), framesOfOne)
	if f.n <= limit {
		return 0
	}
	now := time.Now()
	d := max(framesWindow*time.Duration(f.n)/time.Duration(limit)-min(now.Sub(f.since), framesWindow), 0)
	f.n, f.since = 0, now.Add(d)
	return d
}

// restFromIdleFrames pauses the reader of a client that has sent too many frames that led to nothing.
func (c *conn) restFromIdleFrames() {
	if c.idle.n <= framesLeast {
		return
	}
	if d := c.idle.pause(c.server.openConnections()); d > 0 {
		c.server.idlePauses.Add(1)
		time.Sleep(d)
	}
}

// IdleFramePauses counts how often reading from a connection paused because of frames that led to nothing, ever.
func (s *Server) IdleFramePauses() uint64 { return s.idlePauses.Load() }
