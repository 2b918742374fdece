package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Request is what an endpoint serves.
type Request struct {
	*http.Request
	*Shared
	Writer    http.ResponseWriter
	Endpoint  *Endpoint       // that serves it; nil until that is known
	View      *accounts.View  // as of the request's arrival, or of its login
	Caller    authz.Rights    // of who asks
	Task      *fairshare.Task // nil: what is asked for takes none
	turn      *fairshare.Turn // nil: it has not begun to make the answer
	list      *fairshare.Turn // to hold a whole list; nil: it has held none
	Account   Account         // of the memory that it takes
	answered  int64           // of that, what the answer takes
	Detail    []byte          // JSON for the audit log, instead of the body; nil: the body
	Unchanged bool            // nothing was changed: what was asked for was so already, or it was a dry run
	fields    string          // shown unless the query asks for columns, with commas between; empty: all
}

// BeginTask makes the request a task, which waits for its turn while messages flow; its context carries it.
func (r *Request) BeginTask() error {
	r.turn.Leave()
	ctx, task, err := r.Share.Begin(r.Context(), r.Caller.Name())
	if err != nil {
		return err
	}
	r.Request, r.Task = r.WithContext(ctx), task
	return nil
}

// Work is called before each part of the answer is made, with nothing locked. Few requests make theirs at a time: it
// waits for the request's turn, as the users share them. The turn goes on until the next part, but not while the
// request waits: for a virtual host, for memory, or for the client.
func (r *Request) Work() error {
	if r.turn == nil {
		r.turn = r.Turns.Of(r.Caller.Name())
	}
	if r.turn.Goes() {
		return nil
	}
	return r.Task.Idle(func() error { return r.turn.Work(r.Context()) })
}

// Aside runs what waits for something else than the request's turn.
func (r *Request) Aside(fn func() error) error { return r.turn.Aside(r.Context(), fn) }

// Gather waits until the request may read a whole list into memory, which only few do at a time, and for the turn to
// do so. It ends when the answer is ready.
func (r *Request) Gather() error {
	r.turn.Leave()
	if r.list == nil {
		r.list = r.Lists.Of(r.Caller.Name())
	}
	soon, cancel := context.WithTimeout(r.Context(), r.Memory.Patience)
	defer cancel()
	if err := r.list.Work(soon); err != nil {
		return cmp.Or(r.Context().Err(), ErrNoMemory)
	}
	return r.Work()
}

// HoldsList reports whether the request is one of the few that hold a whole list.
func (r *Request) HoldsList() bool { return r.list.Holds() }

// Ready gives back the request's turn, its task and its place among the lists, so that a slow client delays no other.
func (r *Request) Ready() {
	r.turn.Leave()
	r.Task.End()
	r.list.Leave()
}

// Has reports whether the path has a variable segment of that name.
func (r *Request) Has(name string) bool { return r.Endpoint.Has(name) }

// SetPathValues notes what the variable segments of the path are.
func (r *Request) SetPathValues(segments []string) {
	for i, segment := range strings.Split(r.Endpoint.Path(), "/") {
		if variables.MatchString(segment) {
			r.SetPathValue(strings.Trim(segment, "{}"), segments[i])
		}
	}
}

// Flag reports whether the query says name=true.
func (r *Request) Flag(name string) bool { return r.URL.Query().Get(name) == "true" }

// Read decodes the body, which may come with any content type; an empty one is {}. Unknown keys are ignored.
// Source: RabbitMQ management API; docs/compat/http-api.md#1.2.
func (r *Request) Read(into any) error { return r.decode(into, false) }

// ReadKnown is read for bodies of our own, in which a misspelt key is refused.
func (r *Request) ReadKnown(into any) error { return r.decode(into, true) }

func (r *Request) decode(into any, known bool) error {
	body, err := r.wholeBody()
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0 || string(body) == "null" || string(body) == "undefined":
		return nil
	case body[0] == '"':
		return BadRequest("the request body is a JSON string, not an object: is it encoded twice?")
	case body[0] != '{':
		return BadRequest("%v", api.ErrNotJSON)
	}
	return r.DecodeText(body, into, known)
}

// errMemoryAlarm refuses what would stay in memory while there is too little of it.
var errMemoryAlarm = &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
	Reason: fmt.Sprintf("memory alarm: request bodies are limited to %d bytes until it ends", AlarmBodyBytes)}

