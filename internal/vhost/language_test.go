package vhost

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

type (
	queueSeq   = queue.Seq
	queueEntry = queue.Entry
)

// A line of a scenario is a verb with operands and options:
//
//	[channel:] verb operand… [option | option=value]…
//
// A channel is named by a character for its connection, and a digit if the connection has more than one: a,
// b, b2. It is opened by its first use. Without a name the channel is a. Verbs and their options:
//
//	connect b [window=BYTES] [user=NAME] [notify]      before b's first channel, if it is to be special
//	declare QUEUE [transient] [exclusive] [auto-delete] [passive] [ARGUMENT]…
//	delete QUEUE [if-unused] [if-empty]     purge QUEUE
//	exchange NAME TYPE [transient] [internal] [auto-delete] [passive] [alternate-exchange=NAME] [hash-header=NAME]
//	delete-exchange NAME [if-unused]
//	bind SOURCE -> QUEUE [key=KEY] [ARGUMENT]…         and unbind; link and unlink for two exchanges
//	publish [EXCHANGE:]KEY "body" [transient] [mandatory] [immediate] [PROPERTY]…
//	consume QUEUE TAG [noack] [exclusive] [x-priority=N]       cancel TAG
//	get QUEUE [noack] [fits]                qos N [global] [size=N]
//	ack TAG [multiple]    nack TAG [multiple] [requeue]    reject TAG [requeue]    recover [requeue]
//	confirm    tx    commit    rollback    close    disconnect b    written b BYTES    stop-deliveries b
//	republish ID… [to=EXCHANGE:KEY]         discard ID…
//	unschedule ID…    fire ID…    reschedule ID… at=DURATION     since the scenario began, by the wall clock
//	purge-schedule EXCHANGE
//	redrive QUEUE|lost [ids=1,2] [filter=TEXT] [way=origin|queue|on|EXCHANGE:KEY] [to-queue=NAME] [discard] [newest] [most=N]
//	        [rate=N] [canary=N] [watch=MS] [ramp] [percent=N] [stop-no-consumer] [strip] [drop-expiration] [force]
//	job ID pause|resume|cancel|forget|rate [N]
//	resend QUEUE|lost ID "body" [keep] [force] [way=…] [to-queue=NAME] [PROPERTY]…
//	options NAME=VALUE…                                a value of none takes it back
//	policy NAME PATTERN [apply=KIND] [priority=N] [operator] KEY=VALUE…     clear-policy NAME [operator]
//
// ARGUMENT is one of ttl dlx dlrk max max-bytes overflow expires priorities limit mode retry retry-min
// retry-max timeout type single strategy, or a full name beginning with x-. PROPERTY is expiration, priority, user,
// reply-to, cc, bcc, or h.NAME for a header, or "all". Values are integers, true, false, or text; text in quotes is
// text for sure; K:V is V with the wire type K, of an array: texts with commas between them, of a table:
// NAME=VALUE with commas between them. Any verb takes nowait.
type line struct {
	channel  string
	verb     string
	operands []string
	options  []option
}

type option struct {
	name, value string
	quoted      bool
	used        bool
}

func parseLine(s string) (*line, error) {
	words, err := split(s)
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("%q: %v", s, err)
	}
	l := &line{channel: "a"}
	if name, ok := strings.CutSuffix(words[0], ":"); ok {
		l.channel, words = name, words[1:]
	}
	l.verb = words[0]
	for _, w := range words[1:] {
		name, value, has := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, `"`):
			text, err := strconv.Unquote(w)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", s, err)
			}
			l.operands = append(l.operands, text)
		case has:
			o := option{name: name, value: value}
			if strings.HasPrefix(value, `"`) {
				if o.value, err = strconv.Unquote(value); err != nil {
					return nil, fmt.Errorf("%q: %w", s, err)
				}
				o.quoted = true
			}
			l.options = append(l.options, o)
		case isFlag[w]:
			l.options = append(l.options, option{name: w})
		case w != "->":
			l.operands = append(l.operands, w)
		}
	}
	return l, nil
}

var isFlag = map[string]bool{
	"transient": true, "exclusive": true, "auto-delete": true, "passive": true, "if-unused": true, "if-empty": true,
	"internal": true, "mandatory": true, "immediate": true, "noack": true, "fits": true, "global": true, "multiple": true,
	"requeue": true, "nowait": true, "operator": true, "notify": true, "all": true, "single": true,
	"discard": true, "newest": true, "ramp": true, "stop-no-consumer": true, "strip": true, "drop-expiration": true, "keep": true,
	"force": true,
}

