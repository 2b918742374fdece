package api

// VHostOption is an option of a virtual host, and what it may be, in words.
type VHostOption struct{ Name, Values string }

// VHostOptions lists what PUT /api/x/options takes.
var VHostOptions = []VHostOption{
	{"dialect", "rabbitmq-4, rabbitmq-3 or apsaramq: how deaths are told"},
	{"lost-letters-max-bytes", "bytes of lost letters that are kept; 0: none"},
	{"lost-letters-max-age", "milliseconds that they are kept"},
	{"consumer-timeout", "milliseconds that a delivery may stay unsettled; 0: for ever"},
	{"sync", "default, always, interval or never: when confirms are sent"},
	{"death-total", "true or false: the header x-death-total"},
	{"reject-reasons", "true or false: nack is told from reject"},
	{"delivery-limit", "deliveries where a queue sets none; -1: what its type says"},
	{"hops-max", "deaths after which a message has no TTL; 0: it always has"},
	{"ttl-in-loops", "true or false: what dies in a cycle keeps its TTL"},
	{"ttl-in-dlq", "true or false: a queue's TTL is for dead letters, too"},
	{"dlx-by-argument-only", "true or false: policies name no dead-letter exchange"},
	{"strict-names", "true or false: queue names of letters, digits and -_.#/@"},
}

// LogLevel is the body of PUT /api/x/log-level.
type LogLevel struct {
	Level    string `json:"level"`              // debug, info, notice, warning, error, critical, none
	Category string `json:"category,omitempty"` // connection, channel, queue, …; empty: all
}
