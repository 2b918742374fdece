package fact

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// All lists the facts in a batch of a vhost's log, or in a snapshot with index 0, in order.
// It is for those who look at a log from outside: checks and tools. Byte slices alias batch.
func All(log storage.LogID, index storage.Index, batch []byte) ([]Fact, error) {
	r := Decoder{Rest: batch}
	if format := r.Byte(); r.Err == nil && format != FormatVersion {
		return nil, fmt.Errorf("fact: batch %d has format %d, this version reads %d", index, format, FormatVersion)
	}
	r.Uint()
	var facts []Fact
	for len(r.Rest) > 0 && r.Err == nil {
		f, err := Parse(&r, log, index)
		if err != nil {
			return nil, fmt.Errorf("fact: batch %d: %w", index, err)
		}
		facts = append(facts, f)
	}
	if r.Err != nil {
		return nil, fmt.Errorf("fact: batch %d: %w", index, r.Err)
	}
	return facts, nil
}
