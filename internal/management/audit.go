package management

import (
	"bytes"
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

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func auditEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/audit", Tag: authz.Administrator, Serve: getAudit,
			Summary: "The audit log, newest first; filter with after=ID and user=NAME", Out: api.List[api.Deed]{},
		},
	}
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
	commands []accounts.Command
	done     chan struct{} // closed when err is what became of them
	err      error
}

func newAuditor(e *engine.Engine) *auditor {
	return &auditor{engine: e, writing: make(chan struct{}, 1)}
}

// record returns when the deed is safe in the audit log. That the caller has gone does not keep it out.
func (a *auditor) record(ctx context.Context, d accounts.Deed) error {
	a.mu.Lock()
	round, first := a.mu.next, a.mu.next == nil
	if first {
		round = &auditRound{done: make(chan struct{})}
		a.mu.next = round
	}
	round.commands = append(round.commands, accounts.Command{Kind: accounts.RecordDeed, Deed: d})
	a.mu.Unlock()
	if first {
		a.writing <- struct{}{}
		a.mu.Lock()
		a.mu.next = nil
		a.mu.Unlock()
		_, round.err = a.engine.ChangeAccounts(context.WithoutCancel(ctx), round.commands...)
		<-a.writing
		close(round.done)
	}
	<-round.done
	return round.err
}

// note records what a request has done, or is about to.
func (s *Server) note(r *web.Request, status int, detail []byte) error {
	d := accounts.Deed{
		At: s.Engine.Now().UnixMilli(), User: r.Caller.Name(), From: r.RemoteAddr,
		Action: r.Method, Object: s.objectOf(r.Request), Status: uint16(status), Detail: detail,
	}
	err := s.auditor.record(r.Context(), d)
	if err != nil {
		s.Log.Error("cannot write to the audit log", "user", d.User, "action", d.Action, "object", d.Object, "error", err)
	}
	return err
}

// changedNothing reports whether a request asked for what was so already, as far as that is known.
func changedNothing(r *web.Request, before uint64) bool {
	return r.Unchanged || r.Endpoint.Audit == web.AuditAccounts && r.Engine.Accounts().Version() == before
}

// objectOf names what a request is about: its path and query, as far as there is space, without passwords.
func (s *Server) objectOf(r *http.Request) string {
	name := s.Below(r)
	if r.URL.RawQuery != "" {
		name += "?" + discreetQuery(r.URL.RawQuery)
	}
	if len(name) > web.ObjectBytesMax {
		name = name[:web.ObjectBytesMax]
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

// secret reports whether what has such a name must not be kept, in capitals or not.
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

// A recordedBody is a body whose beginning is kept as it is read.
type recordedBody struct {
	io.ReadCloser
	begin []byte
	more  int // bytes not kept
}

func (o *recordedBody) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	kept := min(n, web.DetailBytesMax-len(o.begin))
	o.begin, o.more = append(o.begin, p[:kept]...), o.more+n-kept
	return n, err
}

// detail is what the body said, without passwords; its size if it is too long, nil if it is no JSON.
func (o *recordedBody) detail() []byte {
	if o.more > 0 {
		return []byte(`{"bytes":` + strconv.Itoa(len(o.begin)+o.more) + `}`)
	}
	decoder := json.NewDecoder(bytes.NewReader(o.begin))
	decoder.UseNumber()
	var said any
	if decoder.Decode(&said) != nil || said == nil {
		return nil
	}
	text, err := web.Encode(discreet(said))
	if err != nil || len(text) > web.DetailBytesMax {
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
func getAudit(r *web.Request) (web.Answer, error) {
	query := r.URL.Query()
	deeds := slices.Clone(r.View.Deeds())
	if text := query.Get("after"); text != "" {
		after, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return web.Answer{}, web.BadRequest("after must be the id of a record, not '%s'", text)
		}
		deeds = slices.DeleteFunc(deeds, func(d accounts.Deed) bool { return d.ID <= after })
	} else {
		slices.Reverse(deeds)
	}
	var all []api.Deed
	for _, d := range deeds {
		if user := query.Get("user"); user == "" || user == d.User {
			all = append(all, showRecord(&d))
		}
	}
	return web.List(r, all, wordsOf)
}

// wordsOf is what a deed is found by: its object as the path says it, and as people read it.
func wordsOf(d *api.Deed) string {
	words := d.Action + " " + d.Object + " " + d.User
	if plain, err := url.PathUnescape(d.Object); err == nil && plain != d.Object {
		words += " " + plain
	}
	return words
}

func showRecord(d *accounts.Deed) api.Deed {
	return api.Deed{
		ID: d.ID, At: time.UnixMilli(d.At).UTC().Format("2006-01-02T15:04:05.000Z07:00"), User: d.User, From: d.From,
		Action: d.Action, Object: d.Object, Status: int(d.Status), Detail: d.Detail,
	}
}
