package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/turns"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A request is what an endpoint serves.
type request struct {
	*http.Request
	server   *Server
	writer   http.ResponseWriter
	route    string       // that serves it, as in the table; "" until that is known
	names    []string     // in the variable segments of the path
	view     *access.View // as of the request's arrival, or of its login
	caller   authz.Rights // of who asks
	turn     *turns.Turn  // nil: what is asked for takes none
	gathers  bool         // it is one of the few that hold a whole list
	account  account      // of the memory that it takes
	answered int64        // of that, what the answer takes
	detail   []byte       // JSON for the audit log, instead of the body; nil: the body
	idle     bool         // what was asked for was so already
	fields   string       // shown unless the query asks for columns, with commas between; empty: all
}

// takeTurn has the request wait for its turn among those of all users while messages flow, and its context carry it.
func (r *request) takeTurn() error {
	ctx, turn, err := r.server.share.Begin(r.Context(), r.caller.Name())
	if err != nil {
		return err
	}
	r.Request, r.turn = r.WithContext(ctx), turn
	return nil
}

// gather waits until the request may read a whole list into memory, which only few do at a time. It ends when
// the answer is ready.
func (r *request) gather() error {
	select {
	case r.server.gathers <- struct{}{}:
		r.gathers = true
		return nil
	default:
	}
	timer := time.NewTimer(r.server.memory.patience)
	defer timer.Stop()
	select {
	case r.server.gathers <- struct{}{}:
		r.gathers = true
		return nil
	case <-timer.C:
		return errNoMemory
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// ready ends what only few do at a time: whoever is slow to read holds up nobody.
func (r *request) ready() {
	r.turn.End()
	if r.gathers {
		r.gathers = false
		<-r.server.gathers
	}
}

// flag reports whether the query says name=true.
func (r *request) flag(name string) bool { return r.URL.Query().Get(name) == "true" }

// read decodes the body, which may come with any content type; an empty one is {}. Unknown keys are ignored.
// Source: RabbitMQ management API; reference http-api 1.2.
func (r *request) read(into any) error { return r.decode(into, false) }

// readKnown is read for bodies of our own, in which a misspelt key is refused.
func (r *request) readKnown(into any) error { return r.decode(into, true) }

func (r *request) decode(into any, known bool) error {
	body, err := r.wholeBody()
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0 || string(body) == "null" || string(body) == "undefined":
		return nil
	case body[0] == '"':
		return badRequest("the request body is a JSON string, not an object: is it encoded twice?")
	case body[0] != '{':
		return badRequest("%v", api.ErrNotJSON)
	}
	return r.decodeText(body, into, known)
}

// errMemoryAlarm refuses what would stay in memory while there is too little of it.
var errMemoryAlarm = &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
	Reason: fmt.Sprintf("memory alarm: request bodies are limited to %d bytes until it ends", alarmBodyBytes)}

// decodeText decodes a document, and counts what it makes of it. All that comes by HTTP is decoded here.
func (r *request) decodeText(text []byte, into any, known bool) error {
	err := api.DecodeWithin(text, into, api.Bounds{Known: known, Admit: func(bytes int64) error {
		if most := r.server.memory.each; bytes > most {
			return badRequest("the decoded request body would use %d bytes of memory; the limit is %d", bytes, most)
		}
		return r.take(bytes)
	}})
	var refused *api.Error
	if err == nil || errors.As(err, &refused) || errors.Is(err, errNoMemory) || r.Context().Err() != nil {
		return err
	}
	return badRequest("%v", err)
}

// wholeBody reads the body, as far as the bound of the route allows. A client that sends more is heard out, as far as the bound
// of any route allows: it would not read why it is refused while it sends.
func (r *request) wholeBody() ([]byte, error) {
	large := r.server.options.BodyBytesMax
	most := bodyBound(r.route, large)
	refuse := func(err error) ([]byte, error) {
		_, _ = io.CopyN(io.Discard, r.Body, large) // a client that has gone needs no answer
		return nil, err
	}
	tooLarge := badRequest("Exceeded HTTP request body size limit: %d bytes here", most)
	if r.ContentLength > most {
		return refuse(tooLarge)
	}
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	if size > alarmBodyBytes && !slices.Contains(relieving, r.route) && r.server.engine.Alarms().Has(engine.LowMemory) {
		return refuse(errMemoryAlarm)
	}
	if err := r.take(2 * size); err != nil { // once as it came, once as it is decoded
		return refuse(err)
	}
	body := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength, 0)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(r.Body, most+1)); err != nil {
		return nil, badRequest("cannot read the request body: %v", err)
	}
	if int64(body.Len()) > most {
		return refuse(tooLarge)
	}
	return body.Bytes(), nil
}

// take counts memory that the request takes until it is answered.
func (r *request) take(bytes int64) error {
	r.account.budget, r.account.user = &r.server.memory, r.caller.Name()
	return r.account.take(r.Context(), bytes)
}

