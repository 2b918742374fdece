// Package api holds each JSON shape of the management API once, and a client of it. The package management renders the
// shapes; the command line, the console's tests and other programs read them. Each file has the shapes of one subject.
//
// Names and types of RabbitMQ's own are kept exactly; ours are added, never substituted, and live under
// /api/x. Three rules that strict clients rely on are built into the types: an empty table is {} and an empty list
// [], never null; integers stay integers; what a queue or exchange was declared with comes back exactly so.
//
// The package does not know how an answer is computed, who may ask, or which route leads where.
//
// Shapes with a plain name (Queue, User) are what a GET shows. Those beginning with Put or Post are request bodies;
// a pointer or nil in them is a key that was not given.
package api
