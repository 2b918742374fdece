// Package engine runs the machines: one runner per vhost stamps commands, steps them, appends what they
// left to the node's journal, and lets effects go when what they depend on is safe. It asks authz for
// permission; it starts vhosts from the log and starts them anew when the log loses a write.
// It speaks no protocol: frontends attach to it.
//
// A runner has one owner at a time: its own goroutine, or whoever submits a small batch to a vhost that is
// idle. One more goroutine, the log writer, writes and syncs the journal for all. Batches, and indexes that have
// become safe, are all that passes between them. What the log writer must not wait for, checkpoints, giving space back,
// making it ready ahead of need, maintenance does beside it. The resource monitor checks memory and disk, and raises
// the alarms that hold publishers back.
//
// Order and promises:
//   - commands of one session are stepped in the order in which they were submitted;
//   - effects of one channel leave in the order in which they were emitted, each not before its After is
//     safe; effects of different channels do not wait for each other;
//   - a runner waits for its inbox, the log and the clock, never for a frontend;
//   - "safe" is what the vhost's way of syncing calls so (docs/durability.md);
//   - after a failed write or sync the vhosts that have lost something confirm nothing more: their connections close, and
//     they open again at what was safe. The others go on.
//
// Begin reading at runner.run.
package engine
