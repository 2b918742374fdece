package definitions

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// definitions are what an import makes true. With VHost only the contents count, and all of them are for that one.
type definitions struct {
	VHost string `json:"into,omitempty"`
	api.Definitions
}

// counts tells how much there is of what.
func (d *definitions) counts() map[string]int {
	counts := map[string]int{}
	for what, n := range map[string]int{
		"users": len(d.Users), "vhosts": len(d.VHosts), "permissions": len(d.Permissions), "topic_permissions": len(d.TopicPermissions),
		"parameters": len(d.Parameters), "global_parameters": len(d.GlobalParameters), "policies": len(d.Policies),
		"exchanges": len(d.Exchanges), "queues": len(d.Queues), "bindings": len(d.Bindings),
	} {
		if n > 0 {
			counts[what] = n
		}
	}
	return counts
}

// An importer makes definitions true, one after another:
//
//	check     every command is rehearsed on drafts of the machines; what is wrong anywhere refuses all
//	remember  the definitions, passwords hashed, are in the log, in one batch with users, virtual hosts, permissions
//	fill      virtual host by virtual host: options, policies, exchanges, queues, bindings
//	forget    the import has ended
//
// Each step can be done again, so that after a crash the import goes on from the beginning.
type importer struct {
	engine    *engine.Engine
	log       *slog.Logger
	passwords resources.Passwords
	locked    bool          // operator policies stay as they are
	turn      chan struct{} // holds one: whoever has it imports
}

func newImporter(e *engine.Engine, log *slog.Logger, p resources.Passwords) *importer {
	return &importer{engine: e, log: log, passwords: p, turn: make(chan struct{}, 1)}
}

// try checks d as run does, lists more mistakes, and changes nothing.
func (m *importer) try(ctx context.Context, d *definitions) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	m.hashPasswords(d)
	return m.check(ctx, d, web.TriedProblemsMax)
}

// begin waits for the turn to import, which end gives back.
func (m *importer) begin(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *importer) end() { <-m.turn }

// run imports d, which came from the source named. Refusals are *api.Error and have changed nothing. Once it has begun,
// it goes on without the caller.
func (m *importer) run(ctx context.Context, d *definitions, source string) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	m.hashPasswords(d)
	if err := m.check(ctx, d, web.ProblemsMax); err != nil {
		return err
	}
	value, err := deflate(d)
	if err != nil {
		return err
	}
	commands := []accounts.Command{{Kind: accounts.BeginImport, Name: source, Value: value}}
	return m.finish(context.WithoutCancel(ctx), d, commands)
}

// finish does what was checked, and forgets the import, also if that fails: whoever asked for it is told. Only a broker
// that ends meanwhile remembers it.
func (m *importer) finish(ctx context.Context, d *definitions, commands []accounts.Command) error {
	for _, c := range m.identities(d) {
		commands = append(commands, c.Command)
	}
	for _, h := range d.VHosts {
		if h.Tracing != nil && bool(*h.Tracing) {
			m.log.Warn("definition ignored", "vhost", h.Name, "what", "tracing", "error", resources.NoTracing)
		}
	}
	_, err := m.engine.ChangeAccounts(ctx, commands...)
	for _, name := range d.vhostNames() {
		if err != nil {
			break
		}
		if err = m.fill(ctx, name, d); err != nil {
			err = fmt.Errorf("virtual host '%s': %w", name, err)
		}
	}
	if err == nil {
		_, err = m.engine.ChangeAccounts(ctx, accounts.Command{Kind: accounts.EndImport})
	} else if refusedBy(err) {
		_, ended := m.engine.ChangeAccounts(ctx, accounts.Command{Kind: accounts.EndImport})
		err = errors.Join(err, ended)
	}
	if err != nil {
		return incomplete(err)
	}
	return nil
}

// incomplete is the error of an import that was not completed. What the disk has no space for, or
// what waits for it, can be repeated later.
func incomplete(err error) error {
	const reason = "the import was not completed; repeat it: "
	if refused := new(amqp.Error); errors.As(err, &refused) && refused.Later {
		later := &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable"}
		later.Reason = reason + plainFault(err).Error()
		return later
	}
	return fmt.Errorf(reason+"%w", plainFault(err))
}

// refusedBy reports whether an error is the answer of a machine, not the end of the broker.
func refusedBy(err error) bool {
	code := web.CodeOf(err)
	return code != 0 && code != amqp.CodeConnectionForced && code != amqp.CodeInternalError
}

// plainFault takes the reply code off a refusal in the middle of an import, which is none of the client's mistakes.
func plainFault(err error) error {
	var refused *amqp.Error
	if errors.As(err, &refused) {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return err
}

// fill makes the contents of one virtual host, as the broker itself, in portions so that others get their turn.
func (m *importer) fill(ctx context.Context, name string, d *definitions) error {
	c, err := m.contents(ctx, name, d, m.engine.Accounts())
	if err != nil {
		return err
	}
	for _, text := range c.passedOver {
		m.log.Warn("definition ignored", "vhost", name, "what", text)
	}
	var commands []vhost.Command
	for _, x := range c.commands {
		if x.wrong != nil { // it was not when it was checked: somebody deletes what it refers to
			m.log.Warn("definition ignored", "vhost", name, "what", x.what, "error", x.wrong)
			continue
		}
		commands = append(commands, x.Command)
	}
	for len(commands) > 0 {
		n := min(len(commands), web.ImportPortion)
		if _, err := m.engine.Do(ctx, name, authz.Broker(), commands[:n]...); err != nil {
			return err
		}
		commands = commands[n:]
	}
	return nil
}

// resume goes on with an import that the end of the process interrupted.
func (m *importer) resume(ctx context.Context, interrupted *accounts.Import) error {
	d, err := inflate(interrupted.Value)
	if err != nil {
		return fmt.Errorf("cannot read the stored import: %w", err)
	}
	return m.finish(ctx, d, nil)
}

// hashPasswords leaves no password in d that is acceptable, so that none gets to the disk.
func (m *importer) hashPasswords(d *definitions) {
	for i := range d.Users {
		u := &d.Users[i].PutUser
		if u.Password == nil || u.PasswordHash != nil || m.passwords.Check(*u.Password) != nil {
			continue
		}
		if a, err := m.passwords.Algorithm(u.HashingAlgorithm, false); err == nil {
			hash := resources.Hashed(a, *u.Password)
			u.Password, u.PasswordHash, u.HashingAlgorithm = nil, &hash, a.String()
		}
	}
}

func deflate(d *definitions) ([]byte, error) {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

func inflate(b []byte) (*definitions, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	if err != nil {
		return nil, err
	}
	d := new(definitions)
	return d, json.Unmarshal(text, d)
}
