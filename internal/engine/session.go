package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Session is a connection's attachment to its vhost.
type Session struct {
	engine   *Engine
	runner   *runner
	frontend Frontend
	info     ConnInfo
	conn     fact.ConnID

	returned      atomic.Int64 // window given back and not granted yet
	window        atomic.Int64 // bytes that may be on their way to the client
	sharesWindows bool         // with others: see windows

	counted atomic.Bool // in connectionLimits

	// The runner's owner's.
	touched   bool // has effects to flush
	closed    bool
	rights    *authz.Rights // by the view of version rightsOf
	rightsOf  uint64
	published bool                         // has published
	blocked   bool                         // was told that publishing has to wait
	parked    int                          // requests of this session that wait for the end of alarms
	stalled   int                          // requests that wait until anything can be written
	channels  map[vhost.ChannelID]struct{} // that have outboxes
	busy      bool                         // is resumed when its command is done that ticks go on with
	// for that, for its turn, or until the window has space: the first from its next command on
	waiting    []request
	account    *account // of its user: see sessionQueue
	queued     bool     // waits for its turn
	cameAt     uint64   // the round in which something of it came last
	pass       uint64   // of its user's sessions, in which spent was reckoned,
	spent      int      // the work that it has made and not yet made up for
	endsWithin int      // work after which it ends, whatever waits; 0: it does not end yet

	behind atomic.Int32 // commands that wait for its turn
	paced  atomic.Int32 // batches that are given back late
}

func (b *Batch) free() {
	if b.Free != nil {
		b.Free(b)
	}
}

// Conn identifies the connection in the vhost.
func (s *Session) Conn() fact.ConnID { return s.conn }

// NewChannel returns an identifier for a channel about to be opened.
func (s *Session) NewChannel() vhost.ChannelID { return vhost.ChannelID(s.engine.ids.Add(1)) }

// Submit hands over a batch. It may step it in place, and so call the frontend, before it returns. How much can be
// under way is bounded by the batches that the frontend has.
func (s *Session) Submit(b *Batch) {
	s.runner.engine.commands.Add(uint64(len(b.Commands)))
	s.runner.put(request{session: s, batch: b})
}

// Commands counts what connections have asked of all virtual hosts, ever: publishes, acks and the like.
func (e *Engine) Commands() uint64 { return e.commands.Load() }

// Written gives back window: the DeliveryCost of deliveries that are in the socket. Any goroutine may call it.
func (s *Session) Written(cost int64) {
	if s.returned.Add(cost) >= s.window.Load()/4 {
		s.runner.put(request{session: s, batch: &Batch{}})
	}
}

// Paced reports whether a batch of the session waits for the consumers of a queue. Any goroutine may ask.
func (s *Session) Paced() bool { return s.paced.Load() > 0 }

// Close ends the attachment. On return the frontend is called no more, and what belonged to the connection is gone.
func (s *Session) Close() { s.runner.await(context.Background(), s.leave()) }

// leave ends the attachment without waiting for it; what it returns yields when it has ended.
func (s *Session) leave() (ended chan error) {
	ended = make(chan error, 1)
	s.runner.put(request{
		session: s, glance: true, done: ended, batch: &Batch{Commands: []vhost.Command{{Kind: vhost.Disconnect, Conn: s.conn}}},
	})
	return ended
}

// await waits for an answer, or for the end of the runner.
func (r *runner) await(ctx context.Context, done chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-r.stopped:
		select {
		case err := <-done:
			return err
		default:
			return amqp.InternalError("vhost '%s' has stopped", r.name)
		}
	}
}

// attach notes a session. Whoever changes permissions wakes the runners that have one; if that was just before, this
// one wakes itself.
func (r *runner) attach(conn fact.ConnID, s *Session) {
	r.sessions[conn] = s
	r.attached.Store(int64(len(r.sessions)))
	if r.engine.Accounts().Version() != r.permitted {
		r.kick()
	}
}

// detach forgets a session after its Disconnect was stepped.
func (r *runner) detach(s *Session) {
	r.shut(s)
	delete(r.sessions, s.conn)
	r.attached.Store(int64(len(r.sessions)))
	for c := range s.channels {
		delete(r.outboxes, c)
	}
	s.channels = nil
	r.last = nil
}

// shut makes l one that nobody listens to, and takes it off the counts.
func (r *runner) shut(s *Session) {
	s.closed = true
	r.unpaceSession(s)
	if s.sharesWindows {
		s.setWindow(windowFirst)
	}
	r.queue.leave(s)
	if s.blocked {
		s.blocked = false
		r.blocked--
	}
	if s.counted.Load() {
		r.engine.connectionLimits.closeChannels(s.info.User, len(s.channels))
	}
	s.discount()
}

