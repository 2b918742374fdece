package management

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// importedFrom is the header of a message that was imported: which one it was where it was exported, and a digest of it, since a queue
// that is declared again counts its messages from 1 again.
const importedFrom = "x-imported-from"

// A target is what an import knows of an exchange.
type target struct{ open, topic bool }

// An intake publishes exported letters.
type intake struct {
	request  *request
	origin   bool // each where it was published first
	exchange string
	key      *string           // nil: their own
	there    map[string]target // exchanges that were asked for
	has      map[string]bool   // letters that the queue has already, by where they are from; nil: nobody asked
	commands []vhost.Command
	bytes    int
	result   api.Imported
}

// importLetters publishes what an export has: into a queue, to an exchange, or where each letter was published first.
func importLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Redrive); err != nil {
		return answer{}, err
	}
	in, err := r.intake()
	if err != nil {
		return answer{}, err
	}
	if err := r.take(2 * importBytes); err != nil { // what is published at once
		return answer{}, err
	}
	r.takesLong(0)
	before := r.account.taken
	lines := bufio.NewReaderSize(&slowBody{r, r.Body}, 1<<16)
	for {
		r.account.giveBack(before)
		line, err := r.readLine(lines)
		if len(bytes.TrimSpace(line)) > 0 {
			in.result.Read++
			if wrong := in.line(line); wrong != nil {
				in.wrong(wrong)
			}
		}
		if in.bytes > importBytes || len(in.commands) >= importPortion || err != nil && len(in.commands) > 0 {
			if failed := in.publish(); failed != nil && in.result.Imported == 0 {
				return answer{}, failed
			} else if failed != nil { // the answer is about what was imported before
				in.wrong(failed)
				break
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			in.result.Read++
			in.wrong(err)
			break
		}
	}
	if r.detail, err = encode(in.result); err != nil {
		return answer{}, err
	}
	return ok(in.result)
}

// A slowBody is a request's body of any length; each piece of it has to come within takeWithin.
type slowBody struct {
	*request
	body io.Reader
}

// Read implements io.Reader.
func (b *slowBody) Read(to []byte) (int, error) {
	_ = http.NewResponseController(b.writer).SetReadDeadline(time.Now().Add(takeWithin)) // where there are no limits, none can be set
	return b.body.Read(to)
}

