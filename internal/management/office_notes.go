package management

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
)

// ownPrefix begins the names of all global parameters that the broker keeps for itself.
const ownPrefix = "bartleby-"

// notePrefix begins the names of the global parameters in which notes are kept: so they are durable, and in definitions. A
// parameter has one note, so that two who write at once do not undo each other's; its name has room for any group.
const notePrefix = ownPrefix + "note-"

func noteName(vhost, by, value string) string {
	sum := sha256.Sum256([]byte(vhost + "\x00" + by + "\x00" + value))
	return notePrefix + hex.EncodeToString(sum[:16])
}

// readNote reads a parameter; ok is false if it is no note.
func readNote(g *access.GlobalParameter) (n api.Note, ok bool) {
	if !strings.HasPrefix(g.Name, notePrefix) || json.Unmarshal(g.Value, &n) != nil {
		return n, false
	}
	return n, g.Name == noteName(n.VHost, n.By, n.Value)
}

// noteOn is the text of the note on a group, "" if there is none.
func (r *request) noteOn(vhost, by, value string) string {
	g, found := r.view.GlobalParameter(noteName(vhost, by, value))
	if !found {
		return ""
	}
	n, _ := readNote(g)
	return n.Text
}

// queueGroups are the groupings whose groups are named by queues.
var queueGroups = []string{"source", "queue", "last-queue"}

// mayNote refuses whoever may not write a note on a group: what groups are called tells of payloads in a strict office, and
// what is said of a queue is for those who may read it.
func (r *request) mayNote(host, by, value string) error {
	g, err := r.groupingBy(by)
	if err != nil || !slices.Contains(queueGroups, g.String()) {
		return err
	}
	return r.caller.NoteOnQueue(host, value)
}

// maySeeNote refuses whoever may not see a note. What groups are called that have in common what letters carry is for those
// who may see all letters; whoever has written the note knows it.
func (r *request) maySeeNote(n *api.Note) error {
	if err := r.mayNote(n.VHost, n.By, n.Value); err != nil {
		return err
	}
	if g, err := r.groupingBy(n.By); err != nil || !ofContents(g) || r.caller.Owns(n.User) {
		return err
	}
	return r.caller.NoteOnContents(n.VHost)
}

// getNotes lists the notes of a virtual host that the caller may see, the latest first.
func getNotes(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	var all []api.Note
	for _, g := range r.view.GlobalParameters() {
		n, ok := readNote(g)
		if ok && n.VHost == r.names[0] && r.maySeeNote(&n) == nil {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Note) int { return strings.Compare(b.At, a.At) })
	return list(r, all, func(n *api.Note) string { return n.Value })
}

// noteNamed reads the path, and the name that the grouping has. A path that ends there is of the group whose value is empty, such as
// that of the default exchange.
func (r *request) noteNamed() (by, value string, err error) {
	if err := r.enter(r.names[0]); err != nil {
		return "", "", err
	}
	if len(r.names) > 2 {
		value = r.names[2]
	}
	if err := r.mayNote(r.names[0], r.names[1], value); err != nil {
		return "", "", err
	}
	g, err := r.groupingBy(r.names[1])
	return g.String(), value, err
}

func getNote(r *request) (answer, error) {
	by, value, err := r.noteNamed()
	if err != nil {
		return answer{}, err
	}
	g, found := r.view.GlobalParameter(noteName(r.names[0], by, value))
	if !found {
		return answer{}, errNotFound
	}
	n, _ := readNote(g)
	if err := r.maySeeNote(&n); err != nil {
		return answer{}, err
	}
	return ok(n)
}

// putNote writes a note, or takes it away if the text is empty. A note belongs to who wrote it.
func putNote(r *request) (answer, error) {
	by, value, err := r.noteNamed()
	if err != nil {
		return answer{}, err
	}
	var body api.PutNote
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	switch {
	case len(body.Text) > noteBytesMax:
		return answer{}, badRequest("a note has at most %d bytes", noteBytesMax)
	case len(value) > noteBytesMax:
		return answer{}, badRequest("the group's value has more than %d bytes", noteBytesMax)
	}
	name := noteName(r.names[0], by, value)
	old, found := r.view.GlobalParameter(name)
	if found {
		n, _ := readNote(old)
		if err := r.caller.NeedOwn("the note", n.User); err != nil {
			return answer{}, err
		}
	} else if body.Text != "" {
		if err := r.roomForNote(); err != nil {
			return answer{}, err
		}
	}
	if body.Text == "" {
		if !found {
			return nothing()
		}
		if _, err := r.change(access.Command{Kind: access.ClearGlobalParameter, Name: name}); err != nil {
			return answer{}, plainly(err)
		}
		return nothing()
	}
	text, err := encode(api.Note{
		VHost: r.names[0], By: by, Value: value, Text: body.Text, User: r.caller.Name(), At: iso(r.server.engine.Now().UnixMilli()),
	})
	if err != nil {
		return answer{}, err
	}
	created, err := r.change(access.Command{Kind: access.SetGlobalParameter, Name: name, Value: text})
	if err != nil {
		return answer{}, plainly(err)
	}
	return put(created)
}

// roomForNote refuses one note too many, of all users or of the caller.
func (r *request) roomForNote() error {
	all, own := 0, 0
	for _, g := range r.view.GlobalParameters() {
		if n, ok := readNote(g); ok {
			all++
			if n.User == r.caller.Name() {
				own++
			}
		}
	}
	switch {
	case own >= userNotesMax:
		return badRequest("a user has at most %d notes", userNotesMax)
	case all >= notesMax:
		return badRequest("the limit of %d notes is reached", notesMax)
	}
	return nil
}

// forgetNotes are the commands that take away the notes of a virtual host that is deleted.
func forgetNotes(v *access.View, host string) (commands []access.Command) {
	for _, g := range v.GlobalParameters() {
		if n, ok := readNote(g); ok && n.VHost == host {
			commands = append(commands, access.Command{Kind: access.ClearGlobalParameter, Name: g.Name})
		}
	}
	return commands
}
