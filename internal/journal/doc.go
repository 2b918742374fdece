// Package journal is the node's one segment log, with every logical log in it.
//
// A logical log is a sequence of batches, numbered from 1 without gaps. The journal appends groups of batches of any
// logs, makes them safe with one sync, finds and verifies them again, keeps one checkpoint per log, and gives space
// back. It does not know what is in a batch.
//
// # Promises
//
//   - What Sync reported safe survives a crash, whole and in order; what it did not may be cut, whole batches from the
//     end of each log, never from the middle, and never something that was not written.
//   - Of a log of pages, a start may cut those that no checkpoint names, safe or not.
//   - A storage.Ref means the same bytes for as long as they are called live, wherever they lie by then.
//   - Damage to what was safe is told from an unfinished tail: the first is a Fault, the second is cut and reported.
//   - A full disk changes nothing and loses nothing; with the reserve it can still be drained.
//   - Reclaim and Rewriting give nothing back that a checkpoint does not cover or that their caller calls live. Logs of
//     pages need no checkpoint: what counts in them is live, and nothing else.
//
// # What it leaves to others
//
// The journal is passive: no goroutine, no lock, no clock, no dice, no logging. The engine guards it with a lock, and
// makes its changes as tasks, in which the lock is free while the disk works (task.go): one task that writes, one of
// maintenance and any number of calls that read go on side by side. The doc of Journal says which is which.
//
// # Invariants
//
//   - Only one segment is open; everything in the others, below their end, is safe. Before the first group of a segment
//     is written, all of the one before it is safe.
//   - Writing needs no manifest: the segments that it goes on in are named ahead (roll.go).
//   - A segment is written front to back, once, under one nonce. After a restart or a failure the next group goes to
//     another segment, or, where few are left after a restart, behind the last group that counts
//     once all behind that is cleared (resume.go). So what a cut left behind is never behind
//     something new.
//   - The manifest names a file before anything depends on it, and stops naming it before it is touched again.
//   - Of a log, a segment holds an unbroken run of batches, unless it is damaged or rewritten, or a batch cuts others
//     (cut.go). A rewritten one holds pieces of batches, in spans within which no other segment has a batch of
//     that log.
//
// Begin reading at Open (open.go, scan.go), then Write and Sync (write.go), then how segments follow each other
// (roll.go), Reserve and Prepare (space.go) and Reclaim (reclaim.go), then Rewriting (rewrite.go, copy.go) and what it
// leaves (segment/partial.go). Look, Verify and Mend (look.go, verify.go, repair.go) are for a check and a repair.
// docs/format/journal.md draws every byte.
package journal
