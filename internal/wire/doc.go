// Package wire turns AMQP 0-9-1 frames, methods and content headers into bytes and back.
//
// Everything takes from a byte slice or appends to one; package wire does no I/O, starts no goroutine and knows no
// queue. Field tables and properties belong to package amqp; what a frame means in the state of a connection or
// channel, to the door.
//
//	frame:   type(1) channel(2) size(4) payload(size) 0xCE
//	method:  class(2) method(2) arguments          bits share octets, the first in the lowest bit
//	header:  class(2) weight(2)=0 body-size(8) flags(2) properties
//	body:    any part of the body
//
// Invariants:
//   - A declared length is compared with the octets present before anything is allocated.
//   - No input makes a decoder panic; refusals are *amqp.Error.
//   - What ends in View, and Frame and ContentHeader, borrow the memory of their input; methods own theirs.
//   - Frame, publish, deliver, ack, nack and reject are decoded and appended without allocating.
//
// The structs of the methods, in gen_*.go, are generated from the protocol description. Begin reading at ParseFrame,
// ParseMethod and AppendMethod.
package wire

//go:generate go run ./gen
