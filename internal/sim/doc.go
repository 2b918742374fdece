// Package sim lives a broker's life in one thread, from one seed: the virtual host's machine, the journal below
// it, a disk in memory that fails and loses power, and clients that publish, consume, settle and vanish. It plays
// the engine's part (stamp, step, seal, append, write, sync, release; pages, checkpoints, giving space back) without
// goroutines and without a clock.
//
//	workload ─Command─▶ node ─▶ vhost.Step ─facts, effects─▶ audit (the checkers, the ledger)
//	                     │                                        │
//	                     ├─pages, batches─▶ journal ─▶ disk (vfs.Mem behind vfs.Faulty)
//	                     └─effects whose batch is safe─▶ clients
//
// The ledger (package ledger) is the slow and obvious version of what queues hold, applied from the facts by a handful
// of lines of its own. One follows the live machine; another follows what the log says is safe. After each crash,
// failed sync and clean stop the machine that was opened again must hold what the second one holds, and what a
// machine holds that has applied all that is safe since the beginning.
//
// The machine has space for little: what it does not use goes to pages. Maintenance runs a portion at
// a time, with traffic, crashes and failures between the portions and in the middle of them
// (maintenance.go). The disk loses power at any call, fails once or for good, runs full, and changes
// what lies on it (plan.go, damage.go, drain.go).
//
// What waits in delayed exchanges, and in queues for a time of delivery, is followed from the publish to whatever is
// there when it is due (schedule.go, fire.go); what clients were told of it has to stay true (commanded.go).
//
// Every check has a name (Checker); a failure is a Violation that carries the name and the seed. The same seed
// gives the same history, to the bit. Package mutants plants faults and demands that the check of that name,
// and no other, is the one to notice.
//
// Begin reading at Run.
package sim
