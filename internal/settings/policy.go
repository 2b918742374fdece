package settings

import (
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

// Policy is a rule that gives settings to the queues and exchanges whose names match. Source: RabbitMQ policies.
type Policy struct {
	Name       string
	Operator   bool   // an operator policy: it limits what users and arguments ask for
	Pattern    string // RE2, searched in the name
	ApplyTo    string // all, queues, classic_queues, quorum_queues, streams, exchanges
	Priority   int64
	Definition amqp.Table
}

// Check validates p. Its errors are worded as RabbitMQ's, after the line "Validation failed".
// Source: docs/compat/policies-and-permissions.md#4.
func (p *Policy) Check() *amqp.Error {
	invalid := func(format string, args ...any) *amqp.Error {
		return amqp.PreconditionFailed("Validation failed\n\n"+format, args...)
	}
	switch p.ApplyTo {
	case "all", "queues", "classic_queues", "quorum_queues", "streams", "exchanges":
	default:
		return invalid("apply-to '%s' unrecognised; should be one of: 'queues', 'classic_queues',  'quorum_queues', 'streams', 'exchanges', or 'all'", p.ApplyTo)
	}
	if len(p.Pattern) > patternBytesMax {
		return invalid("pattern must not exceed %d bytes", patternBytesMax)
	}
	if err := regex.Check(p.Pattern, patternSizeMax); err != nil {
		return invalid("pattern should be regular expression but is invalid: %v", err)
	}
	if len(p.Definition) == 0 {
		return invalid("no policy provided")
	}
	var unknown []string
	for _, f := range p.Definition {
		key := settingOfKey[f.Name]
		switch {
		case key == nil || p.Operator && key.by&byOperator == 0:
			unknown = append(unknown, fmt.Sprintf("{<<\"%s\">>,%s}", f.Name, erlang(f.Value)))
		case key.policy.check(f.Value) != "":
			return invalid("%s is not a valid %s%s", erlang(f.Value), key.what, key.policy.hint(f.Value))
		}
	}
	if unknown != nil {
		return invalid("[%s] are not recognised policy settings", strings.Join(unknown, ","))
	}
	if detail := p.checkRetry(); detail != "" {
		return invalid("%s", detail)
	}
	return nil
}

// checkRetry checks what the keys of delayed retry say together. Source: docs/compat/policies-and-permissions.md#4.
func (p *Policy) checkRetry() string {
	kind, hasKind := p.Definition.Get("delayed-retry-type")
	least, hasLeast := p.Definition.Get("delayed-retry-min")
	most, hasMost := p.Definition.Get("delayed-retry-max")
	_, hasSteps := p.Definition.Get("delayed-retry-steps")
	switch {
	case hasKind && kind.Str != "disabled" && !hasLeast && !hasSteps:
		return "delayed-retry-min is required when delayed-retry-type is " + kind.Str
	case hasLeast && hasMost && Whole(most) < Whole(least):
		return retryBounds(Whole(least), Whole(most))
	}
	return ""
}

// erlang prints a value as RabbitMQ's messages do.
func erlang(a amqp.Value) string {
	switch a.Kind {
	case amqp.KindString:
		return fmt.Sprintf("<<\"%s\">>", a.Str)
	case amqp.KindBool:
		return fmt.Sprint(a.Int != 0)
	}
	return Show(a)
}
