package api

import (
	"encoding/json"
	"strconv"
)

// ResourceLimits is the answer and the body of /api/x/resource-limits. In a body, what is absent stays as it is.
// Source: RabbitMQ configure, vm_memory_high_watermark and disk_free_limit.
type ResourceLimits struct {
	MemoryHighWatermark *Threshold `json:"vm_memory_high_watermark,omitempty"`
	DiskFree            *Threshold `json:"disk_free_limit,omitempty"`
}

// ListenerState is the answer and the body of /api/x/listeners.
type ListenerState struct {
	Suspended Flag `json:"suspended"` // the ports of AMQP are shut
}

// A ClientPort is one that clients connect to. The addresses are for the tag monitoring, in Listener.
type ClientPort struct {
	Protocol string `json:"protocol"` // amqp, amqp/ssl
	Port     int    `json:"port"`
}

// A Threshold has either a share of the memory that there is, or a number of bytes.
type Threshold struct {
	Relative *float64 `json:"relative,omitempty"`
	Absolute *Amount  `json:"absolute,omitempty"`
}

// An Amount is a number of bytes: digits, perhaps with a unit such as MB or GiB. Without a unit it is a number in JSON.
type Amount string

// MarshalJSON renders a number if it can.
func (a Amount) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseUint(string(a), 10, 64); err == nil {
		return []byte(a), nil
	}
	return marshal(string(a))
}

// UnmarshalJSON takes a number or text.
func (a *Amount) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(a))
	}
	*a = Amount(b)
	return nil
}
