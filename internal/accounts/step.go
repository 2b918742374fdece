package accounts

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

// A decision is what a command leads to.
type decision struct {
	fact      Fact
	unchanged bool // what is asked for is so already
	created   bool
}

var nothingToDo = decision{unchanged: true}

// decide checks a command whole and changes nothing.
func (v *View) decide(c Command) (decision, error) {
	switch c.Kind {
	case PutUser:
		return v.putUser(c)
	case DeleteUser:
		return decision{fact: Fact{Kind: UserDeleted, User: c.User}}, v.needUser(c.User)
	case PutVHost:
		return v.decideVHost(c)
	case DeleteVHost:
		return v.deleteVHost(c)
	case SetPermission:
		return v.setPermission(c)
	case ClearPermission:
		return v.clearPermission(c)
	case SetTopicPermission:
		return v.setTopicPermission(c)
	case ClearTopicPermission:
		return v.clearTopicPermission(c)
	case SetGlobalParameter:
		return v.setGlobalParameter(c)
	case ClearGlobalParameter:
		return v.clearGlobalParameter(c)
	case SetVHostLimit, ClearVHostLimit:
		return v.decideVHostLimit(c)
	case SetUserLimit, ClearUserLimit:
		return v.decideUserLimit(c)
	case RecordDeed:
		return v.recordDeed(c)
	case BeginImport:
		return v.beginImport(c)
	case EndImport:
		return v.endImport()
	}
	return decision{}, amqp.PreconditionFailed("unknown accounts command %d", c.Kind)
}

// put is the decision to make a fact true where old, if it was there, is what the present object would be made by.
func put(f, old Fact, exists bool) decision {
	return decision{
		fact:      f,
		created:   !exists,
		unchanged: exists && bytes.Equal(AppendFact(nil, f), AppendFact(nil, old)),
	}
}

func (v *View) putUser(c Command) (decision, error) {
	f := Fact{Kind: UserPut, User: c.User, Hash: bytes.Clone(c.Hash), Algorithm: c.Algorithm, Tags: slices.Clone(c.Tags)}
	switch {
	case c.Password != "" && len(c.Hash) > 0:
		return decision{}, amqp.PreconditionFailed("user '%s': give a password or a password hash, not both", c.User)
	case len(c.Password) > passwordBytesMax:
		return decision{}, amqp.PreconditionFailed("the password has more than %d bytes", passwordBytesMax)
	case len(c.Hash) > hashBytesMax:
		return decision{}, amqp.PreconditionFailed("the password hash has more than %d bytes", hashBytesMax)
	case c.Algorithm > MD5:
		return decision{}, amqp.PreconditionFailed("unknown password hashing algorithm")
	case c.Password != "":
		f.Hash = HashPassword(c.Algorithm, c.Salt, c.Password)
	}
	if err := firstError(checkName("user", c.User), checkTags(c.Tags)); err != nil {
		return decision{}, err
	}
	old, ok := v.users.rows[c.User]
	switch {
	case !ok && (c.User == LocalAdministrator || c.User == LocalBroker):
		return decision{}, amqp.PreconditionFailed("the name '%s' is reserved for the broker", c.User)
	case !ok:
		return put(f, Fact{}, false), nil
	}
	return put(f, old.fact(), true), nil
}

func (v *View) decideVHost(c Command) (decision, error) {
	if err := firstError(checkName("virtual host", c.VHost), checkTags(c.Tags)); err != nil {
		return decision{}, err
	}
	switch {
	case len(c.Description) > descriptionBytesMax || !utf8.ValidString(c.Description):
		return decision{}, amqp.PreconditionFailed("the description must be UTF-8 of at most %d bytes", descriptionBytesMax)
	case !slices.Contains([]string{"", "classic", "quorum"}, c.DefaultQueueType):
		return decision{}, amqp.PreconditionFailed("unsupported default queue type '%s': classic and quorum are known", c.DefaultQueueType)
	}
	f := Fact{
		Kind: VHostPut, VHost: c.VHost, LogID: v.nextLogID, Description: c.Description, Tags: slices.Clone(c.Tags),
		DefaultQueueType: c.DefaultQueueType, Tracing: c.Tracing, Protected: c.Protected,
	}
	if old, ok := v.vhosts.rows[c.VHost]; ok {
		f.LogID = old.LogID
		return put(f, old.fact(), true), nil
	}
	if v.nextLogID == math.MaxUint32 {
		return decision{}, amqp.PreconditionFailed("no log number is left for virtual host '%s'", c.VHost)
	}
	return put(f, Fact{}, false), nil
}