// split cuts at spaces outside quotes.
func split(s string) (words []string, err error) {
	start, quoted := -1, false
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ' ' && !quoted:
			if start >= 0 {
				words = append(words, s[start:i])
			}
			start = -1
		case s[i] == '"':
			quoted = !quoted
			fallthrough
		default:
			if start < 0 {
				start = i
			}
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is open")
	}
	return words, nil
}

func (l *line) has(name string) bool {
	_, ok := l.option(name)
	return ok
}

func (l *line) option(name string) (string, bool) {
	for i := range l.options {
		if o := &l.options[i]; o.name == name {
			o.used = true
			return o.value, true
		}
	}
	return "", false
}

func (l *line) text(name string) string {
	s, _ := l.option(name)
	return s
}

func (l *line) number(name string) int64 {
	n, _ := strconv.ParseInt(l.text(name), 10, 64)
	return n
}

func (l *line) operand(i int) string {
	if i < len(l.operands) {
		return l.operands[i]
	}
	return ""
}

// unused names an option that the verb did not read.
func (l *line) unused() error {
	for _, o := range l.options {
		if !o.used {
			return fmt.Errorf("%s does not know the option %q", l.verb, o.name)
		}
	}
	return nil
}

// shortArguments are queue arguments by the names that scenarios use.
var shortArguments = map[string]string{
	"ttl": "x-message-ttl", "dlx": "x-dead-letter-exchange", "dlrk": "x-dead-letter-routing-key", "max": "x-max-length",
	"max-bytes": "x-max-length-bytes", "overflow": "x-overflow", "expires": "x-expires", "priorities": "x-max-priority",
	"limit": "x-delivery-limit", "type": "x-queue-type", "strategy": "x-dead-letter-strategy", "single": "x-single-active-consumer",
	"mode": "x-delivery-count-mode", "retry": "x-delayed-retry-type", "retry-min": "x-delayed-retry-min",
	"retry-max": "x-delayed-retry-max", "timeout": "x-consumer-timeout",
}

// arguments takes the options that are arguments of the object, in order.
func (l *line) arguments(more ...string) (t amqp.Table) {
	for i := range l.options {
		o := &l.options[i]
		name := o.name
		if long, ok := shortArguments[name]; ok {
			name = long
		}
		known := strings.HasPrefix(name, "x-")
		for _, m := range more {
			known = known || m == name
		}
		if known && !o.used {
			o.used = true
			if o.value == "" && !o.quoted && o.name == "single" {
				t = append(t, amqp.Field{Name: name, Value: amqp.Bool(true)})
				continue
			}
			t = append(t, amqp.Field{Name: name, Value: o.argument()})
		}
	}
	return t
}

// argument is the option's value: a duration or an integer as signedint or long, a truth, or text.
func (o *option) argument() amqp.Value {
	if o.quoted {
		return amqp.String(o.value)
	}
	if len(o.value) > 1 && o.value[1] == ':' {
		return ofKind(o.value[0], o.value[2:])
	}
	if n, err := strconv.ParseInt(o.value, 10, 64); err == nil {
		if n == int64(int32(n)) {
			return amqp.Int32(int32(n))
		}
		return amqp.Int64(n)
	}
	if f, err := strconv.ParseFloat(o.value, 64); err == nil {
		return amqp.Float64(f)
	}
	if d, err := time.ParseDuration(o.value); err == nil {
		return amqp.Int64(d.Milliseconds())
	}
	switch o.value {
	case "true", "false":
		return amqp.Bool(o.value == "true")
	}
	return amqp.String(o.value)
}

// ofKind is a value with a wire type.
func ofKind(kind byte, text string) amqp.Value {
	v := amqp.Value{Kind: kind}
	switch kind {
	case amqp.KindString, amqp.KindBinary:
		v.Str = text
	case amqp.KindArray:
		for s := range strings.SplitSeq(text, ",") {
			v.Array = append(v.Array, amqp.String(s))
		}
	case amqp.KindTable:
		for s := range strings.SplitSeq(text, ",") {
			o := option{}
			o.name, o.value, _ = strings.Cut(s, "=")
			f := amqp.Field{Name: o.name, Value: o.argument()}
			if o.value == "none" {
				f.Value = amqp.Void()
			}
			v.Table = append(v.Table, f)
		}
	case amqp.KindFloat32:
		f, _ := strconv.ParseFloat(text, 32)
		v.Int = int64(math.Float32bits(float32(f)))
	case amqp.KindFloat64:
		f, _ := strconv.ParseFloat(text, 64)
		v.Int = int64(math.Float64bits(f))
	default:
		v.Int, _ = strconv.ParseInt(text, 10, 64)
	}
	return v
}
