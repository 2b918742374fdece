package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/duration"
)

// Severity is how bad a finding is.
type Severity uint8

// The severities, the worst last.
const (
	Note    Severity = iota // worth knowing
	Warning                 // messages may be lost, or pile up
	Error                   // they will
)

// String names the severity.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// A Finding is something that will lose, delay or circulate messages.
type Finding struct {
	Code     string // one of FindingCodes
	Severity Severity
	Kind     string // of what it is about: queue, exchange, policy, vhost
	Name     string
	Params   []Param
}

// A Param is a value in the text of a finding, or of a step of a path.
type Param struct{ Name, Value string }

// The texts of findings. {name} is what the finding is about, other words are its parameters; for some of these stand
// phrases.
var findingTexts = map[string]string{
	"missing_dlx":         "The dead-letter exchange '{dlx}' of queue '{name}' does not exist: its dead letters {fate}.",
	"no_binding":          "The dead-letter exchange '{dlx}' routes the key '{key}' to no queue: dead letters of queue '{name}' {fate}.",
	"no_binding_own_keys": "The dead-letter exchange '{dlx}' routes the keys of messages in queue '{name}' ({keys}) to no queue: its dead letters {fate}.",
	"some_keys_unbound":   "The dead-letter exchange '{dlx}' routes some keys of messages in queue '{name}' ({keys}) to no queue: these dead letters {fate}.",
	"loop":                "Dead letters circulate without a rejection: {path}. When they reach a queue again, they {fate}.",
	"loop_limited":        "Dead letters circulate without a rejection when a queue reaches its length limit: {path}. When they reach a queue again, they {fate}.",
	"loop_returned":       "Dead letters circulate without a rejection when messages reach the delivery limit: {path}. When they reach a queue again, they {fate}.",
	"loop_with_rejection": "Dead letters circulate as long as consumers reject them: {path}. Nothing stops this cycle.",
	"policy_covers_dlq":   "Policy '{policy}' also applies to queue '{name}', which receives its dead letters: messages that die there return there.",
	"target_full":         "Queue '{name}' is full and rejects messages: dead letters of queue '{source}' {fate}.",
	"target_refuses":      "Queue '{name}' rejects messages when it is full ({limit}): dead letters of queue '{source}' then {fate}.",
	"target_never_takes":  "Queue '{name}' is full and has no consumers: queue '{source}' holds its dead letters until '{name}' has space.",
	"no_consumer":         "Dead letters of queue '{source}' go to queue '{name}', which has no consumers and no limits. Messages in it: {messages}.",
	"dlq_drops_head":      "Dead letters of queue '{source}' go to queue '{name}', which drops its oldest messages when it is full ({limit}) and has no dead-letter exchange.",
	"dlq_expires":         "Dead letters of queue '{source}' go to queue '{name}', which is deleted with all its messages when it is unused for {ms}.",
	"dlq_goes":            "Dead letters of queue '{source}' go to queue '{name}', which is deleted with all its messages when its last consumer or its connection ends.",
	"dlq_not_durable":     "Dead letters of the durable queue '{source}' go to queue '{name}', which is not durable: a restart loses them.",
	"ttl_not_for_letters": "Dead letters of queue '{source}' go to queue '{name}', whose message TTL does not apply to them: the option ttl-in-dlq is off.",
	"marked_no_limit":     "Queue '{name}' is marked as a dead-letter queue and has no consumers and no limits. Messages in it: {messages}.",
	"marked_drops_head":   "Queue '{name}' is marked as a dead-letter queue. It drops its oldest messages when it is full ({limit}) and has no dead-letter exchange.",
	"marked_goes":         "Queue '{name}' is marked as a dead-letter queue. It can be deleted with all its messages: it expires, is auto-delete or exclusive.",
	"mark_unused":         "The option dead-letter-queues names queue '{name}', which does not exist.",
	"dlx_not_durable":     "The dead-letter exchange '{dlx}' of the durable queue '{name}' is not durable: a restart deletes it.",
	"dlx_auto_delete":     "The dead-letter exchange '{dlx}' of queue '{name}' is deleted with its last binding.",

	"ttl_without_dlx":             "Messages of queue '{name}' expire after {ms}. The queue has no dead-letter exchange: expired messages are lost.",
	"delivery_limit_without_dlx":  "Messages of queue '{name}' die after {limit} returns. The queue has no dead-letter exchange: they {fate}.",
	"key_without_dlx":             "Policy '{policy}' sets a dead-letter routing key for queue '{name}', but no dead-letter exchange: messages that die are lost.",
	"strategy_without_dlx":        "Queue '{name}' has a dead-letter strategy, but no dead-letter exchange: messages that die are lost.",
	"reject_publish_at_most_once": "Queue '{name}' rejects messages when it is full ({limit}), and its strategy is at-most-once: rejected messages are not dead-lettered, and dead letters whose target is full {fate}.",
	"max_length_zero":             "Queue '{name}' has a limit of 0: it keeps no messages.",
	"max_length_small":            "Queue '{name}' keeps at most {limit}.",
	"ladder_outlives_ttl":         "Messages of queue '{name}' expire after {ms}, but {attempts} retries take {ladder}: messages expire before the last retry.",
	"retry_without_wait":          "Queue '{name}' has a delayed-retry-type, but neither delayed-retry-min nor delayed-retry-steps: retries are not delayed.",
	"unknown_argument":            "Queue '{name}' was declared with the unknown argument '{argument}'.",

	"missing_alternate":        "The alternate exchange '{alternate}' of exchange '{name}' does not exist: unroutable messages are dropped.",
	"delayed_without_bindings": "The delayed exchange '{name}' has no bindings: when its messages are due, they become lost letters. {messages} messages wait.",

	"policy_unused":      "{which} '{name}' matches nothing.",
	"policy_beaten":      "{which} '{name}' matches '{object}', but other policies, such as '{policy}', have a higher priority for everything that it matches.",
	"policy_for_streams": "{which} '{name}' applies to streams, which the broker does not support.",
	"policy_dlx_ignored": "Policy '{name}' sets a dead-letter exchange, which has no effect: the option dlx-by-argument-only is on.",

	"no_shelf": "The option lost-letters-max-bytes is 0: undeliverable dead letters are deleted without a trace.",
}

