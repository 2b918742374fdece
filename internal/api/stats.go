package api

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// A Rate stands beside a counter x as x_details. Never null: strict clients read a float.
type Rate struct {
	Rate    float64  `json:"rate"` // per second
	Samples []Sample `json:"samples,omitempty"`
	Avg     *float64 `json:"avg,omitempty"`
	AvgRate *float64 `json:"avg_rate,omitempty"`
}

// Readings say, if samples are asked for, of what time there are none.
type Readings struct {
	CountedSince string    `json:"counted_since,omitempty"` // ours, RFC 3339: there are no earlier readings in the range
	Gaps         List[Gap] `json:"gaps,omitempty"`          // ours: since then, when the broker did not run
}

// A Sample is a counter's value at a time.
type Sample struct {
	Sample    int64 `json:"sample"`
	Timestamp int64 `json:"timestamp"` // ms since the Unix epoch
}

// Totals counts the messages of a queue, a virtual host or the node.
type Totals struct {
	Messages                      int64 `json:"messages"`
	MessagesDetails               Rate  `json:"messages_details"`
	MessagesReady                 int64 `json:"messages_ready"`
	MessagesReadyDetails          Rate  `json:"messages_ready_details"`
	MessagesUnacknowledged        int64 `json:"messages_unacknowledged"`
	MessagesUnacknowledgedDetails Rate  `json:"messages_unacknowledged_details"`
}

// A Counter is a total with its rate.
type Counter struct {
	Total uint64
	Rate  Rate
}

// MessageStats counts what happened to messages. In JSON each counter x that has moved is x and x_details; the
// others are absent. Source: RabbitMQ management API, message_stats.
type MessageStats struct {
	Publish          Counter
	PublishIn        Counter
	PublishOut       Counter
	Confirm          Counter
	Deliver          Counter
	DeliverNoAck     Counter
	DeliverGet       Counter // the sum of Deliver, DeliverNoAck, Get and GetNoAck
	Get              Counter
	GetNoAck         Counter
	GetEmpty         Counter
	Redeliver        Counter
	Ack              Counter
	ReturnUnroutable Counter
	DropUnroutable   Counter
}

// each visits the counters under their JSON names, in a fixed order.
func (m *MessageStats) each(visit func(name string, c *Counter)) {
	visit("publish", &m.Publish)
	visit("publish_in", &m.PublishIn)
	visit("publish_out", &m.PublishOut)
	visit("confirm", &m.Confirm)
	visit("deliver", &m.Deliver)
	visit("deliver_no_ack", &m.DeliverNoAck)
	visit("deliver_get", &m.DeliverGet)
	visit("get", &m.Get)
	visit("get_no_ack", &m.GetNoAck)
	visit("get_empty", &m.GetEmpty)
	visit("redeliver", &m.Redeliver)
	visit("ack", &m.Ack)
	visit("return_unroutable", &m.ReturnUnroutable)
	visit("drop_unroutable", &m.DropUnroutable)
}

// IsZero reports whether nothing has moved; omitzero asks it.
func (m MessageStats) IsZero() bool {
	moved := false
	m.each(func(_ string, c *Counter) { moved = moved || c.Total > 0 })
	return !moved
}

// MarshalJSON renders the counters that have moved.
func (m MessageStats) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	var failed error
	m.each(func(name string, c *Counter) {
		if c.Total == 0 {
			return
		}
		rate, err := json.Marshal(c.Rate)
		if err != nil {
			failed = err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"%s":%d,"%s_details":%s`, name, c.Total, name, rate)
	})
	return append(b, '}'), failed
}

// UnmarshalJSON reads the counters that are there.
func (m *MessageStats) UnmarshalJSON(b []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	*m = MessageStats{}
	var failed error
	m.each(func(name string, c *Counter) {
		total, ok := fields[name]
		if !ok {
			return
		}
		n, err := strconv.ParseUint(string(total), 10, 64)
		if err != nil {
			failed = fmt.Errorf("message_stats: %s is not a counter: %w", name, err)
			return
		}
		c.Total = n
		if details, ok := fields[name+"_details"]; ok {
			if err := json.Unmarshal(details, &c.Rate); err != nil {
				failed = fmt.Errorf("message_stats: %s_details: %w", name, err)
			}
		}
	})
	return failed
}
