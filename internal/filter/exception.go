package filter

import (
	"bytes"
	"hash/fnv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// An account has the type, message and stack that were found for an exception. Its slices point into the message: they
// must not be kept.
type account struct {
	slots [slots][]byte
	ranks [slots]int // of what is in the slot, from 1: the lower one stays
}

type slot uint8

const (
	class   slot = iota // its type
	message             // its message
	stack               // its type, message and stack trace in one text
	slots
)

// names are where libraries tell of exceptions, in headers and in bodies of JSON, without case, dashes, dots and
// underscores. The first one found of each slot counts.
var names = [slots][]string{
	class: {
		"xexceptiontype", "xexceptionfqcn", "xexceptionclass", // Spring and those who follow it
		"nservicebusexceptioninfoexceptiontype",       // NServiceBus
		"mtfaultexceptiontype",                        // MassTransit
		"kafkadltexceptionfqcn", "kafkaexceptionfqcn", // Spring, from other brokers
		"exceptionfqcn", "exceptiontype", "exceptionclass", "exctype", // Wolverine, Symfony, Celery
		"errorclass", "errortype", "errtype", "xerrortype", "xerrorclass", // Sidekiq, Faktory
	},
	message: {
		"xexceptionmessage", "nservicebusexceptioninfomessage", "mtfaultmessage", "kafkadltexceptionmessage", "kafkaexceptionmessage",
		"exceptionmessage", "excmessage", "errormessage", "errmsg", "xerrormessage", "failurereason", "failedreason", "xfailurereason",
	},
	stack: {
		"xexceptionstacktrace", "nservicebusexceptioninfostacktrace", "mtfaultstacktrace", "kafkadltexceptionstacktrace",
		"rbs2errordetails", "capexception", // Rebus, CAP
		"exceptionstacktrace", "traceback", "exception", "xexception", "xerror", "error", "xerrordetails", "errordetails", "stacktrace", "xstacktrace",
	},
}

// inner are the names in an object that is an exception itself, or whose member is.
var inner = [slots][]string{
	class:   {"exctype", "exceptionclass", "errtype", "type", "class", "name"},
	message: {"excmessage", "exceptionmessage", "message", "msg", "detail"},
	stack:   {"stacktrace", "stack", "traceback", "backtrace"},
}

// wrappers are members of a body, and tables among the headers, that are an exception: Faktory's failure, and what is
// called so.
var wrappers = []string{"failure", "exception", "error"}

// result is the member of a body that has Celery's exception among its own.
const result = "result"

// stamp is the header of Symfony's messenger: JSON, an array of objects, the newest last.
var stamp = []byte("errordetailsstamp")

// appendException appends the normal form of the exception that headers or else the body tell of, nothing if they tell
// of none.
func appendException(b, properties, body []byte) []byte {
	var a account
	for rest := headers(properties); len(rest) > 0; {
		name, v, after, ok := cutNamed(rest)
		if !ok {
			break
		}
		a.header(name, v)
		rest = after
	}
	if a.empty() {
		a.json(body[:min(len(body), bodyMax)], &names, true)
	}
	return a.append(b)
}

func (a *account) empty() bool { return a.ranks == [slots]int{} }

// header takes what a header tells.
func (a *account) header(name []byte, v value) {
	var buf [64]byte
	name = squeezed(buf[:0], name)
	switch v.kind {
	case amqp.KindString, amqp.KindBinary:
		if bytes.HasSuffix(name, stamp) {
			a.json(v.data, &inner, false)
			return
		}
		a.put(name, v.data, &names)
	case amqp.KindTable:
		if !isOne(name, wrappers) {
			return
		}
		for rest := v.data; len(rest) > 0; {
			n, in, after, ok := cutNamed(rest)
			if !ok {
				return
			}
			if in.kind == amqp.KindString || in.kind == amqp.KindBinary {
				a.put(squeezed(buf[:0], n), in.data, &inner)
			}
			rest = after
		}
	}
}

// put takes a text under a name, if that is one of those.
func (a *account) put(name, text []byte, known *[slots][]string) {
	if len(name) == 0 || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	for s := range slots {
		for i, n := range known[s] {
			if a.ranks[s] > 0 && a.ranks[s] <= i+1 {
				break
			}
			if n == string(name) {
				a.slots[s], a.ranks[s] = text, i+1
			}
		}
	}
}

// json takes what an object tells, or the last one of an array; with deep, what its wrappers tell, too.
func (a *account) json(text []byte, known *[slots][]string, deep bool) {
	w := walker{rest: text}
	switch w.peek() {
	case '{':
		a.object(&w, known, deep)
	case '[':
		w.elements(func() bool {
			if w.peek() == '{' {
				*a = account{}
				a.object(&w, known, false)
			} else {
				w.skip()
			}
			return false
		})
	}
}

func (a *account) object(w *walker, known *[slots][]string, deep bool) {
	var buf [64]byte
	w.members(func(quoted []byte) bool {
		name := squeezed(buf[:0], quoted)
		switch w.peek() {
		case '"':
			if s := w.take(); !w.failed {
				a.put(name, unquoted(s), known)
			}
		case '{':
			switch {
			case deep && string(name) == result:
				a.object(w, &names, false)
			case deep && isOne(name, wrappers):
				a.object(w, &inner, false)
			default:
				w.skip()
			}
		case '[': // Celery's message has its arguments one by one
			first := true
			w.elements(func() bool {
				if first = first && w.peek() == '"'; !first {
					w.skip()
				} else if s := w.take(); !w.failed {
					a.put(name, unquoted(s), known)
				}
				first = false
				return false
			})
		default:
			w.skip()
		}
		return false
	})
}

// squeezed appends the letters and digits of a name in lower case; nothing if they are too many for one of ours, unless
// the last of them are one.
func squeezed(b, name []byte) []byte {
	if n := len(stamp); len(name) > cap(b) && len(name) > n {
		name = name[len(name)-n:]
	}
	for _, c := range name {
		if c = lower(c); c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b = append(b, c)
		}
	}
	return b
}

