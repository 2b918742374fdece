package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// An Origin is where a message comes from.
type Origin struct {
	Queue    string   // where it failed: it died there first, or its headers name it if it never died; "": not known
	Exchange string   // of its first publish
	Keys     []string // of its first publish: its own, CC, BCC
	Told     bool     // headers of a client name Exchange and Keys
}

// cameFrom is where a message comes from.
func (m *message) cameFrom() Origin {
	f, told := m.failure()
	return originFrom(m.history, &m.content, &f, told)
}

// failureOf is what headers tell of a message that a client has published where failures go: it was somewhere else
// before. An x-death that a client has copied tells less than deaths that the broker knows of.
func failureOf(properties []byte, h *fact.History) (f filter.Failure, told bool) {
	f, told = filter.FailureOf(properties)
	return f, told && !(f.Copied && h != nil && len(h.Deaths) > 0)
}

// CameFrom is where the message comes from.
func (x *Seen) CameFrom() Origin {
	record := x.entry.Ref(x.vhost.log)
	head, body := x.vhost.head(record)
	x.vhost.work += int(record.Size - body.at.Size) // what was read, about
	f, told := failureOf(head.Properties, x.History())
	return originFrom(x.History(), &head, &f, told)
}

// originFrom is the origin of a message with this history, nil for none, and a record with this head. What headers tell
// of a failure is of the first publish: the record is what a client then published where failures go.
func originFrom(h *fact.History, record *fact.Head, f *filter.Failure, told bool) Origin {
	from := Origin{Exchange: string(record.Exchange), Keys: record.Keys()}
	if told {
		from.Queue = f.Queue
		if exchange, key, ok := f.Back(); ok {
			from.Exchange, from.Keys, from.Told = exchange, []string{key}, true
		}
	}
	if h != nil && len(h.Deaths) > 0 {
		from.Queue = h.FirstQueue()
	}
	return from
}
