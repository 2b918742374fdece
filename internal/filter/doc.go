// Package filter decides which messages are meant: the filter language of searches, redrives and discards, and the keys
// by which messages are grouped.
//
//	reason:expired queue:orders.* age:>1h -header.tenant:acme "connection refused" body.$.order.id:42
//
// It owns the syntax, its errors, what each field means of a Message, and the normal form of exception texts. It
// promises that the same text, instant and message give the same answer everywhere; that no text and no message makes
// it panic; that what a filter costs per message is bounded by limits.go; and that Parse of Filter.String is the same
// filter. Where messages come from, which of them may be seen, and how much of them is looked through is left to
// others.
//
// Invariants:
//   - Nothing is kept of a Message, and nothing in it changed.
//   - Time enters by Parse alone: ages are turned into instants there.
//   - A term reads of a Message only what its Need tells.
//   - The filter of a group finds the messages of that group and no others.
//
// Begin reading at Parse, then Filter, then Grouping.
package filter