func isOne(name []byte, of []string) bool {
	for _, s := range of {
		if s == string(name) {
			return true
		}
	}
	return false
}

// append writes the one line that tells most, in its normal form: type and message.
func (a *account) append(b []byte) []byte {
	class, message, stack := bytes.TrimSpace(a.slots[class]), firstLine(a.slots[message]), a.slots[stack]
	switch {
	case len(message) > 0 && len(class) > 0:
		n := normal{out: b}
		n.line(class)
		n.out = append(n.out, ": "...)
		n.line(message)
		return n.done()
	case len(message) > 0:
		if l := lineEnding(stack, message); l != nil {
			message = l
		}
	case len(stack) > 0:
		message = telling(stack)
	default:
		message = class
	}
	n := normal{out: b}
	n.line(message)
	return n.done()
}

// firstLine is the first line that is not empty.
func firstLine(s []byte) []byte {
	s = bytes.TrimSpace(s)
	if end := bytes.IndexByte(s, '\n'); end >= 0 {
		s = bytes.TrimRight(s[:end], "\r \t")
	}
	return s
}

// causedBy begins the lines of causes in traces of the JVM.
var causedBy = []byte("Caused by: ")

// lineEnding finds the line of a stack trace that is a type and this message.
func lineEnding(stack, message []byte) []byte {
	at := bytes.Index(stack, message)
	if at < 2 || string(stack[at-2:at]) != ": " {
		return nil
	}
	begin := bytes.LastIndexByte(stack[:at], '\n') + 1
	return bytes.TrimPrefix(bytes.TrimSpace(stack[begin:at+len(message)]), causedBy)
}

// traceback begins the traces of Python, whose last line tells what happened.
var traceback = []byte("Traceback (most recent call last)")

// telling is the line of a stack trace that tells what happened.
func telling(stack []byte) []byte {
	stack = bytes.TrimSpace(stack)
	if !bytes.HasPrefix(stack, traceback) {
		return firstLine(stack)
	}
	return bytes.TrimSpace(stack[bytes.LastIndexByte(stack, '\n')+1:])
}

// appendFingerprint writes the number of a normal form over b, which may be the same memory.
func appendFingerprint(b, normal []byte) []byte {
	const hex = "0123456789abcdef"
	h := fnv.New64a()
	_, _ = h.Write(normal) // never fails
	sum := h.Sum64()
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, hex[sum>>shift&15])
	}
	return b
}
