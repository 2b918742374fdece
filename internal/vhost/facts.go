package vhost

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Facts lists the facts in a batch of a vhost's log, or in a snapshot with index 0, in order.
// It is for those who look at a log from outside: checks and tools. Byte slices alias batch.
func Facts(log storage.LogID, index storage.Index, batch []byte) ([]Fact, error) {
	r := decoder{rest: batch}
	if format := r.byte(); r.err == nil && format != formatVersion {
		return nil, fmt.Errorf("vhost: batch %d has format %d, this version reads %d", index, format, formatVersion)
	}
	r.uint()
	var facts []Fact
	for len(r.rest) > 0 && r.err == nil {
		f, err := parseFact(&r, log, index)
		if err != nil {
			return nil, fmt.Errorf("vhost: batch %d: %w", index, err)
		}
		facts = append(facts, f)
	}
	if r.err != nil {
		return nil, fmt.Errorf("vhost: batch %d: %w", index, r.err)
	}
	return facts, nil
}
