package filter

import (
	"bytes"
	"cmp"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Republished is the reason of a message that a client has published where failures go, with headers that say why it
// could not handle it. The broker knows of no death of it.
const Republished = "republished"

// A Failure is what such headers tell of where the message came from.
type Failure struct {
	Exchange, Key string // of the publish that failed, "" both if they do not tell
	Queue         string // in which it was, "" likewise
	At            int64  // ms since the Unix epoch: when it failed, 0 if no header tells it
	Dated         int64  // likewise: by its timestamp, which may be that of an earlier publish, or by x-death
	Redrives      int64  // how often it was sent back before, by x-redrive-count that its client has kept

	// What the header x-death tells, which a client has copied from the delivery.
	Deaths      int64  // their number, 0 if there is no such header
	FirstReason string // "" if it does not tell
	LastQueue   string // likewise
	Copied      bool   // no other header tells of a failure
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
// it: an encoded table, which begins with its length. died lists the queues in an x-death header, which the client has
// copied. Where there is none it allocates nothing.
func TellsOfFailure(headers []byte) (tells bool, died []string) {
	for rest := fieldsOf(headers); len(rest) > 0; {
		name, v, after, ok := cutNamed(rest)
		if !ok {
			break
		}
		var buf [64]byte
		switch {
		case string(name) == deathsHeader:
			died = queuesOfDeaths(v)
		case len(name) >= len("capexception"):
			tells = tells || failed(squeezed(buf[:0], name))
		}
		rest = after
	}
	return tells, died
}

// fieldsOf is an encoded table without its length.
func fieldsOf(table []byte) []byte { return table[min(len(table), 4):] }

// FailureOf reads what properties tell of a failure; ok is false if they tell of none.
func FailureOf(properties []byte) (f Failure, ok bool) {
	died := int64(0)
	r := readProperties(properties)
	for {
		switch flag, v := r.take(); flag {
		case amqp.FlagHeaders:
			died, ok = f.read(v)
		case 0:
			f.Dated = cmp.Or(r.timestamp*1000, died*1000)
			return f, ok
		}
	}
}

// read reads the fields of headers, and reports whether they tell of a failure; died is when x-death says that the
// message died last, in seconds.
func (f *Failure) read(fields []byte) (died int64, ok bool) {
	var first origin // by the headers x-first-death-…
	var history value
	for rest := fields; len(rest) > 0; {
		name, v, after, whole := cutNamed(rest)
		if !whole {
			break
		}
		rest = after
		if string(name) == deathsHeader {
			history = v
			continue
		}
		var buf [64]byte
		name = squeezed(buf[:0], name)
		ok = ok || failed(name)
		if n, is := v.real(); is && string(name) == "xredrivecount" {
			f.Redrives = n.n
		}
		if text := v.short(); text != nil {
			f.take(name, text, &first)
		}
	}
	if hasDeaths(history) {
		died = f.copied(history, first)
		f.Copied, ok = !ok, true
	}
	return died, ok
}

// take reads a header that has a text.
func (f *Failure) take(name, data []byte, first *origin) {
	switch text := string(data); string(name) {
	case "xoriginalexchange":
		f.Exchange = text
	case "xoriginalroutingkey":
		f.Key = text
	case "xfirstdeathqueue":
		first.queue = data
	case "xfirstdeathreason":
		first.reason = data
	case "nservicebusfailedq", "rbs2sourcequeue":
		f.Queue = text
	case "mtfaultinputaddress": // an address such as rabbitmq://host/virtual-host/queue?durable=true
		data, _, _ = bytes.Cut(data, []byte{'?'})
		f.Queue = string(data[bytes.LastIndexByte(data, '/')+1:])
	case "nservicebustimeoffailure", "mtfaulttimestamp": // to the second, in UTC, with T or a blank in between
		if len(text) >= len("2006-01-02T15:04:05") {
			c := clockReader{rest: text[:10] + "T" + text[11:19]}
			if s, err := c.read(); err == nil {
				f.At = s.min
			}
		}
	}
}