// phrases stand for the values of some parameters.
var phrases = map[string]map[string]string{
	"fate": { // what becomes of dead letters that find no place
		"shelf": "become lost letters", "held": "are held in their queue", "gone": "are lost",
		"stay": "stay where they are and do not expire any more",
	},
	"which": {"user": "Policy", "operator": "Operator policy"},
}

// FindingCodes lists the codes of all findings, by name.
func FindingCodes() []string {
	codes := make([]string, 0, len(findingTexts))
	for code := range findingTexts {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// alsoParam is the parameter that names more queues than the first whose dead letters come to a queue.
const alsoParam = "also"

// Text tells the finding in English.
func (f *Finding) Text() string {
	text := findingTexts[f.Code]
	if slices.ContainsFunc(f.Params, func(p Param) bool { return p.Name == alsoParam }) {
		text += " Other source queues: {" + alsoParam + "}."
	}
	return fill(text, append(f.Params, Param{"name", f.Name}))
}

// asWords is a number as people write it; other text stays.
func asWords(number string, words func(int64) string) string {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return number
	}
	return words(n)
}

// sizeWords writes bytes exactly: 64 MiB, 1000 bytes.
func sizeWords(n int64) string {
	unit := "bytes"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// fill puts parameters into a text.
func fill(text string, params []Param) string {
	pairs := make([]string, 0, 2*len(params))
	for _, p := range params {
		value := p.Value
		switch p.Name {
		case "dlx", "exchange":
			value = cmp.Or(value, "amq.default")
		case "ms", "ladder":
			value = asWords(value, duration.Words)
		case "bytes":
			value = asWords(value, sizeWords)
		default:
			value = cmp.Or(phrases[p.Name][value], value)
		}
		pairs = append(pairs, "{"+p.Name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// worse orders findings: the worst first, then by what they are about.
func worse(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Code, b.Code))
}

// findings collects what is found.
type findings struct {
	*Analysis
	all []Finding
}

func (f *findings) add(s Severity, code, kind, name string, params ...Param) {
	f.all = append(f.all, Finding{code, s, kind, name, params})
}

// Findings lists what is wrong in the vhost, the worst first.
func (s *Analysis) Findings() []Finding {
	f := &findings{Analysis: s}
	for i := range s.Queues {
		q := &s.Queues[i]
		f.deadLetters(i, q)
		f.target(i, q)
		f.marked(i, q)
		f.settings(q)
		f.arguments(q)
	}
	f.circles()
	f.exchanges()
	f.policies()
	f.marks()
	if s.options.LostLettersMaxBytes == 0 {
		f.add(Warning, "no_shelf", "vhost", s.VHost)
	}
	slices.SortStableFunc(f.all, worse)
	return f.all
}

// A Tally counts what goes wrong.
type Tally struct {
	Missing, Unbound int    // queues whose dead-letter exchange does not exist, or leads nowhere
	Loops            int    // queues to which dead letters come back of age and for lack of space alone
	Findings         [3]int // by Severity
}

// Tally counts what Findings lists.
func (s *Analysis) Tally() (t Tally) {
	for _, f := range s.Findings() {
		t.Findings[f.Severity]++
		switch f.Code {
		case "missing_dlx":
			t.Missing++
		case "no_binding", "no_binding_own_keys":
			t.Unbound++
		}
	}
	for i := range s.loops {
		if s.loops[i].kind >= loopLimited {
			t.Loops += len(s.loops[i].queues)
		}
	}
	return t
}