// readLine reads up to a line break, or the end: then the error is io.EOF.
func (r *request) readLine(from *bufio.Reader) (line []byte, err error) {
	counted := importBytes
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > counted {
			counted = min(2*counted, lineBytesMax)
			if err := r.take(int64(counted)); err != nil {
				return nil, err
			}
		}
		switch {
		case len(line) > lineBytesMax:
			return nil, fmt.Errorf("it is longer than %d bytes", lineBytesMax)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// intake reads the query.
func (r *request) intake() (*intake, error) {
	query := r.URL.Query()
	in := &intake{request: r, origin: r.flag("origin")}
	ways := 0
	for _, given := range []bool{in.origin, query.Has("queue"), query.Has("exchange")} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, badRequest("give exactly one of queue=…, exchange=… and origin=true")
	}
	if query.Has("routing_key") {
		key := query.Get("routing_key")
		in.key = &key
		if !query.Has("exchange") {
			return nil, badRequest("'routing_key' requires 'exchange'")
		}
		if err := checkRoutingKey(key); err != nil {
			return nil, err
		}
	}
	if r.flag("once") && !query.Has("queue") {
		return nil, badRequest("'once' requires 'queue': messages already in it are not imported again")
	}
	switch {
	case query.Has("queue"):
		name := query.Get("queue")
		in.key = &name
		if err := r.needTarget(name, func(v *vhost.VHost) bool { _, found := v.Topology().Queue(name); return found }, "queue"); err != nil {
			return nil, err
		}
		if err := r.caller.NeedWrite(r.names[0], ""); err != nil {
			return nil, err
		}
		if r.flag("once") {
			if err := r.caller.NeedRead(r.names[0], name); err != nil {
				return nil, err
			}
			return in, in.lookWhatIsThere(name)
		}
	case !in.origin:
		in.exchange = exchangeNamed(query.Get("exchange"))
		if err := r.needTarget(in.exchange, func(v *vhost.VHost) bool { return v.Topology().Exchange(in.exchange) != nil }, "exchange"); err != nil {
			return nil, err
		}
		return in, r.caller.NeedWrite(r.names[0], in.exchange)
	}
	return in, nil
}

// lookWhatIsThere finds which letters were imported into a queue before, and are there still.
func (in *intake) lookWhatIsThere(name string) error {
	in.has = map[string]bool{}
	f, err := in.request.siftBy("")
	if err != nil {
		return err
	}
	if err := in.request.takeTurn(); err != nil {
		return err
	}
	defer func() { in.request.turn.End() }()
	w := in.request.walkThrough(&spot{host: in.request.names[0], Where: vhost.Where{Queue: name}}, f, 0, false)
	w.budget, w.most = in.request.turn.Budget(time.Hour), math.MaxInt
	return w.each(func(_ *vhost.VHost, x *vhost.Seen) bool {
		if p, err := amqp.ParseProperties(x.Content().Properties); err == nil {
			if v, there := p.Headers.Get(importedFrom); there {
				in.has[v.Str] = true
			}
		}
		return true
	})
}

func (in *intake) wrong(err error) {
	in.result.Failed++
	reason := err.Error()
	if worded := new(api.Error); errors.As(err, &worded) {
		reason = worded.Reason
	}
	if len(in.result.Wrong) < problemsMax {
		in.result.Wrong = append(in.result.Wrong, api.WrongLine{Line: in.result.Read, Reason: shortened(reason)})
	}
}

// line reads one letter.
func (in *intake) line(text []byte) error {
	r := in.request
	var l api.Exported
	if err := r.decodeText(bytes.TrimSpace(text), &l, false); err != nil {
		return err
	}
	if l.Payload == nil {
		return errors.New("the payload is missing")
	}
	body := []byte(*l.Payload)
	if cmp.Or(l.PayloadEncoding, "string") == "base64" {
		var err error
		if body, err = base64.StdEncoding.DecodeString(*l.Payload); err != nil {
			return errors.New("the payload is not base64")
		}
	}
	p, err := importedProperties(&l)
	if err != nil {
		return err
	}
	if p.Has&amqp.FlagUserID != 0 && !r.caller.ImportOf(p.UserID) {
		return errors.New("the user ID is not yours")
	}
	if in.origin {
		restoreExpiration(p, l.Deaths)
	}
	if err := publishable(p); err != nil {
		return err
	}
	if l.ID != "" {
		from, err := markOf(&l, p, body)
		if err != nil {
			return err
		}
		if in.has[from] {
			in.result.Skipped++
			return nil
		}
		p.Has |= amqp.FlagHeaders
		p.Headers = append(withoutHeader(p.Headers, importedFrom), amqp.Field{Name: importedFrom, Value: amqp.String(from)})
		if in.has != nil {
			in.has[from] = true
		}
	}
	exchange, key := in.target(&l)
	if err := checkRoutingKey(key); err != nil {
		return err
	}
	if err := in.needExchange(exchange); err != nil {
		return err
	}
	if r.caller.PublishTo(r.names[0], exchange, in.there[exchange].topic, key) != nil {
		return errors.New("you may not publish to exchange '" + exchange + "' with that key")
	}
	c := vhost.Command{
		Kind: vhost.Publish, Exchange: []byte(exchange), Key: []byte(key), Mandatory: true, Properties: amqp.AppendProperties(nil, p), Body: body,
	}
	in.commands, in.bytes = append(in.commands, c), in.bytes+len(c.Properties)+len(body)
	return nil
}

// markOf names a letter among all that were ever exported: where it was, under which number, and what of it stays as it is while it is
// there.
func markOf(l *api.Exported, p *amqp.Properties, body []byte) (string, error) {
	own := *p
	own.Has, own.Headers = own.Has&^amqp.FlagHeaders, nil
	for _, f := range p.Headers {
		if !isOwnHeader(f.Name) { // such as how often it was delivered
			own.Has, own.Headers = own.Has|amqp.FlagHeaders, append(own.Headers, f)
		}
	}
	content, err := encode(l.Deaths)
	if err != nil {
		return "", err
	}
	if l.At != nil {
		content = append(content, *l.At...)
	}
	content = append(amqp.AppendProperties(content, &own), body...)
	return l.VHost + "/" + l.Place + "/" + l.Queue + "/" + l.ID + "#" + digest(content), nil
}

// needExchange refuses a line whose exchange takes nothing from clients: published with others it would end them all.
func (in *intake) needExchange(name string) error {
	x, asked := in.there[name]
	if !asked {
		err := in.request.look(in.request.names[0], func(v *vhost.VHost) {
			at := v.Topology().Exchange(name)
			x.open = name == "" || at != nil && !at.Internal
			x.topic = at != nil && at.Type() == "topic"
		})
		if err != nil {
			return err
		}
		if in.there == nil || len(in.there) > problemsMax*problemsMax {
			in.there = map[string]target{}
		}
		in.there[name] = x
	}
	if !x.open {
		return errors.New("there is no exchange '" + name + "' that clients publish to")
	}
	return nil
}

// target is where a letter goes.
func (in *intake) target(l *api.Exported) (exchange, key string) {
	exchange = in.exchange
	keys := l.RoutingKeys
	if x := l.Republished; x != nil { // a client brought it where it was
		f := sift.Failure{Exchange: x.Exchange, Key: x.RoutingKey, Queue: x.Queue}
		if first, key, told := f.Back(); told {
			l.Exchange, keys = first, []string{key}
		}
	}
	if n := len(l.Deaths); n > 0 {
		keys = l.Deaths[n-1].RoutingKeys
		if in.origin {
			exchange = l.Deaths[n-1].Exchange
		}
		for i := range l.Deaths {
			if d := &l.Deaths[i]; l.First != nil && d.Queue == l.First.Queue && d.Reason == l.First.Reason {
				keys = d.RoutingKeys
				if in.origin {
					exchange = d.Exchange
				}
			}
		}
	} else if in.origin {
		exchange = l.Exchange
	}
	if in.key != nil {
		return exchange, *in.key
	}
	if len(keys) > 0 {
		key = keys[0]
	}
	return exchange, key
}

func importedProperties(l *api.Exported) (*amqp.Properties, error) {
	if l.PropertiesRaw == "" {
		return readProperties(amqp.Table(l.Properties))
	}
	raw, err := base64.StdEncoding.DecodeString(l.PropertiesRaw)
	if err != nil {
		return nil, errors.New("properties_raw is not base64")
	}
	p, err := amqp.ParseProperties(raw)
	if err != nil {
		return nil, err
	}
	return &p, p.Check()
}

// restoreExpiration gives a letter the expiration again that its publisher gave it, and its death has taken: as a redrive to where it
// was published first does.
func restoreExpiration(p *amqp.Properties, deaths []api.Death) {
	if p.Has&amqp.FlagExpiration != 0 {
		return
	}
	for i := range deaths { // the newest first
		if x := deaths[i].OriginalExpiration; x != nil {
			p.Has, p.Expiration = p.Has|amqp.FlagExpiration, *x
		}
	}
}

// publishable refuses a line that no publisher may send: published with others it would end them all.
func publishable(p *amqp.Properties) error {
	if p.Has&amqp.FlagExpiration != 0 {
		if ms, err := strconv.ParseInt(p.Expiration, 10, 64); err != nil || ms < 0 || ms > expirationMax {
			return errors.New("the expiration '" + p.Expiration + "' is not a number of milliseconds that a message may have")
		}
	}
	for _, name := range []string{"CC", "BCC"} {
		if v, there := p.Headers.Get(name); there && v.Kind != amqp.KindArray {
			return errors.New("the header " + name + " is not a list of routing keys")
		}
	}
	return nil
}

func withoutHeader(t amqp.Table, name string) (rest amqp.Table) {
	for _, f := range t {
		if f.Name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

// publish publishes what was read, as the broker itself if an administrator asks, so that letters keep their user IDs.
func (in *intake) publish() error {
	r := in.request
	commands := append([]vhost.Command{{Kind: vhost.SelectConfirms}}, in.commands...)
	effects, err := r.doAs(r.caller.Importer(), r.names[0], commands...)
	if err != nil {
		return plainly(err)
	}
	unrouted, refused := int64(0), int64(0)
	for i := range effects {
		switch effects[i].Kind {
		case vhost.SendBack:
			unrouted++
		case vhost.Refuse:
			refused++
		}
	}
	in.result.Unrouted += unrouted
	in.result.Refused += refused
	in.result.Imported += int64(len(in.commands)) - unrouted - refused
	in.commands, in.bytes = in.commands[:0], 0
	return nil
}