// discount takes l off the count of connections, once.
func (s *Session) discount() {
	if s.counted.Swap(false) {
		s.engine.connectionLimits.leave(s.info.User, s.info.VHost)
	}
}

// openChannel makes space for a channel's effects, or refuses it: then the connection ends.
func (r *runner) openChannel(s *Session, c *vhost.Command) (ok bool) {
	r.outboxes[c.Channel] = &outbox{session: s, channel: c.Channel}
	if s.counted.Load() {
		if err := r.engine.connectionLimits.openChannel(r.engine.Accounts(), s.info.User); err != nil {
			r.out.Effects = append(r.out.Effects, vhost.Effect{Kind: vhost.Closed, Command: c.Kind, Channel: c.Channel, Err: err})
			return false
		}
	}
	if s.channels == nil {
		s.channels = map[vhost.ChannelID]struct{}{}
	}
	s.channels[c.Channel] = struct{}{}
	return true
}

// forget takes a channel that has ended off the list.
func (s *Session) forget(c vhost.ChannelID) {
	if _, open := s.channels[c]; open && s.counted.Load() {
		s.engine.connectionLimits.closeChannels(s.info.User, 1)
	}
	delete(s.channels, c)
}

// dropWaiting forgets what waits for the window: the session ends.
func (s *Session) dropWaiting() {
	for i := range s.waiting {
		s.waiting[i].drop()
	}
	s.waiting = nil
}

// dropAllButTheEnd forgets what the session has sent before its end.
func (s *Session) dropAllButTheEnd() {
	s.waiting = slices.DeleteFunc(s.waiting, func(p request) bool {
		if p.ends() {
			return false
		}
		p.drop()
		return true
	})
}

// Attach connects a frontend to a vhost. Errors are *amqp.Error: an unknown vhost, one connection more than the vhost
// or the user may have, a vhost that the user may not enter (530), one that is stopped (541).
func (e *Engine) Attach(d Frontend, info ConnInfo) (*Session, error) {
	s := &Session{engine: e, frontend: d, info: info}
	view := e.Accounts()
	if _, ok := view.VHost(info.VHost); !ok {
		return nil, accessUnknown(info.VHost)
	}
	if err := e.connectionLimits.enter(view, info.User, info.VHost); err != nil {
		return nil, err
	}
	s.counted.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), attachPatience)
	defer cancel()
	if err := e.attach(ctx, s); err != nil {
		s.discount()
		if ctx.Err() != nil {
			err = amqp.InternalError("%s", e.WhyLate(info.VHost))
		}
		return nil, err
	}
	return s, nil
}

// attachPatience is how long a vhost may take to let a connection in: less than clients and handshakes wait, so that
// who waits in vain learns why.
const attachPatience = 5 * time.Second

// WhyLate says why a vhost does not answer, and what to do.
func (e *Engine) WhyLate(vhost string) string {
	switch w := e.Waiting(); {
	case w != nil:
		return fmt.Sprintf("vhost '%s' waits for disk space since %s (%v): %s", vhost, w.Since.UTC().Format(time.RFC3339), w.Err, e.diskAdvice())
	case e.writer.spaceFor() > journal.Draining:
		return fmt.Sprintf("vhost '%s' waits for disk space: %s", vhost, e.diskAdvice())
	case e.LowOnDisk():
		return fmt.Sprintf("vhost '%s' did not respond in time, the disk alarm is set: %s", vhost, e.diskAdvice())
	}
	if s := e.mostBehind(vhost); s != nil {
		return fmt.Sprintf("vhost '%s' is busy: connection '%s' has %d commands waiting", vhost, s.info.Name, s.behind.Load())
	}
	return fmt.Sprintf("vhost '%s' did not respond in time: the disk or the machine is too slow, or hangs; see the broker's log", vhost)
}

// mostBehind is a session of a vhost whose commands wait for their turn; nil: there is none.
func (e *Engine) mostBehind(vhost string) *Session {
	r, err := e.runnerOf(vhost)
	if err != nil {
		return nil
	}
	return r.queue.behind.Load()
}

// diskAdvice says what to do about a disk without space.
func (e *Engine) diskAdvice() string {
	use := e.diskUse()
	return cmp.Or(use.Advice(), "free some disk space")
}

