// Package conformance holds what an AMQP 0-9-1 client may rely on, as cases that run against any broker: Bartleby,
// or a real RabbitMQ, which is the judge of what RabbitMQ does.
//
// A case is a value: topic and section of the rule, the rule in a sentence, and a function that shows it. Where the
// two products or two series of RabbitMQ differ, the case says so in its data (Since, Differs) and asserts the
// behaviour of the side it is talking to; it is never left out.
//
// The package is black box: it knows Bartleby only by URL and imports nothing of it. Everything lives in test files.
//
//	go test ./conformance                                          checks the case table only
//	go test ./conformance -amqp URL -http URL -series 3.10         runs every case
//
// Begin reading at case_test.go. README.md lists the differences found.
package conformance
