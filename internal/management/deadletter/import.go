package deadletter

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func importEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST x/letters/{vhost}/import", Tag: authz.Management, Serve: importMessages, Scope: web.Leader,
			Summary: "Imports JSON Lines: to queue=NAME (and once=true), exchange=NAME (and routing_key), or " +
				"origin=true",
			In: api.Exported{}, Out: api.Imported{},
		},
	}
}

// importedFrom is the header of a message that was imported: which one it was where it was exported, and a digest of
// it, since a queue that is declared again counts its messages from 1 again.
const importedFrom = "x-imported-from"

// A target is what an import knows of an exchange.
type target struct{ open, topic bool }

// An intake publishes exported messages.
type intake struct {
	request  *web.Request
	origin   bool // each where it was published first
	exchange string
	key      *string           // nil: their own
	there    map[string]target // exchanges that were asked for
	has      *marks            // imported messages that the queue already has; nil: once=true was not given
	commands []vhost.Command
	bytes    int
	result   api.Imported
}

// importMessages publishes exported messages to a queue, to an exchange, or where each was first published.
func importMessages(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Redrive); err != nil {
		return web.Answer{}, err
	}
	in, err := readIntake(r)
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Take(2 * importBytes); err != nil { // what is published at once
		return web.Answer{}, err
	}
	r.AllowLong(0)
	before := r.Account.Taken
	lines := bufio.NewReaderSize(&slowBody{r.Writer, r.Body}, 1<<16)
	for {
		r.Account.GiveBack(before)
		in.has.reserve()
		before = r.Account.Taken
		line, err := readLine(r, lines)
		if len(bytes.TrimSpace(line)) > 0 {
			in.result.Read++
			if wrong := in.line(line); wrong != nil {
				in.wrong(wrong)
			}
		}
		if in.bytes > importBytes || len(in.commands) >= web.ImportPortion || err != nil && len(in.commands) > 0 {
			if failed := in.publish(); failed != nil && in.result.Imported == 0 {
				return web.Answer{}, failed
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
	if r.Detail, err = web.Encode(in.result); err != nil {
		return web.Answer{}, err
	}
	return web.OK(in.result)
}

// A slowBody is a request's body of any length; each piece of it has to come within takeWithin.
type slowBody struct {
	to   http.ResponseWriter
	body io.Reader
}

// Read implements io.Reader.
func (b *slowBody) Read(to []byte) (int, error) {
	// where there are no limits, none can be set
	_ = http.NewResponseController(b.to).SetReadDeadline(time.Now().Add(web.TakeWithin))
	return b.body.Read(to)
}

// readLine reads up to a line break, or the end: then the error is io.EOF.
func readLine(r *web.Request, from *bufio.Reader) (line []byte, err error) {
	counted := importBytes
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > counted {
			counted = min(2*counted, lineBytesMax)
			if err := r.Take(int64(counted)); err != nil {
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
func readIntake(r *web.Request) (in *intake, err error) {
	query := r.URL.Query()
	in = &intake{request: r, origin: r.Flag("origin")}
	ways := 0
	for _, given := range []bool{in.origin, query.Has("queue"), query.Has("exchange")} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, web.BadRequest("give exactly one of queue=…, exchange=… and origin=true")
	}
	if query.Has("routing_key") {
		key := query.Get("routing_key")
		in.key = &key
		if !query.Has("exchange") {
			return nil, web.BadRequest("'routing_key' requires 'exchange'")
		}
		if err := message.CheckRoutingKey(key); err != nil {
			return nil, err
		}
	}
	if r.Flag("once") && !query.Has("queue") {
		return nil, web.BadRequest("'once' requires 'queue': messages already in it are not imported again")
	}
	switch {
	case query.Has("queue"):
		name := query.Get("queue")
		in.key = &name
		if err := needTarget(r, name, func(v vhost.Reader) bool { _, found := v.Topology().Queue(name); return found }, "queue"); err != nil {
			return nil, err
		}
		if err := r.Caller.NeedWrite(r.PathValue("vhost"), ""); err != nil {
			return nil, err
		}
		if r.Flag("once") {
			if err := r.Caller.NeedRead(r.PathValue("vhost"), name); err != nil {
				return nil, err
			}
			in.has, err = readMarks(r, name)
			return in, err
		}
	case !in.origin:
		in.exchange = web.ExchangeName(query.Get("exchange"))
		if err := needTarget(r, in.exchange, func(v vhost.Reader) bool { return v.Topology().Exchange(in.exchange) != nil }, "exchange"); err != nil {
			return nil, err
		}
		return in, r.Caller.NeedWrite(r.PathValue("vhost"), in.exchange)
	}
	return in, nil
}

func (in *intake) wrong(err error) {
	in.result.Failed++
	reason := err.Error()
	if worded := new(api.Error); errors.As(err, &worded) {
		reason = worded.Reason
	}
	if len(in.result.Wrong) < web.ProblemsMax {
		in.result.Wrong = append(in.result.Wrong, api.WrongLine{Line: in.result.Read, Reason: web.Shorten(reason)})
	}
}

// line reads one message.
func (in *intake) line(text []byte) error {
	r := in.request
	var l api.Exported
	if err := r.DecodeText(bytes.TrimSpace(text), &l, false); err != nil {
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
	if err := r.TakeLarge(2 * int64(len(body))); err != nil { // here, and in what comes back if nothing takes it
		return err
	}
	p, err := importedProperties(&l)
	if err != nil {
		return err
	}
	if p.Has&amqp.FlagUserID != 0 && !r.Caller.ImportOf(p.UserID) {
		return errors.New("the user ID is not yours")
	}
	if in.origin {
		restoreExpiration(p, l.Deaths)
	}
	if err := publishable(p); err != nil {
		return err
	}
	if l.ID != "" {
		from, err := originOf(&l, p, body)
		if err != nil {
			return err
		}
		there, err := in.stays(&l, from)
		if err != nil {
			return err
		}
		if there || in.has.isThere(from) {
			in.result.Skipped++
			return nil
		}
		p.Has |= amqp.FlagHeaders
		p.Headers = append(withoutHeader(p.Headers, importedFrom), amqp.Field{Name: importedFrom, Value: amqp.String(from)})
		if err := in.has.put(from); err != nil {
			return err
		}
	}
	exchange, key := in.target(&l)
	if err := message.CheckRoutingKey(key); err != nil {
		return err
	}
	if err := in.needExchange(exchange); err != nil {
		return err
	}
	if r.Caller.PublishTo(r.PathValue("vhost"), exchange, in.there[exchange].topic, key) != nil {
		return errors.New("you may not publish to exchange '" + exchange + "' with that key")
	}
	c := vhost.Command{
		Kind: vhost.Publish, Exchange: []byte(exchange), Key: []byte(key), Mandatory: true, Properties: amqp.AppendProperties(nil, p), Body: body,
	}
	in.commands, in.bytes = append(in.commands, c), in.bytes+len(c.Properties)+len(body)
	return nil
}

// stays reports whether a message is still in the queue from which it was exported and into which it would come.
func (in *intake) stays(l *api.Exported, from string) (bool, error) {
	r := in.request
	host := r.PathValue("vhost")
	if in.has == nil || l.VHost != host || l.Place != sourceQueue || l.Queue != in.has.queue {
		return false, nil
	}
	how := wholeRenderer(r, host)
	var c carried
	source := &messageSource{host: host, Where: vhost.Where{Queue: l.Queue}, id: l.ID}
	err := foundWithin(r, source, r.Take, func(v vhost.Reader, x *vhost.Seen) error {
		o, _ := v.Options()
		how.dialect = o.Dialect
		c = how.carry(x, true)
		return how.copy(&c, x)
	})
	if errors.Is(err, web.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p, err := amqp.ParseProperties(c.properties)
	if err != nil {
		return false, err
	}
	now, err := originOf(&api.Exported{StoredMessage: c.message}, &p, c.body)
	return now == from, err
}

// originOf identifies an exported message: its source, its number there, and a digest of the parts that do not change.
func originOf(l *api.Exported, p *amqp.Properties, body []byte) (string, error) {
	own := *p
	own.Has, own.Headers = own.Has&^amqp.FlagHeaders, nil
	for _, f := range p.Headers {
		if !isOwnHeader(f.Name) { // such as how often it was delivered
			own.Has, own.Headers = own.Has|amqp.FlagHeaders, append(own.Headers, f)
		}
	}
	content, err := web.Encode(l.Deaths)
	if err != nil {
		return "", err
	}
	if l.At != nil {
		content = append(content, *l.At...)
	}
	sum := digest(amqp.AppendProperties(content, &own), body)
	return l.VHost + "/" + l.Place + "/" + l.Queue + "/" + l.ID + "#" + sum, nil
}

// needExchange refuses a line whose exchange does not accept messages from clients: such a publish would close the
// channel of all.
func (in *intake) needExchange(name string) error {
	x, asked := in.there[name]
	if !asked {
		err := in.request.Look(in.request.PathValue("vhost"), func(v vhost.Reader) {
			at := v.Topology().Exchange(name)
			x.open = name == "" || at != nil && !at.Internal
			x.topic = at != nil && at.Type() == "topic"
		})
		if err != nil {
			return err
		}
		if in.there == nil || len(in.there) > web.ProblemsMax*web.ProblemsMax {
			in.there = map[string]target{}
		}
		in.there[name] = x
	}
	if !x.open {
		return errors.New("there is no exchange '" + name + "' that clients can publish to")
	}
	return nil
}

// target returns where a message is published.
func (in *intake) target(l *api.Exported) (exchange, key string) {
	exchange = in.exchange
	keys := l.RoutingKeys
	if x := l.Republished; x != nil { // a client brought it where it was
		f := filter.Failure{Exchange: x.Exchange, Key: x.RoutingKey, Queue: x.Queue}
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
		return message.ReadProperties(amqp.Table(l.Properties))
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

// restoreExpiration restores the publisher's expiration, which dead-lettering has removed, as a redrive to the origin
// does.
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

// publishable refuses a line that no publisher may send: such a publish would close the channel of all.
func publishable(p *amqp.Properties) error {
	if p.Has&amqp.FlagExpiration != 0 {
		if ms, err := strconv.ParseInt(p.Expiration, 10, 64); err != nil || ms < 0 || ms > settings.WaitMax {
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

// publish publishes what was read, as the broker itself if an administrator asks, so that messages keep their user IDs.
func (in *intake) publish() error {
	r := in.request
	commands := append([]vhost.Command{{Kind: vhost.SelectConfirms}}, in.commands...)
	effects, err := r.DoAs(r.Caller.Importer(), r.PathValue("vhost"), commands...)
	if err != nil {
		return web.AsBadRequest(err)
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
