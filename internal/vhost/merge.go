package vhost

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// headerField is one field of a message's headers, encoded.
type headerField struct {
	name   []byte
	octets []byte // name and tag included
	own    bool   // the broker's
}

// appendMerged lays the broker's own headers over a publisher's, both encoded tables, and appends the result:
// sorted by name, the first of a name winning. Nothing nested is decoded, for a publisher's headers may be large, and
// every delivery passes here. over is how many octets to remove from the result: see trim.
// Source: RabbitMQ 4.x; docs/compat/dead-lettering.md#5 and #6.
func appendMerged(b, own, theirs []byte, hideCC bool, over int) ([]byte, error) {
	var buf [32]headerField
	fields := buf[:0]
	for i, table := range [2][]byte{own, theirs} {
		for rest := table[min(4, len(table)):]; len(rest) > 0; {
			f := headerField{own: i == 0}
			var err error
			if f.name, f.octets, rest, err = amqp.CutField(rest); err != nil {
				return b, err
			}
			if !f.own && hideCC && string(f.name) == "CC" {
				continue
			}
			fields = append(fields, f)
		}
	}
	slices.SortStableFunc(fields, func(a, b headerField) int { return bytes.Compare(a.name, b.name) })
	fields = slices.CompactFunc(fields, func(a, b headerField) bool { return bytes.Equal(a.name, b.name) })
	trim(fields, over)
	b, start := beginSized(b)
	for i := range fields {
		b = append(b, fields[i].octets...)
	}
	endSized(b, start)
	amqp.Normalize(b[start-4:])
	return b, nil
}

// trim takes at least over octets out of the broker's own fields, or all of them: first the oldest deaths, then what
// tells of the last death, then of the first, then the counts.
func trim(fields []headerField, over int) {
	for _, prefix := range [...]string{"x-death", "x-last-death-", "x-first-death-", "x-"} {
		for i := range fields {
			f := &fields[i]
			if over <= 0 {
				return
			}
			if !f.own || !bytes.HasPrefix(f.name, []byte(prefix)) {
				continue
			}
			before := len(f.octets)
			if prefix == "x-death" && len(f.name) == len(prefix) {
				f.octets = withoutOldest(f, over)
			}
			if over -= before - len(f.octets); over > 0 {
				over -= len(f.octets)
				f.octets = nil
			}
		}
	}
}

// withoutOldest is an x-death field without as many of its last entries as take over octets, or without any.
func withoutOldest(f *headerField, over int) []byte {
	at := 1 + len(f.name) + 1 // of the array's length
	entries := f.octets[at+4:]
	kept := 0
	for {
		const head = 1 + 4 // of a table in an array
		next := kept + head
		if next > len(entries)-over {
			break
		}
		if next += int(binary.BigEndian.Uint32(entries[kept+1:])); next > len(entries)-over {
			break
		}
		kept = next
	}
	b := slices.Clone(f.octets[:at+4+kept]) // what it was stays, for the caller's next attempt
	endSized(b, at+4)
	return b
}