// wholeBody reads the body, as far as the bound of the route allows. A client that sends more is heard out, as far as
// the bound of any route allows: it would not read why it is refused while it sends.
func (r *Request) wholeBody() ([]byte, error) {
	large := r.BodyBytesMax
	most := r.Endpoint.Body.max(large)
	refuse := func(err error) ([]byte, error) {
		_, _ = io.CopyN(io.Discard, r.Body, large) // a client that has gone needs no answer
		return nil, err
	}
	tooLarge := BadRequest("Exceeded HTTP request body size limit: %d bytes here", most)
	if r.ContentLength > most {
		return refuse(tooLarge)
	}
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	if size > AlarmBodyBytes && !r.Endpoint.Relieves && r.Engine.Alarms().Has(resource.LowMemory) {
		return refuse(errMemoryAlarm)
	}
	if err := r.Take(2 * size); err != nil { // once as it came, once as it is decoded
		return refuse(err)
	}
	body := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength, 0)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(r.Body, most+1)); err != nil {
		return nil, BadRequest("cannot read the request body: %v", err)
	}
	if int64(body.Len()) > most {
		return refuse(tooLarge)
	}
	return body.Bytes(), nil
}

// Take counts memory that the request takes until it is answered.
func (r *Request) Take(bytes int64) error {
	r.Account.Budget, r.Account.User = &r.Memory, r.Caller.Name()
	return r.Aside(func() error { return r.Account.Take(r.Context(), bytes) })
}

// Reserve counts memory that the request takes later, see Account.Reserve.
func (r *Request) Reserve(bytes int64) error {
	r.Account.Budget, r.Account.User = &r.Memory, r.Caller.Name()
	return r.Aside(func() error { return r.Account.Reserve(r.Context(), bytes) })
}

// TakeLarge is take, for what may be small and is not counted then.
func (r *Request) TakeLarge(bytes int64) error {
	if bytes < LargeAnswer {
		return nil
	}
	return r.Take(bytes)
}

// TakeAnswer counts the memory of the answer, as far as it was not counted while the answer was made. An answer may be
// larger than what requests of a user take otherwise, up to a share of the memory that the broker may have; not while a
// memory alarm holds.
func (r *Request) TakeAnswer(bytes int64) error {
	most, now := r.Memory.Each, r.Engine.Resources()
	if !now.Alarms.Has(resource.LowMemory) {
		most = max(most, now.MemoryLimit/answerShare)
	}
	if bytes > most {
		return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
			Reason: fmt.Sprintf("the response would use more than %d bytes of memory: request pages, or fewer columns", most)}
	}
	err := r.Take(bytes - r.answered)
	if err == nil {
		r.answered = max(r.answered, bytes)
	}
	return err
}

// mayCompress reports whether there is memory for another copy of an answer of that size, and counts it.
func (r *Request) mayCompress(bytes int) bool {
	return bytes < LargeAnswer || r.Account.tries(int64(bytes))
}

// A key of a request body that must be there.
type key struct {
	name  string
	given bool
}

// Needed is a key that must be there, and whether it is.
func Needed(name string, given bool) key { return key{name, given} }

// NeedKeys refuses a body in which a key is missing. Source: RabbitMQ management API, key_missing.
func NeedKeys(keys ...key) error {
	var missing []string
	for _, k := range keys {
		if !k.given {
			missing = append(missing, "{key_missing,"+k.name+"}")
		}
	}
	if missing != nil {
		return BadRequest("[%s]", strings.Join(missing, ","))
	}
	return nil
}

// Look runs fn on the live state of a virtual host; it must be short, and keep no more than copies. A virtual host
// whose disk hangs does not answer: then there is an error after a while.
func (r *Request) Look(name string, fn func(vhost.Reader)) error {
	ctx, cancel := context.WithTimeout(r.Context(), LookPatience)
	defer cancel()
	return r.Aside(func() error { return r.late(name, Look(ctx, r.Engine, name, fn)) })
}

// Copy copies a virtual host for a request.
func (r *Request) Copy(name string, some func(v vhost.Reader, most int) (more bool), use func() error) error {
	r.turn.Leave()
	return r.late(name, r.Shared.Copy(r.Context(), name, some, use))
}

// Allowed asks a rule that looks at a virtual host.
func (r *Request) Allowed(name string, may func(authz.Machine) error) error {
	var denied error
	if err := r.Look(name, func(v vhost.Reader) { denied = may(v) }); err != nil {
		return err
	}
	return denied
}

// late says of a virtual host that has not answered in time why it has not.
func (r *Request) late(name string, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || r.Context().Err() != nil {
		return err
	}
	return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: r.Engine.WhyLate(name)}
}

// Do runs commands in a virtual host with the caller's permissions.
func (r *Request) Do(name string, commands ...vhost.Command) ([]vhost.Effect, error) {
	return r.DoAs(r.Caller.Principal(), name, commands...)
}

// DoWithin is Do with a window, see engine.DoWithin.
func (r *Request) DoWithin(window int64, name string, commands ...vhost.Command) ([]vhost.Effect, error) {
	ctx, cancel := context.WithTimeout(r.Context(), commandPatience)
	defer cancel()
	r.turn.Leave()
	effects, err := r.Engine.DoWithin(ctx, name, r.Caller.Principal(), window, commands...)
	return effects, r.late(name, err)
}

