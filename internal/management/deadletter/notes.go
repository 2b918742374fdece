package deadletter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func noteEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/notes/{vhost}", Tag: authz.Management, Serve: getNotes, Scope: web.Leader,
			Summary: "Notes on groups of dead letters", Out: api.List[api.Note]{},
		},
		{
			Pattern: "GET x/notes/{vhost}/{by}", Tag: authz.Management, Serve: getNote, Scope: web.Leader,
			Summary: "The note on the group whose value is empty", Out: api.Note{},
		},
		{
			Pattern: "PUT x/notes/{vhost}/{by}", Tag: authz.Management, Serve: putNote, Scope: web.Leader,
			Summary: "Sets the note on the group whose value is empty", In: api.PutNote{},
		},
		{
			Pattern: "GET x/notes/{vhost}/{by}/{value}", Tag: authz.Management, Serve: getNote, Scope: web.Leader,
			Summary: "The note on one group", Out: api.Note{},
		},
		{
			Pattern: "PUT x/notes/{vhost}/{by}/{value}", Tag: authz.Management, Serve: putNote, Scope: web.Leader,
			Summary: "Sets the note on one group", In: api.PutNote{},
		},
	}
}

// OwnPrefix is the prefix of the global parameters in which the broker keeps its own data.
const OwnPrefix = "bartleby-"

// notePrefix begins the names of the global parameters in which notes are kept: so they are durable, and in
// definitions. A parameter has one note, so that two who write at once do not undo each other's; its name has space for
// any group.
const notePrefix = OwnPrefix + "note-"

func NoteName(vhost, by, value string) string {
	sum := sha256.Sum256([]byte(vhost + "\x00" + by + "\x00" + value))
	return notePrefix + hex.EncodeToString(sum[:16])
}

// ReadNote reads a parameter; ok is false if it is no note.
func ReadNote(g *accounts.GlobalParameter) (n api.Note, ok bool) {
	if !strings.HasPrefix(g.Name, notePrefix) || json.Unmarshal(g.Value, &n) != nil {
		return n, false
	}
	return n, g.Name == NoteName(n.VHost, n.By, n.Value)
}

// noteOn is the text of the note on a group, "" if there is none.
func noteOn(r *web.Request, vhost, by, value string) string {
	g, found := r.View.GlobalParameter(NoteName(vhost, by, value))
	if !found {
		return ""
	}
	n, _ := ReadNote(g)
	return n.Text
}

// queueGroups are the groupings whose groups are named by queues.
var queueGroups = []string{"source", "queue", "last-queue"}

// mayNote refuses a note on a group if the caller may not write it: with strict rights, names of groups reveal
// payloads; a note on a queue needs permission to read the queue.
func mayNote(r *web.Request, host, by, value string) error {
	g, err := groupingBy(r, by)
	if err != nil || !slices.Contains(queueGroups, g.String()) {
		return err
	}
	return r.Caller.NoteOnQueue(host, value)
}

// MaySeeNote refuses a note that the caller may not see. The name of a group by content is for users who may read all
// messages, and for the author of the note.
func MaySeeNote(r *web.Request, n *api.Note) error {
	if err := mayNote(r, n.VHost, n.By, n.Value); err != nil {
		return err
	}
	if g, err := groupingBy(r, n.By); err != nil || !ofContents(g) || r.Caller.Owns(n.User) {
		return err
	}
	return r.Caller.NoteOnContents(n.VHost)
}

// getNotes lists the notes of a virtual host that the caller may see, the latest first.
func getNotes(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	var all []api.Note
	for _, g := range r.View.GlobalParameters() {
		n, ok := ReadNote(g)
		if ok && n.VHost == r.PathValue("vhost") && MaySeeNote(r, &n) == nil {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Note) int { return strings.Compare(b.At, a.At) })
	return web.List(r, all, func(n *api.Note) string { return n.Value })
}

// noteNamed reads the path, and the name that the grouping has. A path that ends there is of the group whose value is
// empty, such as that of the default exchange.
func noteNamed(r *web.Request) (by, value string, err error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return "", "", err
	}
	value = r.PathValue("value")
	if err := mayNote(r, r.PathValue("vhost"), r.PathValue("by"), value); err != nil {
		return "", "", err
	}
	g, err := groupingBy(r, r.PathValue("by"))
	return g.String(), value, err
}

func getNote(r *web.Request) (web.Answer, error) {
	by, value, err := noteNamed(r)
	if err != nil {
		return web.Answer{}, err
	}
	g, found := r.View.GlobalParameter(NoteName(r.PathValue("vhost"), by, value))
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	n, _ := ReadNote(g)
	if err := MaySeeNote(r, &n); err != nil {
		return web.Answer{}, err
	}
	return web.OK(n)
}

// putNote writes a note, or deletes it if the text is empty. A note belongs to its author.
func putNote(r *web.Request) (web.Answer, error) {
	by, value, err := noteNamed(r)
	if err != nil {
		return web.Answer{}, err
	}
	var body api.PutNote
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	switch {
	case len(body.Text) > noteBytesMax:
		return web.Answer{}, web.BadRequest("a note has at most %d bytes", noteBytesMax)
	case len(value) > noteBytesMax:
		return web.Answer{}, web.BadRequest("the group's value has more than %d bytes", noteBytesMax)
	}
	name := NoteName(r.PathValue("vhost"), by, value)
	old, found := r.View.GlobalParameter(name)
	if found {
		n, _ := ReadNote(old)
		if err := r.Caller.NeedOwn("the note", n.User); err != nil {
			return web.Answer{}, err
		}
	} else if body.Text != "" {
		if err := checkNoteLimits(r); err != nil {
			return web.Answer{}, err
		}
	}
	if body.Text == "" {
		if !found {
			return web.NoContent()
		}
		if _, err := r.Change(accounts.Command{Kind: accounts.ClearGlobalParameter, Name: name}); err != nil {
			return web.Answer{}, web.AsBadRequest(err)
		}
		return web.NoContent()
	}
	text, err := web.Encode(api.Note{
		VHost: r.PathValue("vhost"), By: by, Value: value, Text: body.Text, User: r.Caller.Name(), At: web.FormatMS(r.Engine.Now().UnixMilli()),
	})
	if err != nil {
		return web.Answer{}, err
	}
	created, err := r.Change(accounts.Command{Kind: accounts.SetGlobalParameter, Name: name, Value: text})
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.PutAnswer(created)
}

// checkNoteLimits refuses a note beyond the limit of all users, or of the caller.
func checkNoteLimits(r *web.Request) error {
	all, own := 0, 0
	for _, g := range r.View.GlobalParameters() {
		if n, ok := ReadNote(g); ok {
			all++
			if n.User == r.Caller.Name() {
				own++
			}
		}
	}
	switch {
	case own >= userNotesMax:
		return web.BadRequest("a user has at most %d notes", userNotesMax)
	case all >= notesMax:
		return web.BadRequest("the limit of %d notes is reached", notesMax)
	}
	return nil
}

// ForgetNotes returns the commands that delete the notes of a deleted virtual host.
func ForgetNotes(v *accounts.View, host string) (commands []accounts.Command) {
	for _, g := range v.GlobalParameters() {
		if n, ok := ReadNote(g); ok && n.VHost == host {
			commands = append(commands, accounts.Command{Kind: accounts.ClearGlobalParameter, Name: g.Name})
		}
	}
	return commands
}
