// Package amqpserver is the AMQP 0-9-1 frontend: it accepts connections, leads them through handshake and login, turns
// frames into commands for the engine and effects into frames.
//
// It promises that a client gets the refusal that RabbitMQ would send, on the channel or the connection; that answers
// leave in the order of the effects; that a message which did not arrive whole is not published; and that nothing a
// client sends, or fails to read, takes more memory than limits.go says. Close returns when every goroutine is gone.
//
// It leaves every rule of exchanges, queues, consumers and settlements to package vhost, permissions to the engine,
// the codec to package wire. The only protocol state kept here is which channel numbers are open, contents that have
// not arrived whole, and closing.
//
// A connection has one or two goroutines and lends itself to another:
//
//	reader   owns input, the channel numbers and half-read contents; the only one to attach and to detach.
//	writer   sends what lies in the outbox, and gives window back. It starts when the kernel does not take something
//	         at once.
//	engine   calls Emit and Flush of the encoder, from whichever goroutine owns the vhost, never from two at once;
//	         what is small, and finds the writer idle, it writes itself as far as that takes no waiting.
//
//	socket ──reader: input ─frames─▶ commands ─Submit─▶ engine ─Emit, Flush─▶ encoder ─chunks─▶ outbox ──writer─▶ socket
//
// Invariants:
//   - The commands of one read are one batch; what they point to is the read's buffer, which comes back with Free. The
//     reader pauses while the engine has batchesUnderWayMax of them.
//   - Nothing is sent after connection.close, save close-ok: the outbox is sealed.
//   - On a channel that the broker closed, nothing is sent until its number is opened anew.
//   - The encoder never waits: the outbox takes what the window and the reader's pause allow to exist.
//
// Begin reading at Server, then conn.serve.
package amqpserver
