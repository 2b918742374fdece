package management

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// traffic are the routes with other methods than GET that are not in the audit log: they move single messages, as clients do
// over AMQP, and would push everything else out of it; or they change nothing in spite of their method.
var traffic = []string{
	"login", "x/session",
	"x/dry-run/policies/*/*", "x/dry-run/operator-policies/*/*",
	"exchanges/*/*/publish",
	"queues/*/*/get",
	"queues/*/*/actions",
	"x/scheduled/*/*/cancel", "x/scheduled/*/*/reschedule", "x/scheduled/*/*/fire",
	"x/scheduled/*/*/*", "x/scheduled/*/*/*/fire",
	"x/scheduled/*/*/key/*", "x/scheduled/*/*/key/*/fire",
}

// onlyAccess are the first segments of the routes that change nothing but what an access.View shows.
var onlyAccess = []string{
	"users", "permissions", "topic-permissions", "vhosts", "vhost-limits", "user-limits", "global-parameters", "cluster-name",
}

// An auditor adds records to the audit log. Those that come while one is written share the next write.
type auditor struct {
	engine  *engine.Engine
	writing chan struct{} // holds one: whoever has it writes
	mu      struct {
		sync.Mutex
		next *auditRound // nil: nobody waits
	}
}

// An auditRound is records that are written together.
type auditRound struct {
	commands []access.Command
	done     chan struct{} // closed when err is what became of them
	err      error
}

func newAuditor(e *engine.Engine) *auditor {
	return &auditor{engine: e, writing: make(chan struct{}, 1)}
}

// record returns when the deed is safe in the audit log. That the caller has gone does not keep it out.
func (a *auditor) record(ctx context.Context, d access.Deed) error {
	a.mu.Lock()
	round, first := a.mu.next, a.mu.next == nil
	if first {
		round = &auditRound{done: make(chan struct{})}
		a.mu.next = round
	}
	round.commands = append(round.commands, access.Command{Kind: access.RecordDeed, Deed: d})
	a.mu.Unlock()
	if first {
		a.writing <- struct{}{}
		a.mu.Lock()
		a.mu.next = nil
		a.mu.Unlock()
		_, round.err = a.engine.ChangeAccess(context.WithoutCancel(ctx), round.commands...)
		<-a.writing
		close(round.done)
	}
	<-round.done
	return round.err
}

// serve has an endpoint serve r. What it changed is in the audit log before anybody is answered, also if it failed
// half-way; a refusal has changed nothing.
func (s *Server) serve(to route, r *request) (answer, error) {
	if err := s.origins.Check(r.Request); err != nil {
		return answer{}, forbidden("cross-origin request refused: %v", err)
	}
	if to.path == "x/backup" && r.Method == get { // it carries everything away, and may be cut off when it has
		if err := s.note(r, http.StatusOK, nil); err != nil {
			return answer{}, err
		}
	}
	if to.method == get || slices.Contains(traffic, to.path) {
		return to.serve(r)
	}
	said := &overheard{ReadCloser: r.Body}
	r.Body = said
	before := r.view.Version()
	a, err := to.serve(r)
	status := cmp.Or(a.status, http.StatusOK) // sent already
	if err != nil {
		if status = refusal(err).status; status < http.StatusInternalServerError {
			return a, err
		}
	}
	if status < http.StatusInternalServerError && r.changedNothing(to, status, before) {
		return a, err
	}
	detail := r.detail
	if detail == nil {
		detail = said.detail()
	}
	if failed := s.note(r, status, detail); failed != nil {
		return answer{}, failed
	}
	return a, err
}

// note records what a request has done, or is about to.
func (s *Server) note(r *request, status int, detail []byte) error {
	d := access.Deed{
		At: s.engine.Now().UnixMilli(), User: r.caller.Name(), From: r.RemoteAddr,
		Action: r.Method, Object: s.objectOf(r.Request), Status: uint16(status), Detail: detail,
	}
	err := s.auditor.record(r.Context(), d)
	if err != nil {
		s.options.Log.Error("cannot write to the audit log", "user", d.User, "action", d.Action, "object", d.Object, "error", err)
	}
	return err
}

