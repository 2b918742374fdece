package api

// VHostOption is an option of a virtual host, and what it may be, in words.
type VHostOption struct{ Name, Values string }

// Lasts reports whether an option is a duration, which has a unit as text.
func (o VHostOption) Lasts() bool {
	return o.Name == "lost-letters-max-age" || o.Name == "consumer-timeout"
}

// VHostOptions lists what PUT /api/x/options takes.
var VHostOptions = []VHostOption{
	{"dialect", "rabbitmq-4, rabbitmq-3 or apsaramq: format of death headers, and defaults"},
	{"lost-letters-max-bytes", "maximum size of the lost letters in bytes; 0: keep none"},
	{"lost-letters-max-age", "maximum age of lost letters, such as 7d; in JSON also a number of milliseconds"},
	{"consumer-timeout", "time in which a consumer must acknowledge, such as 30m; 0: no limit; in JSON also a number of milliseconds"},
	{"sync", "default, always, interval or never: sync mode of the log"},
	{"death-total", "true or false: add the header x-death-total"},
	{"reject-reasons", "true or false: distinguish nack from reject"},
	{"delivery-limit", "delivery limit of queues that set none; -1: the default of the queue type"},
	{"hops-max", "deaths after which a message loses its TTL; 0: never"},
	{"ttl-in-loops", "true or false: messages that die in a cycle keep their TTL"},
	{"ttl-in-dlq", "true or false: the TTL of a queue applies to dead letters"},
	{"dlx-by-argument-only", "true or false: ignore dead-letter exchanges in policies"},
	{"strict-names", "true or false: restrict queue names to letters, digits and -_.#/@"},
	{"dead-letter-queues", "JSON object of queue names: true marks a dead-letter queue, false none; null removes a mark"},
}

// LogLevel is the body of PUT /api/x/log-level.
type LogLevel struct {
	Level    string `json:"level"`              // debug, info, notice, warning, error, critical, none
	Category string `json:"category,omitempty"` // connection, channel, queue, …; empty: all
}
