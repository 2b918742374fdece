package vhost

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// ticksMax is how often something may be due at one instant.
const ticksMax = 100

// op is one thing that happens in a duel: time passes, or somebody asks for something.
type op struct {
	advance int64 // ms; what becomes due on the way happens at its instant
	lag     int64 // ms that pass before the command without anything that is due happening: the engine is behind
	command oracle.Command
}

func (o *op) String() string {
	if o.advance > 0 {
		return fmt.Sprintf("advance %d", o.advance)
	}
	if o.lag > 0 {
		return fmt.Sprintf("lag %d, %s", o.lag, &o.command)
	}
	return o.command.String()
}

// duel plays the same to the machine and to the oracle.
type duel struct {
	world  *world
	oracle *oracle.VHost
	seen   *coverage

	// The machine's copies by the oracle's names.
	names       map[fact.QueueID]string
	arrived     map[fact.QueueID]int
	arrivals    map[fact.QueueID]map[queue.Seq]int
	deadLetters map[oracle.CopyID]string // that came in the present step, in words

	// What the machine did in the present step, as far as the oracle has come with it.
	fact, effect int
	said         []oracle.Answer
}

func newDuel(seen *coverage) *duel {
	d := &duel{
		world: newWorld(), seen: seen,
		names: map[fact.QueueID]string{lostID: ""}, arrived: map[fact.QueueID]int{}, arrivals: map[fact.QueueID]map[queue.Seq]int{},
	}
	d.oracle = oracle.New(d)
	d.oracle.Now = int64(epoch)
	if _, err := d.world.step(Command{Kind: Connect, Conn: 1, Window: 1 << 40, Definition: &Definition{Name: "c", CancelNotify: true}}); err != nil {
		panic(err)
	}
	return d
}

// play does one thing to both, and reports the first difference.
func (d *duel) play(o *op) error {
	if o.advance > 0 {
		return d.advance(deadline.Instant(o.advance))
	}
	if pause := d.world.v.holding.notBefore - d.world.now; pause > 0 { // held ones would be tried that much later
		if err := d.advance(pause); err != nil {
			return err
		}
	}
	if o.lag > 0 {
		d.lag(o.lag)
	}
	return d.step(&o.command)
}

// advance lets time pass, from instant to instant at which either has something to do.
func (d *duel) advance(by deadline.Instant) error {
	w := d.world
	target := w.now + by
	for {
		at, ok := w.v.Due()
		if theirs, has := d.oracle.Due(); has && (!ok || deadline.Instant(theirs) < at) {
			at, ok = deadline.Instant(theirs), true
		}
		if !ok || at > target {
			break
		}
		at = max(at, w.now)
		d.move(at)
		if err := d.step(&oracle.Command{Kind: oracle.Tick}); err != nil {
			return fmt.Errorf("at %d: %w", at, err)
		}
	}
	d.move(target)
	return nil
}

// lag moves the clock past what is due, but not past what is due at two different instants: in which order that
// happens later is nobody's rule.
func (d *duel) lag(by int64) {
	at := d.oracle.Now + by
	if second, ok := d.oracle.DueAfter(); ok {
		at = min(at, second-1)
	}
	d.move(deadline.Instant(max(at, d.oracle.Now)))
}

func (d *duel) move(at deadline.Instant) {
	d.world.now, d.oracle.Now = at, int64(at)
}

// step does a command to both, and what is due after it, and compares.
func (d *duel) step(c *oracle.Command) error {
	w := d.world
	w.seal()
	w.begin()
	d.fact, d.effect, d.said = 0, 0, nil
	refused, err := w.step(machineCommand(c))
	if err != nil {
		return err
	}
	own := len(w.out.Facts)
	if c.Kind == oracle.Tick {
		own = 0
	}
	for n := 0; ; n++ {
		if at, ok := w.v.Due(); !ok || at > w.now {
			break
		}
		if n == ticksMax {
			return errStuck
		}
		if _, err := w.step(Command{Kind: Tick}); err != nil {
			return err
		}
	}
	d.follow(own)
	if refused != nil && c.Channel == 0 {
		d.said = append(d.said, oracle.Answer{Kind: oracle.Answered, Text: fmt.Sprintf("refused %d", refused.Code)})
	}
	for i := range w.out.Effects {
		if err := d.hear(&w.out.Effects[i]); err != nil {
			return err
		}
	}
	d.oracle.Do(c)
	answers := d.oracle.Answers
	for n := 0; ; n++ {
		if at, ok := d.oracle.Due(); !ok || at > d.oracle.Now {
			break
		}
		if n == ticksMax {
			return errStuck
		}
		d.oracle.Do(&oracle.Command{Kind: oracle.Tick})
		answers = append(answers, d.oracle.Answers...)
	}
	d.seen.note(c, refused != nil, w.out.Facts)
	return d.compare(answers)
}