// takeLarge is take, for what may be small and is not counted then.
func (r *request) takeLarge(bytes int64) error {
	if bytes < largeAnswer {
		return nil
	}
	return r.take(bytes)
}

// takeAnswer counts the memory of the answer, as far as it was not counted while the answer was made. An answer may be larger than
// what requests of a user take otherwise, up to a share of the memory that the broker may have; not while a memory alarm holds.
func (r *request) takeAnswer(bytes int64) error {
	most, now := r.server.memory.each, r.server.engine.Resources()
	if !now.Alarms.Has(engine.LowMemory) {
		most = max(most, now.MemoryLimit/answerShare)
	}
	if bytes > most {
		return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
			Reason: fmt.Sprintf("the response would use more than %d bytes of memory: request pages, or fewer columns", most)}
	}
	err := r.take(bytes - r.answered)
	if err == nil {
		r.answered = max(r.answered, bytes)
	}
	return err
}

// A key of a request body that must be there.
type key struct {
	name  string
	given bool
}

// need refuses a body in which a key is missing. Source: RabbitMQ management API, key_missing.
func needKeys(keys ...key) error {
	var missing []string
	for _, k := range keys {
		if !k.given {
			missing = append(missing, "{key_missing,"+k.name+"}")
		}
	}
	if missing != nil {
		return badRequest("[%s]", strings.Join(missing, ","))
	}
	return nil
}

// look runs fn on the live state of a virtual host; it must be short, and keep no more than copies. A virtual host whose
// disk hangs does not answer: then there is an error after a while.
func (r *request) look(name string, fn func(*vhost.VHost)) error {
	ctx, cancel := context.WithTimeout(r.Context(), lookPatience)
	defer cancel()
	return r.late(name, look(ctx, r.server.engine, name, fn))
}

// allowed asks a rule that looks at a virtual host.
func (r *request) allowed(name string, may func(authz.Machine) error) error {
	var denied error
	if err := r.look(name, func(v *vhost.VHost) { denied = may(v) }); err != nil {
		return err
	}
	return denied
}

// late says of a virtual host that has not answered in time why it has not.
func (r *request) late(name string, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || r.Context().Err() != nil {
		return err
	}
	return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: r.server.engine.WhyLate(name)}
}

// do runs commands in a virtual host with the caller's permissions.
func (r *request) do(name string, commands ...vhost.Command) ([]vhost.Effect, error) {
	return r.doAs(r.caller.Principal(), name, commands...)
}

// doAs runs commands with the rights of a principal.
func (r *request) doAs(who authz.Principal, name string, commands ...vhost.Command) ([]vhost.Effect, error) {
	ctx, cancel := context.WithTimeout(r.Context(), commandPatience)
	defer cancel()
	effects, err := r.server.engine.Do(ctx, name, who, commands...)
	return effects, r.late(name, err)
}

// change decides changes of users, virtual hosts and permissions, and takes the view that follows.
func (r *request) change(commands ...access.Command) (created bool, err error) {
	created, err = r.server.engine.ChangeAccess(r.Context(), commands...)
	r.view = r.server.engine.Access()
	return created, err
}

// visible lists the virtual hosts that lists show: the caller's own, all of them to those who watch over the node.
// The header x-vhost narrows it. Source: RabbitMQ management API; reference http-api 1.5.
func (r *request) visible() []*access.VHost {
	all := r.view.VHosts()
	narrow := r.Header.Get("X-Vhost")
	return slices.DeleteFunc(all, func(h *access.VHost) bool {
		return narrow != "" && narrow != h.Name || !r.sees(h.Name)
	})
}

func (r *request) sees(vhost string) bool {
	return r.caller.See(vhost)
}

// shown is the one virtual host that is named, or else all that are visible.
func (r *request) shown(names ...string) ([]*access.VHost, error) {
	if len(names) == 0 {
		return r.visible(), nil
	}
	h, err := r.vhost(names[0])
	if err != nil {
		return nil, err
	}
	return []*access.VHost{h}, nil
}

// vhost finds a virtual host that the caller may see; any other does not exist for it.
func (r *request) vhost(name string) (*access.VHost, error) {
	h, ok := r.view.VHost(name)
	if !ok || !r.sees(name) {
		return nil, errNotFound
	}
	return h, nil
}

// enter makes sure that the caller may do something in a virtual host. Who wants to make something in none is told which of
// the names leads nowhere. Source: RabbitMQ management API.
func (r *request) enter(name string) error {
	if _, err := r.vhost(name); err != nil {
		if r.Method == puts || r.Method == post {
			return notFound("vhost")
		}
		return err
	}
	return r.caller.NeedEnter(name)
}

// down reports whether a virtual host has stopped: lists pass over it.
func (r *request) down(name string) bool { return r.server.engine.Down(name) != nil }

// exchangeNamed turns the name in a path into that of the exchange.
func exchangeNamed(segment string) string {
	if segment == access.DefaultExchange {
		return ""
	}
	return segment
}

// codeOf is the reply code of a refusal, 0 for any other error.
func codeOf(err error) uint16 {
	var refused *amqp.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}
