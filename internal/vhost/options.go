package vhost

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// setOptions decides SetOptions.
func (s *step) setOptions(c *Command) *amqp.Error {
	table, err := settings.WithOptions(s.optionTable, c.Definition.Arguments)
	if err != nil {
		return err
	}
	s.changeRules(c, &fact.Fact{Kind: fact.Configured, Durable: true, Object: &fact.Object{Arguments: table}})
	s.markDirty(s.lost, 0)
	return nil
}

// configured applies the vhost's options.
func (v *VHost) configured(table amqp.Table) {
	before, onlyMarks := v.options, settings.OnlyMarks(v.optionTable, table)
	v.optionTable, v.options = table, settings.OptionsOf(table)
	if by := v.options.LostLettersMaxAge - before.LostLettersMaxAge; by != 0 {
		v.age(by)
	}
	v.lost.settings.MaxLengthBytes = v.options.LostLettersMaxBytes
	now := v.options
	v.rulesChanged(func(x *subject) bool {
		return !x.exchange && (!onlyMarks || before.MarkOf(x.name) != now.MarkOf(x.name))
	})
}

// age moves the deadlines of all lost letters, whose life has become longer by so many ms.
func (v *VHost) age(by int64) {
	v.lost.messages.Each(0, func(at queue.Seq, _ *queue.Entry) bool {
		e := v.lost.messages.Change(at)
		e.ExpireAt = max(e.ExpireAt+deadline.Instant(by), 1)
		v.schedule(v.lost, at, e)
		return true
	})
}

// strictName reports whether a queue may have that name where names are strict. Source:
// docs/compat/dead-lettering.md#15.
func strictName(name string) bool {
	return len(name) > 0 && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.#/@", r))
	}) < 0
}

// Sync is when the vhost's log is synced.
func (v *VHost) Sync() Sync { return v.options.Sync }