// follow learns the names of the machine's new copies, and where what a command does itself ends, among its own facts:
// with the last message that it returns, and perhaps keeps.
func (d *duel) follow(own int) {
	facts := d.world.out.Facts
	d.deadLetters = map[oracle.CopyID]string{}
	for i := range facts {
		switch f := &facts[i]; f.Kind {
		case fact.Returned:
			if i >= own {
				continue
			}
			d.fact = i + 1
			if i+1 < len(facts) && facts[i+1].Kind == fact.Kept {
				d.fact = i + 2
			}
		case fact.QueueDeclared:
			d.names[f.Queue] = f.Object.Name
		case fact.Enqueued:
			if d.arrivals[f.Queue] == nil {
				d.arrivals[f.Queue] = map[queue.Seq]int{}
			}
			d.arrived[f.Queue]++
			d.arrivals[f.Queue][f.Seq] = d.arrived[f.Queue]
			if f.Queue != lostID && f.Entry.Flags&queue.HasHistory != 0 {
				d.deadLetters[oracle.CopyID{Queue: d.names[f.Queue], Arrival: d.arrived[f.Queue]}] = d.deadLetter(f)
			}
		}
	}
}

// Next implements oracle.Choices: what the machine did first comes first.
func (d *duel) Next(among []oracle.CopyID) int {
	for i := d.fact; i < len(d.world.out.Facts); i++ {
		f := &d.world.out.Facts[i]
		id := oracle.CopyID{Queue: d.names[f.Queue], Returning: f.Kind == fact.Returned}
		switch f.Kind {
		case fact.Ended, fact.Handed, fact.Returned, fact.Held, fact.Kept, fact.Resumed:
			id.Arrival = d.arrivals[f.Queue][f.Seq]
		case fact.QueueDeleted:
		default:
			continue
		}
		if k := slices.Index(among, id); k >= 0 {
			d.fact = i + 1
			return k
		}
	}
	return 0
}

// Taker implements oracle.Choices.
func (d *duel) Taker(among []oracle.ConsumerID) int {
	for i := d.effect; i < len(d.world.out.Effects); i++ {
		e := &d.world.out.Effects[i]
		if k := slices.Index(among, oracle.ConsumerID{Channel: int(e.Channel), Tag: e.ConsumerTag}); k >= 0 && e.Kind == Deliver {
			d.effect = i + 1
			return k
		}
	}
	return 0
}

// Taken implements oracle.Choices.
func (d *duel) Taken(as oracle.CopyID, among []string) int {
	return max(slices.Index(among, d.deadLetters[as]), 0)
}

// machineCommand is a command in the machine's words.
func machineCommand(c *oracle.Command) Command {
	m := Command{
		Kind: machineKinds[c.Kind], Conn: 1, Channel: ChannelID(c.Channel), Number: uint16(c.Channel), Exchange: []byte(c.Exchange), Key: []byte(c.Key),
		Body: []byte(c.Body), Mandatory: c.Mandatory, Tag: c.Tag, Multiple: c.Multiple, Requeue: c.Requeue,
	}
	m.Definition = &Definition{
		Name: c.Name, Type: c.Type, Source: c.Exchange, RoutingKey: c.Key, ConsumerTag: c.Consumer, Durable: c.Durable, AutoDelete: c.AutoDelete,
		Internal: c.Internal, Passive: c.Passive, NoAck: c.NoAck, Global: c.Global, Prefetch: uint16(c.Prefetch), Arguments: c.Arguments,
	}
	switch {
	case c.LostLetters != nil:
		m.Selection = &Selection{IDs: c.LostLetters, Elsewhere: c.Exchange != "" || c.Key != "", Exchange: c.Exchange, RoutingKey: c.Key}
	case c.Kind == oracle.Bind && c.ToExchange:
		m.Kind = BindExchange
	case c.Kind == oracle.Unbind && c.ToExchange:
		m.Kind = UnbindExchange
	case c.Kind == oracle.Publish:
		m.Properties = amqp.AppendProperties(nil, &c.Properties)
	case c.Kind == oracle.Recover:
		m.Requeue = true
	case c.Kind == oracle.SetPolicy || c.Kind == oracle.ClearPolicy:
		p := &c.Policy
		m.Policy = &Policy{
			Name: p.Name, Operator: p.Operator, Pattern: p.Pattern, ApplyTo: p.ApplyTo, Priority: p.Priority, Definition: p.Definition,
		}
	}
	return m
}

