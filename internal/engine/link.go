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
)

// Link is a connection's attachment to its vhost.
type Link struct {
	engine *Engine
	runner *runner
	door   Door
	info   ConnInfo
	conn   vhost.ConnID

	returned atomic.Int64 // window given back and not granted yet

	counted atomic.Bool // in the census

	// The runner's owner's.
	touched    bool // has effects to flush
	closed     bool
	rights     *authz.Rights // by the view of version rightsOf
	rightsOf   uint64
	published  bool                         // has published
	blocked    bool                         // was told that publishing has to wait
	parked     int                          // posts of this link that wait for the end of alarms
	stalled    int                          // posts that wait until anything can be written
	channels   map[vhost.ChannelID]struct{} // that have ports
	busy       bool                         // is resumed when its command is done that ticks go on with
	waiting    []post                       // for that, for its turn, or until the window has room: the first from its next command on
	queued     bool                         // waits for its turn: see rota
	pass       uint64                       // of the rota, in which spent was reckoned,
	spent      int                          // the work that it has made and not yet made up for
	endsWithin int                          // work after which it ends, whatever waits; 0: it does not end yet

	behind atomic.Int32 // commands that wait for its turn
}

func (b *Batch) free() {
	if b.Free != nil {
		b.Free(b)
	}
}

// Conn identifies the connection in the vhost.
func (l *Link) Conn() vhost.ConnID { return l.conn }

// NewChannel returns an identifier for a channel about to be opened.
func (l *Link) NewChannel() vhost.ChannelID { return vhost.ChannelID(l.engine.ids.Add(1)) }

// Post hands over a batch. It may step it in place, and so call the door, before it returns. How much can be
// under way is bounded by the batches that the door has.
func (l *Link) Post(b *Batch) {
	l.runner.engine.commands.Add(uint64(len(b.Commands)))
	l.runner.put(post{link: l, batch: b})
}

// Commands counts what connections have asked of all virtual hosts, ever: publishes, acks and the like.
func (e *Engine) Commands() uint64 { return e.commands.Load() }

// Written gives back window: the DeliveryCost of deliveries that are in the socket. Any goroutine may call it.
func (l *Link) Written(cost int64) {
	if l.returned.Add(cost) >= l.info.Window/4 {
		l.runner.put(post{link: l, batch: &Batch{}})
	}
}

// Close ends the attachment. On return the door is called no more, and what belonged to the connection is gone.
func (l *Link) Close() { l.runner.await(context.Background(), l.leave()) }

