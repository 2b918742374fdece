// Package queue is one queue: the order of its messages, what is ready and what is unacked, its limits and
// deadlines, and who takes the next message.
//
// It has two halves that do not know each other. Messages is what facts change: every copy that the queue
// holds, by Seq. Consumers is connected state: who listens, with what credit, and whose turn it is. The
// rules that join them, and everything that concerns more than one queue, live in package vhost.
//
// Invariants:
//   - an entry is in exactly one State; Gone entries are forgotten;
//   - Head is the oldest ready entry of the highest priority that has one;
//   - a returned entry is where it was before it was taken;
//   - Ready and Unacked, and their bytes, equal what a walk over the entries finds (Check).
//
// The package reads no clock and knows no exchanges, no other queue and no log.
package queue
