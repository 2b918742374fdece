// Package amqp is the vocabulary of AMQP 0-9-1 as RabbitMQ speaks it: field tables, the basic properties, reply codes
// and the refusals that carry them.
//
// It promises that what is decoded and encoded again means the same to a client, and that no input, however
// malformed, makes it panic or allocate more than about a hundred octets per octet present. Frames and methods are left
// to package wire, meaning of arguments to those who own the objects.
//
// Invariants:
//   - A declared length is compared with the octets present before anything is allocated.
//   - Nesting of tables and arrays is bounded by depthMax.
//   - Decoded values own their memory; a PropertyScan borrows that of its input.
//   - The order of fields, and duplicate names, survive decoding and encoding.
//
// Begin reading at Value, then Properties and PropertyScan, then Error.
package amqp