// changedNothing reports whether a request asked for what was so already, as far as that is known.
func (r *request) changedNothing(to route, status int, before uint64) bool {
	if r.idle {
		return true
	}
	switch to.path {
	case "queues/*/*", "exchanges/*/*", "x/queues/*/*":
		return to.method == puts && status == http.StatusNoContent
	case "x/redrives/*", "x/queues/*/*/messages/*/resend", "x/lost-letters/*/messages/*/resend":
		return r.detail == nil // tried only
	}
	first, _, _ := strings.Cut(to.path, "/")
	return slices.Contains(onlyAccess, first) && r.server.engine.Access().Version() == before
}

// objectOf names what a request is about: its path and query, as far as there is room, without passwords.
func (s *Server) objectOf(r *http.Request) string {
	name := s.below(r)
	if r.URL.RawQuery != "" {
		name += "?" + discreetQuery(r.URL.RawQuery)
	}
	if len(name) > objectBytesMax {
		name = name[:objectBytesMax]
	}
	return strings.ToValidUTF8(name, "?")
}

// discreetQuery takes out of a query what nobody may learn from the audit log.
func discreetQuery(raw string) string {
	parts := strings.Split(raw, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || secret(plain) {
			parts[i] = name + "=" + notKept
		}
	}
	return strings.Join(parts, "&")
}

// notKept stands in the audit log where a password was.
const notKept = "(not kept)"

// secret reports whether what has such a name must not be kept, however its letters are written.
func secret(name string) bool {
	folded := strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
	return strings.Contains(folded, "PASSWORD")
}

// An overheard body is one whose beginning is kept as it is read.
type overheard struct {
	io.ReadCloser
	heard []byte
	more  int // bytes not kept
}

func (o *overheard) Read(b []byte) (int, error) {
	n, err := o.ReadCloser.Read(b)
	kept := min(n, detailBytesMax-len(o.heard))
	o.heard, o.more = append(o.heard, b[:kept]...), o.more+n-kept
	return n, err
}

// detail is what the body said, without passwords; its size if it is too long, nil if it is no JSON.
func (o *overheard) detail() []byte {
	if o.more > 0 {
		return []byte(`{"bytes":` + strconv.Itoa(len(o.heard)+o.more) + `}`)
	}
	decoder := json.NewDecoder(bytes.NewReader(o.heard))
	decoder.UseNumber()
	var said any
	if decoder.Decode(&said) != nil || said == nil {
		return nil
	}
	text, err := encode(discreet(said))
	if err != nil || len(text) > detailBytesMax {
		return nil
	}
	return text
}

// discreet takes out of a body what nobody may learn from the audit log. It changes the tree.
func discreet(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if secret(name) {
				tree[name] = notKept
			} else {
				tree[name] = discreet(value)
			}
		}
	case []any:
		for i := range tree {
			tree[i] = discreet(tree[i])
		}
	}
	return tree
}

// getAudit lists the audit log, newest first; with after=ID those that came after that record, oldest first. The query
// user=NAME keeps one user's. With paging, name filters by action and object.
func getAudit(r *request) (answer, error) {
	query := r.URL.Query()
	deeds := slices.Clone(r.view.Deeds())
	if text := query.Get("after"); text != "" {
		after, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return answer{}, badRequest("after must be the id of a record, not '%s'", text)
		}
		deeds = slices.DeleteFunc(deeds, func(d access.Deed) bool { return d.ID <= after })
	} else {
		slices.Reverse(deeds)
	}
	var all []api.Deed
	for _, d := range deeds {
		if user := query.Get("user"); user == "" || user == d.User {
			all = append(all, showDeed(&d))
		}
	}
	return list(r, all, func(d *api.Deed) string { return d.Action + " " + d.Object })
}

func showDeed(d *access.Deed) api.Deed {
	return api.Deed{
		ID: d.ID, At: time.UnixMilli(d.At).UTC().Format("2006-01-02T15:04:05.000Z07:00"), User: d.User, From: d.From,
		Action: d.Action, Object: d.Object, Status: int(d.Status), Detail: d.Detail,
	}
}
