package search

import (
	"encoding/json"
	"slices"
)

// marks are the greatest IDs of messages, by the priority that the IDs begin with. Nearly all queues have one priority,
// and there may be very many queues: they are a list, and a map in what is stored.
type marks []mark

type mark struct {
	lane uint8
	id   uint64
}

// of is the greatest ID of a priority, 0 if there is none.
func (m marks) of(lane uint8) uint64 {
	for _, x := range m {
		if x.lane == lane {
			return x.id
		}
	}
	return 0
}

// raise notes an ID, unless a greater one is known. It changes no clone.
func (m *marks) raise(lane uint8, id uint64) {
	i := slices.IndexFunc(*m, func(x mark) bool { return x.lane == lane })
	if i < 0 {
		*m = append(*m, mark{lane, id})
		return
	}
	(*m)[i].id = max((*m)[i].id, id)
}

// raiseAll notes the IDs of others.
func (m *marks) raiseAll(others marks) {
	for _, x := range others {
		m.raise(x.lane, x.id)
	}
}

// MarshalJSON implements json.Marshaler.
func (m marks) MarshalJSON() ([]byte, error) {
	ids := map[uint8]uint64{}
	for _, x := range m {
		ids[x.lane] = x.id
	}
	return json.Marshal(ids)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *marks) UnmarshalJSON(data []byte) error {
	var ids map[uint8]uint64
	if err := json.Unmarshal(data, &ids); err != nil {
		return err
	}
	*m = nil
	for lane, id := range ids {
		m.raise(lane, id)
	}
	return nil
}