func (v *View) deleteVHost(c Command) (decision, error) {
	if err := v.needVHost(c.VHost); err != nil {
		return decision{}, err
	}
	if h := v.vhosts.rows[c.VHost]; h.Protected {
		return decision{}, amqp.PreconditionFailed("virtual host '%s' is protected from deletion", c.VHost)
	}
	return decision{fact: Fact{Kind: VHostDeleted, VHost: c.VHost}}, nil
}

func (v *View) setPermission(c Command) (decision, error) {
	f := Fact{
		Kind: PermissionSet, User: c.User, VHost: c.VHost, Configure: c.Configure, Write: c.Write, Read: c.Read,
	}
	if err := firstError(v.needUser(c.User), v.needVHost(c.VHost), checkPatterns(c.Configure, c.Write, c.Read)); err != nil {
		return decision{}, err
	}
	p, err := newPermission(f)
	if err != nil {
		return decision{}, refusePattern(err)
	}
	if grows := p.bytes - v.largeBytesOf(f); grows > 0 && v.largeBytes+grows > permissionsBytesMax {
		return decision{}, amqp.PreconditionFailed("all large permissions together may take %d bytes of memory, "+
			"compiled expressions included: delete some, or use simpler expressions", permissionsBytesMax)
	}
	old, ok := v.permissions.rows[grant{c.User, c.VHost}]
	if !ok {
		return put(f, Fact{}, false), nil
	}
	return put(f, old.fact(), true), nil
}

func (v *View) clearPermission(c Command) (decision, error) {
	if err := firstError(v.needUser(c.User), v.needVHost(c.VHost)); err != nil {
		return decision{}, err
	}
	if _, ok := v.permissions.rows[grant{c.User, c.VHost}]; !ok {
		return nothingToDo, nil
	}
	return decision{fact: Fact{Kind: PermissionCleared, User: c.User, VHost: c.VHost}}, nil
}

func (v *View) setTopicPermission(c Command) (decision, error) {
	f := Fact{
		Kind: TopicPermissionSet, User: c.User, VHost: c.VHost, Exchange: c.Exchange, Write: c.Write, Read: c.Read,
	}
	err := firstError(v.needUser(c.User), v.needVHost(c.VHost), checkName("exchange", c.Exchange), checkPatterns(c.Write, c.Read))
	if err != nil {
		return decision{}, err
	}
	t, err := newTopicPermission(f)
	if err != nil {
		return decision{}, refusePattern(err)
	}
	if grows := t.bytes - v.topicBytes(f); grows > 0 && v.topicsBytes+grows > topicsBytesMax {
		return decision{}, amqp.PreconditionFailed("all topic permissions together may take %d bytes of memory, "+
			"compiled expressions included: delete some, or use simpler expressions", topicsBytesMax)
	}
	old, ok := v.topics.rows[topicGrant{c.User, c.VHost, c.Exchange}]
	if !ok {
		return put(f, Fact{}, false), nil
	}
	return put(f, old.fact(), true), nil
}

func (v *View) clearTopicPermission(c Command) (decision, error) {
	if err := firstError(v.needUser(c.User), v.needVHost(c.VHost)); err != nil {
		return decision{}, err
	}
	for g := range v.topics.rows {
		if g.user == c.User && g.vhost == c.VHost && (c.Exchange == "" || g.exchange == c.Exchange) {
			f := Fact{Kind: TopicPermissionCleared, User: c.User, VHost: c.VHost, Exchange: c.Exchange}
			return decision{fact: f}, nil
		}
	}
	return nothingToDo, nil
}

func (v *View) setGlobalParameter(c Command) (decision, error) {
	if err := checkName("global parameter", c.Name); err != nil {
		return decision{}, err
	}
	if len(c.Value) > valueBytesMax {
		return decision{}, amqp.PreconditionFailed("global parameter '%s' has more than %d bytes", c.Name, valueBytesMax)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, c.Value); err != nil {
		return decision{}, amqp.PreconditionFailed("global parameter '%s' is not JSON: %v", c.Name, err)
	}
	if nesting(compact.Bytes()) > nestingMax {
		return decision{}, amqp.PreconditionFailed("global parameter '%s' is nested deeper than %d", c.Name, nestingMax)
	}
	if grows := sizeOfGlobal(c.Name, compact.Bytes()) - v.sizeOfGlobal(c.Name); grows > 0 && v.globalsBytes+grows > globalsBytesMax {
		return decision{}, amqp.PreconditionFailed("all global parameters together have at most %d bytes", globalsBytesMax)
	}
	f := Fact{Kind: GlobalParameterSet, Name: c.Name, Value: compact.Bytes()}
	old, ok := v.globals.rows[c.Name]
	if !ok {
		return put(f, Fact{}, false), nil
	}
	return put(f, old.fact(), true), nil
}