var machineKinds = map[oracle.Kind]CommandKind{
	oracle.OpenChannel: OpenChannel, oracle.CloseChannel: CloseChannel, oracle.DeclareExchange: DeclareExchange, oracle.DeleteExchange: DeleteExchange,
	oracle.DeclareQueue: DeclareQueue, oracle.DeleteQueue: DeleteQueue, oracle.PurgeQueue: PurgeQueue, oracle.Bind: BindQueue, oracle.Unbind: UnbindQueue,
	oracle.Qos: Qos, oracle.Consume: Consume, oracle.Cancel: Cancel, oracle.Publish: Publish, oracle.Get: Get, oracle.Ack: Ack, oracle.Nack: Nack,
	oracle.Reject: Reject, oracle.Recover: Recover, oracle.Confirms: SelectConfirms, oracle.SetPolicy: SetPolicy, oracle.ClearPolicy: ClearPolicy,
	oracle.SetOptions: SetOptions, oracle.Tick: Tick, oracle.Republish: Republish, oracle.Discard: Discard,
}

// hear puts an effect into the oracle's words.
func (d *duel) hear(e *Effect) error {
	say := func(kind oracle.AnswerKind, format string, args ...any) {
		d.said = append(d.said, oracle.Answer{Channel: int(e.Channel), Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	var text string
	if e.Kind == Deliver || e.Kind == DeliverGot || e.Kind == SendBack {
		var err error
		if text, err = d.message(e); err != nil {
			return err
		}
	}
	switch e.Kind {
	case Deliver:
		say(oracle.Delivered, "deliver %s tag=%d %s", e.ConsumerTag, e.Tag, text)
	case DeliverGot:
		say(oracle.Answered, "got tag=%d left=%d %s", e.Tag, e.Count, text)
	case DeliverNone:
		say(oracle.Answered, "got none")
	case Confirm:
		say(oracle.Confirmed, "confirm %d", e.Tag)
	case Refuse:
		say(oracle.Confirmed, "refuse %d", e.Tag)
	case SendBack:
		say(oracle.Confirmed, "return %s", text)
	case Cancelled:
		say(oracle.Cancelled, "cancelled %s", e.ConsumerTag)
	case Answered:
		say(oracle.Answered, "lost letter %d %s", e.Tag, e.Name)
	case Closed:
		say(oracle.Answered, "refused %d", e.Err.Code)
	case Done:
		switch e.Command {
		case DeclareQueue:
			say(oracle.Answered, "declared %s ready=%d consumers=%d", e.Name, e.Count, e.Consumers)
		case PurgeQueue:
			say(oracle.Answered, "purged count=%d", e.Count)
		case DeleteQueue:
			say(oracle.Answered, "deleted count=%d", e.Count)
		case Republish, Discard:
			say(oracle.Answered, "lost letters count=%d", e.Count)
		}
	}
	return nil
}

// message is what a client sees.
func (d *duel) message(e *Effect) (string, error) {
	m := &e.Message
	if m.Record == nil {
		m.Record = d.record(m.Ref)
	}
	if m.History == nil && !m.HistoryRef.IsZero() {
		m.History = d.record(m.HistoryRef)
	}
	v, err := m.View()
	if err != nil {
		return "", err
	}
	p, err := amqp.ParseProperties(v.Properties)
	if err != nil {
		return "", err
	}
	return oracle.Message(string(v.Exchange), string(v.RoutingKey), string(v.Body), e.Redelivered, &p), nil
}

// compare reports what the two do not agree on.
func (d *duel) compare(answers []oracle.Answer) error {
	var wrong []string
	if got, want := sorted(d.said), sorted(answers); got != want {
		wrong = append(wrong, "the machine says\n"+got+"\nand not\n"+want)
	}
	got, want := d.state(), d.oracle.State()
	if !got.Equal(want) {
		wrong = append(wrong, "they hold other things")
	}
	if err := d.world.v.Check(); err != nil {
		wrong = append(wrong, err.Error())
	}
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, "\n") + apart(got.String(), want.String()))
}

// apart shows the lines of both from the first that differs to the last.
func apart(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for len(g) > 0 && len(w) > 0 && g[0] == w[0] {
		g, w = g[1:], w[1:]
	}
	for len(g) > 0 && len(w) > 0 && g[len(g)-1] == w[len(w)-1] {
		g, w = g[:len(g)-1], w[:len(w)-1]
	}
	const most = 16 // lines; whoever needs them all prints them
	return "\n--- the machine\n" + strings.Join(g[:min(len(g), most)], "\n") + "\n--- the oracle\n" + strings.Join(w[:min(len(w), most)], "\n")
}

// sorted lists answers by channel and kind: only within these they have an order.
func sorted(answers []oracle.Answer) string {
	answers = slices.Clone(answers)
	slices.SortStableFunc(answers, func(a, b oracle.Answer) int {
		if a.Channel != b.Channel {
			return a.Channel - b.Channel
		}
		if a.Kind == oracle.Cancelled && b.Kind == oracle.Cancelled {
			return strings.Compare(a.Text, b.Text)
		}
		return strings.Compare(string(a.Kind), string(b.Kind))
	})
	lines := make([]string, len(answers))
	for i, a := range answers {
		lines[i] = fmt.Sprintf("  %d: %s", a.Channel, a.Text)
	}
	return strings.Join(lines, "\n")
}
