package filter

import (
	"bytes"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Republished is the reason of a message that a client has published where failures go, with headers that say why it
// could not handle it. The broker knows of no death of it.
const Republished = "republished"

// A Failure is what such headers tell of where the message came from.
type Failure struct {
	Exchange, Key string // of the publish that failed, "" both if they do not tell
	Queue         string // in which it was, "" likewise
	At            int64  // ms since the Unix epoch: when it failed, or else when it was published as it is; 0: unknown
	Redrives      int64  // how often it was sent back before, by x-redrive-count that its client has kept
}

// Back is the exchange and the routing key that lead to where the message came from; ok is false if nothing is told of
// that.
func (f *Failure) Back() (exchange, key string, ok bool) {
	if f.Exchange != "" || f.Key != "" {
		return f.Exchange, f.Key, true
	}
	return "", f.Queue, f.Queue != ""
}

// failed reports whether a header, its name squeezed, is one that libraries add to what they publish where failures go:
// none of them is on any other message. Names such as error, which say less, are left out.
func failed(name []byte) bool {
	switch string(name) {
	case "xexceptionmessage", "xexceptionstacktrace", "xexceptionfqcn", "xexceptiontype", // Spring's RepublishMessageRecoverer
		"nservicebusexceptioninfoexceptiontype", "nservicebusexceptioninfomessage", "nservicebusfailedq",
		"mtfaultexceptiontype", "mtfaultmessage", "mtfaultreason", // MassTransit
		"rbs2errordetails", "capexception", // Rebus, CAP
		"kafkadltexceptionfqcn", "kafkadltexceptionmessage",
		"exceptiontype", "exceptionmessage": // Wolverine
		return true
	}
	return bytes.HasSuffix(name, stamp) // Symfony
}

// TellsOfFailure reports whether headers are those of a message that a client has published because it could not handle
// it: an encoded table, which begins with its length. It allocates nothing.
func TellsOfFailure(headers []byte) bool {
	if len(headers) < 4 {
		return false
	}
	for rest := headers[4:]; len(rest) > 0; {
		name, _, after, ok := cutNamed(rest)
		if !ok {
			return false
		}
		var room [64]byte
		if len(name) >= len("capexception") && failed(squeezed(room[:0], name)) {
			return true
		}
		rest = after
	}
	return false
}

// FailureOf reads what properties tell of a failure; ok is false if they tell of none.
func FailureOf(properties []byte) (f Failure, ok bool) {
	r := readProperties(properties)
	for {
		switch flag, v := r.take(); flag {
		case amqp.FlagHeaders:
			ok = f.read(v)
		case 0:
			if f.At == 0 {
				f.At = r.timestamp * 1000
			}
			return f, ok
		}
	}
}

// read reads the fields of headers, and reports whether they tell of a failure.
func (f *Failure) read(fields []byte) (ok bool) {
	for rest := fields; len(rest) > 0; {
		name, v, after, whole := cutNamed(rest)
		if !whole {
			break
		}
		rest = after
		var room [64]byte
		name = squeezed(room[:0], name)
		ok = ok || failed(name)
		if n, is := v.real(); is && string(name) == "xredrivecount" {
			f.Redrives = n.n
		}
		if v.kind != amqp.KindString && v.kind != amqp.KindBinary || len(v.data) > amqp.ShortStringMax {
			continue
		}
		switch text := string(v.data); string(name) {
		case "xoriginalexchange":
			f.Exchange = text
		case "xoriginalroutingkey":
			f.Key = text
		case "nservicebusfailedq", "rbs2sourcequeue":
			f.Queue = text
		case "mtfaultinputaddress": // an address such as rabbitmq://host/virtual-host/queue?durable=true
			v.data, _, _ = bytes.Cut(v.data, []byte{'?'})
			f.Queue = string(v.data[bytes.LastIndexByte(v.data, '/')+1:])
		case "nservicebustimeoffailure", "mtfaulttimestamp": // to the second, in UTC, with T or a blank in between
			if len(text) >= len("2006-01-02T15:04:05") {
				c := clockReader{rest: text[:10] + "T" + text[11:19]}
				if s, err := c.read(); err == nil {
					f.At = s.min
				}
			}
		}
	}
	return ok
}
