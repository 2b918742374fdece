// Package perf is the load generator behind `bartleby perf`: it measures any AMQP 0-9-1 broker, ours or another, and
// checks every message while doing so.
//
// It owns a client made for nothing else, which costs the machine it shares with the broker little: large buffers, many
// messages per system call, one goroutine per direction, nothing allocated per message. What a flow of messages means
// is left to the scenarios, one file each: flow.go (throughput, latency), deadletter.go, expire.go, delay.go,
// backlog.go, settle.go (settle, halve), restart.go; and what is no flow to declare.go, idle.go, disk.go.
//
//	publisher ──▶ queue(s) ──▶ consumer ──▶ ledger
//	    ▲ gates: confirms outstanding, messages outstanding, pace
//
// Every body begins with 16 octets: the number of its stream (16 bits) and its place in it (48 bits), then an instant
// in nanoseconds whose meaning the scenario gives: when the message was meant to be sent, or when it is due. A stream
// is what one publisher sends to one queue, numbered from 0 without gaps; so what never came, came twice or came in the
// wrong order is known exactly.
//
// Invariants:
//   - A latency counts from the instant at which the message was meant to be sent, not from when the generator got
//     around to it: a broker that stalls the sender does not look better for it. A lateness counts from the instant
//     just before the message was written, plus what it said it shall wait: nothing else is promised.
//   - A rate and a CPU time concern the same stretch of time, after the warm-up; the books cover everything, the
//     warm-up and what arrives at the end included.
//   - A run whose books do not balance fails, and so does one in which a message came before it was due.
//
// Begin reading at Main, then flow.go.
package perf
