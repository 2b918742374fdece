// Package topology holds the exchanges and bindings of one vhost and answers where a message goes.
//
// It owns names, kinds and bindings, and the matching of routing keys and headers. It promises:
//   - Route names each queue once, however many keys, bindings and exchange-to-exchange paths lead there, visits each
//     exchange once, and ends.
//   - Everything is deterministic: results come in binding order or sorted by name, never in the order of a map. Two
//     topologies that were told the same, in the same order, answer the same; so does one rebuilt from Exchanges
//     and Bindings of another.
//   - Changes cannot fail: what a change needs to be valid is asked before (CheckExchange, CheckBinding,
//     Exchange, Queue, HasBindingsFrom), and a change that does not apply changes nothing.
//   - Route allocates nothing in the steady state, unless it must look into headers or properties.
//   - Chance comes from outside, with the message: equal entropy, equal choice.
//
// It leaves to its owner: permissions, reserved names, equivalence of declarations, deleting the auto-delete
// exchanges it reports, policies (the owner sets the effective alternate exchange), whether a binding is durable (it is
// if both its ends are), and everything about what queues hold. A queue here is a name and a number.
//
// Invariants, checked by the tests:
//   - A binding is in its source's list, in its destination's list and in its source's matcher, or nowhere.
//   - Both ends of a binding exist; the default exchange is neither.
//   - Lists of bindings are in the order of binding.
//
// Begin reading at Topology, then Route. A new kind of exchange is a constant, a row in the table of kinds and a
// matcher.
//
// A Topology belongs to one goroutine at a time, Route included: it keeps its working memory between calls.
package topology