// DoAs runs commands with the rights of a principal.
func (r *Request) DoAs(who authz.Principal, name string, commands ...vhost.Command) ([]vhost.Effect, error) {
	ctx, cancel := context.WithTimeout(r.Context(), commandPatience)
	defer cancel()
	r.turn.Leave()
	effects, err := r.Engine.Do(ctx, name, who, commands...)
	return effects, r.late(name, err)
}

// Change decides changes of users, virtual hosts and permissions, and takes the view that follows.
func (r *Request) Change(commands ...accounts.Command) (created bool, err error) {
	created, err = r.Engine.ChangeAccounts(r.Context(), commands...)
	r.View = r.Engine.Accounts()
	return created, err
}

// VisibleVHosts lists the virtual hosts that lists show: the caller's own, all of them to those who watch over the
// node. The header x-vhost narrows it. Source: RabbitMQ management API; docs/compat/http-api.md#1.5.
func (r *Request) VisibleVHosts() []*accounts.VHost {
	all := r.View.VHosts()
	narrow := r.Header.Get("X-Vhost")
	return slices.DeleteFunc(all, func(h *accounts.VHost) bool {
		return narrow != "" && narrow != h.Name || !r.sees(h.Name)
	})
}

func (r *Request) sees(vhost string) bool {
	return r.Caller.See(vhost)
}

// ShownVHosts is the one virtual host that the path names, or else all that are visible.
func (r *Request) ShownVHosts() ([]*accounts.VHost, error) {
	if !r.Has("vhost") {
		return r.VisibleVHosts(), nil
	}
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return nil, err
	}
	return []*accounts.VHost{h}, nil
}

// VHost finds a virtual host that the caller may see; any other does not exist for it.
func (r *Request) VHost(name string) (*accounts.VHost, error) {
	h, ok := r.View.VHost(name)
	if !ok || !r.sees(name) {
		return nil, ErrNotFound
	}
	return h, nil
}

// Enter makes sure that the caller may do something in a virtual host.
func (r *Request) Enter(name string) error {
	if _, err := r.VHost(name); err != nil {
		return r.noVHost()
	}
	return r.Caller.NeedEnter(name)
}

// AfterDeletion is the refusal of a request that met the deletion of the virtual host that its path
// names: what it would be a moment later. A mistake of the request stays what it is, and so do errors
// of all other requests.
func (r *Request) AfterDeletion(err error) error {
	var refused *api.Error
	var denied *authz.Denied
	mistake := errors.As(err, &refused) && refused.Status < http.StatusInternalServerError
	if mistake || errors.As(err, &denied) || !r.Has("vhost") {
		return err
	}
	before, was := r.View.VHost(r.PathValue("vhost"))
	now, is := r.Engine.Accounts().VHost(r.PathValue("vhost"))
	if !was || is && now.LogID == before.LogID {
		return err
	}
	return r.noVHost()
}

// noVHost says that there is no such virtual host. Who wants to make something in none is told which of the names leads
// nowhere. Source: RabbitMQ management API.
func (r *Request) noVHost() error {
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		return NotFound("vhost")
	}
	return ErrNotFound
}

// IsDown reports whether a virtual host has stopped: lists pass over it.
func (r *Request) IsDown(name string) bool { return r.Engine.Down(name) != nil }

// ExchangeName turns the name in a path into that of the exchange.
func ExchangeName(segment string) string {
	if segment == accounts.DefaultExchange {
		return ""
	}
	return segment
}

// CodeOf is the reply code of a refusal, 0 for any other error.
func CodeOf(err error) uint16 {
	var refused *amqp.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// AllowLong lifts the limits of time that other requests have; the next piece of the answer has to be taken within that
// time, if it is not zero.
func (r *Request) AllowLong(within time.Duration) {
	control, until := http.NewResponseController(r.Writer), time.Time{}
	if within > 0 {
		until = time.Now().Add(within)
	}
	// Where there are no limits, none can be lifted.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(until)
}

// HasExchange reports whether an exchange is there.
func (r *Request) HasExchange(name string) (found bool, err error) {
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) { found = v.Topology().Exchange(name) != nil })
	return found, err
}

// HasQueue reports whether the queue that the path names is there.
func (r *Request) HasQueue() (found bool, err error) {
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) { _, found = v.Topology().Queue(r.PathValue("queue")) })
	return found, err
}

// NeedQueue makes sure that the caller may enter the virtual host and that the queue is there.
func (r *Request) NeedQueue() error {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return err
	}
	found, err := r.HasQueue()
	if err == nil && !found {
		err = ErrNotFound
	}
	return err
}

// NeedNode makes sure that the path names this node.
func (r *Request) NeedNode() error {
	if r.PathValue("node") != r.Node {
		return ErrNotFound
	}
	return nil
}

// ClusterName is what was set, or else the node's name.
func (r *Request) ClusterName() string {
	return cmp.Or(r.View.ClusterName(), r.Node)
}