// nesting is how deep objects and lists nest in a text that is JSON.
func nesting(text []byte) (deepest int) {
	deep, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			deep++
			deepest = max(deepest, deep)
		case c == '}', c == ']':
			deep--
		}
	}
	return deepest
}

func (v *View) clearGlobalParameter(c Command) (decision, error) {
	if _, ok := v.globals.rows[c.Name]; !ok {
		return decision{}, amqp.NotFound("no global parameter '%s'", c.Name)
	}
	return decision{fact: Fact{Kind: GlobalParameterCleared, Name: c.Name}}, nil
}

func (v *View) decideVHostLimit(c Command) (decision, error) {
	if err := firstError(v.needVHost(c.VHost), checkLimit("limits", c, LimitConnections, LimitQueues)); err != nil {
		return decision{}, err
	}
	f := Fact{Kind: VHostLimitSet, VHost: c.VHost, Name: c.Name, Limit: c.Limit}
	if c.Kind == ClearVHostLimit {
		f = Fact{Kind: VHostLimitCleared, VHost: c.VHost, Name: c.Name}
	}
	return changeLimit(f, v.vhosts.rows[c.VHost].Limits), nil
}

func (v *View) decideUserLimit(c Command) (decision, error) {
	if err := firstError(v.needUser(c.User), checkLimit("user-limits", c, LimitConnections, LimitChannels)); err != nil {
		return decision{}, err
	}
	f := Fact{Kind: UserLimitSet, User: c.User, Name: c.Name, Limit: c.Limit}
	if c.Kind == ClearUserLimit {
		f = Fact{Kind: UserLimitCleared, User: c.User, Name: c.Name}
	}
	return changeLimit(f, v.users.rows[c.User].Limits), nil
}

func changeLimit(f Fact, limits []Limit) decision {
	d := decision{fact: f, unchanged: slices.Equal(f.changeLimits(limits), limits)}
	d.created = !d.unchanged && !slices.ContainsFunc(limits, func(l Limit) bool { return l.Name == f.Name })
	return d
}

func (v *View) needUser(name string) error {
	if _, ok := v.users.rows[name]; !ok {
		return amqp.NotFound("no user '%s'", name)
	}
	return nil
}

func (v *View) needVHost(name string) error {
	if _, ok := v.vhosts.rows[name]; !ok {
		return amqp.NotFound("no vhost '%s'", name)
	}
	return nil
}

// checkName refuses what could not be shown as JSON or sent as a short string.
func checkName(what, name string) error {
	switch {
	case name == "":
		return amqp.PreconditionFailed("the %s name must not be empty", what)
	case len(name) > nameBytesMax:
		return amqp.PreconditionFailed("the %s name must not exceed %d bytes", what, nameBytesMax)
	case !utf8.ValidString(name):
		return amqp.PreconditionFailed("the %s name must be UTF-8", what)
	}
	return nil
}

func checkTags(tags []string) error {
	if len(tags) > tagsMax {
		return amqp.PreconditionFailed("%d tags exceed the maximum of %d", len(tags), tagsMax)
	}
	for _, t := range tags {
		if err := checkName("tag", t); err != nil {
			return err
		}
	}
	return nil
}

func checkPatterns(patterns ...string) error {
	for _, p := range patterns {
		if len(p) > patternBytesMax || !utf8.ValidString(p) {
			return amqp.PreconditionFailed("a regular expression must be UTF-8 of at most %d bytes", patternBytesMax)
		}
		var large regex.SizeError
		if err := regex.Check(p, patternSizeMax); errors.As(err, &large) { // other mistakes are told when it is compiled
			return amqp.PreconditionFailed("%v", large)
		}
	}
	return nil
}

// checkLimit refuses a limit that nobody knows, in RabbitMQ's words and some of ours.
// Source: RabbitMQ vhosts#limits, access-control#user-limits.
func checkLimit(what string, c Command, known ...string) error {
	if !slices.Contains(known, c.Name) {
		return amqp.PreconditionFailed("Unrecognised terms [{<<\"%s\">>,%d}] in %s: %s and %s are known", c.Name, c.Limit, what, known[0], known[1])
	}
	return nil
}

// refusePattern says which expression was wrong and, for what PCRE has and RE2 lacks, that it is not supported.
func refusePattern(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) && wrong.Code == syntax.ErrInvalidPerlOp {
		return amqp.PreconditionFailed("invalid regular expression: '%s' (look-around and back-references) is not supported", wrong.Expr)
	}
	return amqp.PreconditionFailed("invalid regular expression: %v", err)
}

// firstError is the first that is one.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