// leave ends the attachment without waiting for it; what it returns yields when it has ended.
func (l *Link) leave() (ended chan error) {
	ended = make(chan error, 1)
	l.runner.put(post{
		link: l, glance: true, done: ended, batch: &Batch{Commands: []vhost.Command{{Kind: vhost.Disconnect, Conn: l.conn}}},
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

// detach forgets a link after its Disconnect was stepped.
func (r *runner) detach(l *Link) {
	r.shut(l)
	delete(r.links, l.conn)
	for c := range l.channels {
		delete(r.ports, c)
	}
	l.channels = nil
	r.last = nil
}

// shut makes l one that nobody listens to, and takes it off the counts.
func (r *runner) shut(l *Link) {
	l.closed = true
	if l.blocked {
		l.blocked = false
		r.blocked--
	}
	if l.counted.Load() {
		r.engine.census.closeChannels(l.info.User, len(l.channels))
	}
	l.discount()
}

// discount takes l off the count of connections, once.
func (l *Link) discount() {
	if l.counted.Swap(false) {
		l.engine.census.leave(l.info.User, l.info.VHost)
	}
}

// openChannel makes room for a channel's effects, or refuses it: then the connection ends.
func (r *runner) openChannel(l *Link, c *vhost.Command) (ok bool) {
	r.ports[c.Channel] = &port{link: l, channel: c.Channel}
	if l.counted.Load() {
		if err := r.engine.census.openChannel(r.engine.Access(), l.info.User); err != nil {
			r.out.Effects = append(r.out.Effects, vhost.Effect{Kind: vhost.Closed, Command: c.Kind, Channel: c.Channel, Err: err})
			return false
		}
	}
	if l.channels == nil {
		l.channels = map[vhost.ChannelID]struct{}{}
	}
	l.channels[c.Channel] = struct{}{}
	return true
}

// forget takes a channel that has ended off the list.
func (l *Link) forget(c vhost.ChannelID) {
	if _, open := l.channels[c]; open && l.counted.Load() {
		l.engine.census.closeChannels(l.info.User, 1)
	}
	delete(l.channels, c)
}

// dropWaiting forgets what waits for the window: the link ends.
func (l *Link) dropWaiting() {
	for i := range l.waiting {
		l.waiting[i].drop()
	}
	l.waiting = nil
}

// dropAllButTheEnd forgets what the link has sent before its end.
func (l *Link) dropAllButTheEnd() {
	l.waiting = slices.DeleteFunc(l.waiting, func(p post) bool {
		if p.ends() {
			return false
		}
		p.drop()
		return true
	})
}

// Attach connects a door to a vhost. Errors are *amqp.Error: an unknown vhost, one connection more than the vhost or
// the user may have, a vhost that the user may not enter (530), one that is stopped (541).
func (e *Engine) Attach(d Door, info ConnInfo) (*Link, error) {
	l := &Link{engine: e, door: d, info: info}
	view := e.Access()
	if _, ok := view.VHost(info.VHost); !ok {
		return nil, accessUnknown(info.VHost)
	}
	if err := e.census.enter(view, info.User, info.VHost); err != nil {
		return nil, err
	}
	l.counted.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), attachPatience)
	defer cancel()
	if err := e.attach(ctx, l); err != nil {
		l.discount()
		if ctx.Err() != nil {
			err = amqp.InternalError("%s", e.WhyLate(info.VHost))
		}
		return nil, err
	}
	return l, nil
}

// attachPatience is how long a vhost may take to let a connection in: less than clients and handshakes wait, so that who
// waits in vain learns why.
const attachPatience = 5 * time.Second

// WhyLate says why a vhost does not answer, and what to do.
func (e *Engine) WhyLate(vhost string) string {
	switch w := e.Waiting(); {
	case w != nil:
		return fmt.Sprintf("vhost '%s' waits for disk space since %s (%v): %s", vhost, w.Since.UTC().Format(time.RFC3339), w.Err, e.diskAdvice())
	case e.scribe.roomFor() > journal.Draining:
		return fmt.Sprintf("vhost '%s' waits for disk space: %s", vhost, e.diskAdvice())
	case e.LowOnDisk():
		return fmt.Sprintf("vhost '%s' did not respond in time, the disk alarm is set: %s", vhost, e.diskAdvice())
	}
	if l := e.mostBehind(vhost); l != nil {
		return fmt.Sprintf("vhost '%s' is busy: connection '%s' has %d commands waiting", vhost, l.info.Name, l.behind.Load())
	}
	return fmt.Sprintf("vhost '%s' did not respond in time: the disk or the machine is too slow, or hangs; see the broker's log", vhost)
}

// mostBehind is a link of a vhost whose commands wait for their turn; nil: there is none.
func (e *Engine) mostBehind(vhost string) *Link {
	r, err := e.runnerOf(vhost)
	if err != nil {
		return nil
	}
	return r.rota.behind.Load()
}

// diskAdvice says what to do about a disk without room.
func (e *Engine) diskAdvice() string {
	use := e.diskUse()
	return cmp.Or(use.Advice(), "free some disk space")
}

// attach makes l known to its vhost.
func (e *Engine) attach(ctx context.Context, l *Link) error {
	info := &l.info
	view := e.Access()
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
	if info.Window <= 0 {
		info.Window = WindowDefault
	}
	l.runner, l.conn = r, vhost.ConnID(e.ids.Add(1))
	done := make(chan error, 1)
	r.put(post{link: l, glance: true, done: done, batch: &Batch{Commands: []vhost.Command{{
		Kind: vhost.Connect, Conn: l.conn, Window: info.Window,
		Definition: &vhost.Definition{Name: info.Name, User: e.userIDOf(info.Principal), CancelNotify: info.CancelNotify},
	}}}})
	if err := r.await(ctx, done); err != nil {
		l.leave()
		return err
	}
	return nil
}

// collector is the door of a one-off command: it keeps what comes.
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
	c := &collector{done: make(chan struct{})}
	l := &Link{engine: e, door: c, info: ConnInfo{Principal: who, Name: "engine", VHost: vhostName, Window: 1 << 40}}
	if err := e.attach(ctx, l); err != nil {
		return nil, err
	}
	ch := l.NewChannel()
	b := &Batch{Commands: []vhost.Command{{Kind: vhost.OpenChannel, Conn: l.conn, Channel: ch}}}
	for _, x := range commands {
		x.Conn, x.Channel = l.conn, ch
		b.Commands = append(b.Commands, x)
	}
	b.Commands = append(b.Commands, vhost.Command{Kind: vhost.CloseChannel, Conn: l.conn, Channel: ch})
	l.Post(b)
	select {
	case <-c.done:
	case <-ctx.Done():
		l.leave()
		return nil, ctx.Err()
	}
	l.Close()
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

// Look runs fn inside the vhost's loop, on live state: it must be short, and keep nothing of it. It returns
// when everything that fn can have seen is safe.
func (e *Engine) Look(ctx context.Context, vhostName string, fn func(*vhost.VHost)) error {
	return e.look(ctx, vhostName, false, fn)
}

// Glance is Look for what only shows how things stand: while the log waits for room on the disk it does not wait with it, and
// may show what is not safe yet.
func (e *Engine) Glance(ctx context.Context, vhostName string, fn func(*vhost.VHost)) error {
	return e.look(ctx, vhostName, true, fn)
}

func (e *Engine) look(ctx context.Context, vhostName string, glance bool, fn func(*vhost.VHost)) error {
	r, err := e.runnerOf(vhostName)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	r.put(post{look: fn, glance: glance, done: done})
	return r.await(ctx, done)
}