// attach makes l known to its vhost.
func (e *Engine) attach(ctx context.Context, s *Session) error {
	info := &s.info
	view := e.Accounts()
	if _, ok := view.VHost(info.VHost); !ok {
		return accessUnknown(info.VHost)
	}
	if rights := e.Rights(info.Principal); !rights.Enter(info.VHost) {
		return accessRefused(info.VHost, info.User)
	}
	r, err := e.runnerOf(info.VHost)
	if err != nil {
		return err
	}
	if s.window.Store(info.Window); info.Window <= 0 {
		s.window.Store(windowFirst)
		s.sharesWindows = true
	}
	s.runner, s.conn = r, fact.ConnID(e.ids.Add(1))
	done := make(chan error, 1)
	r.put(request{session: s, glance: true, done: done, batch: &Batch{Commands: []vhost.Command{{
		Kind: vhost.Connect, Conn: s.conn, Window: s.window.Load(),
		Definition: &vhost.Definition{Name: info.Name, User: e.userIDOf(info.Principal), CancelNotify: info.CancelNotify},
	}}}})
	if err := r.await(ctx, done); err != nil {
		s.leave()
		return err
	}
	return nil
}

// collector is the frontend of a one-off command: it keeps what comes.
type collector struct {
	effects []vhost.Effect
	done    chan struct{}
	ended   bool // done is closed
	stopped *amqp.Error
}

func (c *collector) end() {
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

func (c *collector) Emit(e *vhost.Effect) {
	if e.Kind == vhost.Done && (e.Command == vhost.OpenChannel || e.Command == vhost.CloseChannel) {
		if e.Command == vhost.CloseChannel {
			c.end()
		}
		return
	}
	kept := *e
	kept.Message.Record, kept.Message.History = bytes.Clone(e.Message.Record), bytes.Clone(e.Message.History)
	c.effects = append(c.effects, kept)
	if e.Kind == vhost.Closed {
		c.end()
	}
}

func (c *collector) Flush() {}

func (c *collector) Blocked(string) {}

func (c *collector) Unblocked() {}

func (c *collector) Stopped(err *amqp.Error) {
	c.stopped = err
	c.end()
}

// Do runs commands in a vhost on a channel of their own, with the rights of a principal.
// It returns their effects when all is safe. A refusal is an *amqp.Error.
func (e *Engine) Do(ctx context.Context, vhostName string, who authz.Principal, commands ...vhost.Command) ([]vhost.Effect, error) {
	return e.DoWithin(ctx, vhostName, who, 1<<40, commands...)
}

// DoWithin is Do with a window: gets that are to fit into it take no more.
func (e *Engine) DoWithin(
	ctx context.Context, vhostName string, who authz.Principal, window int64, commands ...vhost.Command,
) ([]vhost.Effect, error) {
	c := &collector{done: make(chan struct{})}
	info := ConnInfo{Principal: who, Name: "engine", VHost: vhostName, Window: window}
	s := &Session{engine: e, frontend: c, info: info}
	if err := e.attach(ctx, s); err != nil {
		return nil, err
	}
	ch := s.NewChannel()
	b := &Batch{Commands: []vhost.Command{{Kind: vhost.OpenChannel, Conn: s.conn, Channel: ch}}}
	for _, x := range commands {
		x.Conn, x.Channel = s.conn, ch
		b.Commands = append(b.Commands, x)
	}
	b.Commands = append(b.Commands, vhost.Command{Kind: vhost.CloseChannel, Conn: s.conn, Channel: ch})
	s.Submit(b)
	select {
	case <-c.done:
	case <-ctx.Done():
		s.leave()
		return nil, ctx.Err()
	}
	s.Close()
	if c.stopped != nil {
		return nil, c.stopped
	}
	for i := range c.effects {
		if c.effects[i].Kind == vhost.Closed {
			return c.effects, c.effects[i].Err
		}
	}
	return c.effects, nil
}

// Query runs fn on the vhost as it is: it must be short, and keep nothing of it. It returns when everything that fn can
// have seen is safe.
func (e *Engine) Query(ctx context.Context, vhostName string, fn func(vhost.Reader)) error {
	return e.look(ctx, vhostName, false, func(v *vhost.VHost) { fn(v.Reader()) })
}

// QueryUnsafe is Query for what only shows how things stand: while the log waits for space on the disk it does not wait
// with it, and may show what is not safe yet.
func (e *Engine) QueryUnsafe(ctx context.Context, vhostName string, fn func(vhost.Reader)) error {
	return e.look(ctx, vhostName, true, func(v *vhost.VHost) { fn(v.Reader()) })
}

func (e *Engine) look(ctx context.Context, vhostName string, glance bool, fn func(*vhost.VHost)) error {
	r, err := e.runnerOf(vhostName)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	r.put(request{look: fn, glance: glance, done: done})
	return r.await(ctx, done)
}
