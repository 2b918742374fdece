package definitions

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

var paragraphs = regexp.MustCompile(`\s*\n\s*`)

// problems is what is wrong with definitions.
type problems struct {
	texts []string // the first of them
	more  int
	most  int // of texts
}

func (p *problems) add(what string, err error) {
	if err == nil {
		return
	}
	if len(p.texts) == p.most {
		p.more++
		return
	}
	text := err.Error()
	var refused *amqp.Error
	var worded *api.Error
	switch {
	case errors.As(err, &refused):
		if text = strings.TrimPrefix(refused.Text, amqp.CodeName(refused.Code)+" - "); refused.Code == amqp.CodeNotImplemented {
			text += " is not supported"
		}
	case errors.As(err, &worded):
		text = worded.Reason
	}
	if what != "" {
		text = what + ": " + text
	}
	text = web.WithHint(web.Shorten(text))
	p.texts = append(p.texts, paragraphs.ReplaceAllString(strings.TrimSpace(text), ": ")) // each is a line
}

// refusal is nil if nothing is wrong.
func (p *problems) refusal() error {
	if p.texts == nil {
		return nil
	}
	if p.more > 0 {
		p.texts = append(p.texts, fmt.Sprintf("and %d more", p.more))
	}
	return web.BadRequest("%s", strings.Join(p.texts, "\n"))
}

// check rehearses an import on drafts of the machines that will decide it, so that the rules are theirs, and refuses
// it if any command of it is refused. The refusal lists at most so many mistakes.
func (m *importer) check(ctx context.Context, d *definitions, most int) error {
	if err := d.whole(); err != nil {
		return err
	}
	wrong := problems{most: most}
	draft := m.engine.Accounts().Draft()
	for _, c := range m.identities(d) {
		if c.wrong == nil {
			c.wrong = m.rehearse(draft, c.Command)
		}
		wrong.add(c.what, c.wrong)
	}
	view := draft.View()
	if most, n := m.engine.VHostMax(), len(view.VHosts()); most > 0 && n > most &&
		n > len(m.engine.Accounts().VHosts()) {
		wrong.add("", fmt.Errorf("there would be %d vhosts, which exceeds the limit of %d", n, most))
	}
	for _, name := range d.vhostNames() {
		h, there := view.VHost(name)
		if !there {
			wrong.add("", fmt.Errorf("no vhost '%s', which the definitions refer to", name))
			continue
		}
		c, err := m.contents(ctx, name, d, view)
		if err != nil {
			return err
		}
		if most, limited := h.Limit(accounts.LimitQueues); limited && int64(c.queues+c.newQueues) > most &&
			c.newQueues > 0 {
			wrong.add("vhost '"+name+"'", fmt.Errorf("%d queues, %d of them new, exceed its limit of %d", c.queues+c.newQueues, c.newQueues, most))
		}
		c.rehearse(name, &wrong)
	}
	return wrong.refusal()
}

// rehearse takes a step on a draft, and those that the engine will take with it.
func (m *importer) rehearse(draft *accounts.Machine, c accounts.Command) error {
	var out accounts.Outcome
	if err := draft.Step(c, &out); err != nil || c.Kind != accounts.PutVHost || !out.Created {
		return err
	}
	for _, with := range m.engine.WithVHost(c.VHost, draft.View()) {
		if err := draft.Step(with, &accounts.Outcome{}); err != nil {
			return err
		}
	}
	return nil
}

// whole refuses definitions of one virtual host where those of a broker are expected.
func (d *definitions) whole() error {
	contents := len(d.Parameters) + len(d.Policies) + len(d.Exchanges) + len(d.Queues) + len(d.Bindings)
	nowhere := contents > 0 && len(d.vhostNames()) == 0
	if d.VHost == "" && (d.Format == api.FormatVHost || nowhere) {
		return web.BadRequest("these are definitions of a single virtual host: import them at /api/definitions/{vhost}")
	}
	return nil
}

// rehearse plays the commands on a virtual host of their own, in which is what they refer to.
func (c *contents) rehearse(name string, wrong *problems) {
	v := vhost.New(name, 0, nil, nil)
	step := func(command vhost.Command) error {
		command.Conn, command.Channel = 1, 1
		return v.Step(vhost.Stamp{Index: 1, Now: 1, From: 1, Wall: 1}, command, new(vhost.Outcome))
	}
	for _, command := range []vhost.Command{
		{Kind: vhost.Connect, Definition: &vhost.Definition{Name: "rehearsal"}, Window: 1},
		{Kind: vhost.OpenChannel},
	} {
		wrong.add("", step(command))
	}
	for _, there := range [][]content{c.exchanges, c.bound} {
		for _, x := range there {
			// as it was declared under rules of then; a binding to it is refused if it cannot be any more
			_ = step(x.Command)
		}
	}
	wrong.add("options", step(resources.SetOptions(c.options)))
	for _, x := range c.commands {
		if x.wrong == nil {
			x.wrong = step(x.Command)
		}
		wrong.add(x.what, x.wrong)
	}
}
