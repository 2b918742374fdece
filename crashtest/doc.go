// Package crashtest does to the real binary what the world does to brokers: it kills it with signal 9 under load, stops
// it with SIGSTOP, asks it to end with SIGTERM, fills its disk, stops reading from it, sends it garbage; then the books
// must balance.
//
// The package is black box: it knows Bartleby as a process, by its command line, its output and its sockets, and
// imports nothing of it. It owns the ledger of what clients were told and what they saw, and the judgement of what may
// be where after a crash. What cannot be seen from outside, such as a crash between two calls of the disk or a sync
// that was skipped, belongs to the simulation: a killed process leaves the page cache behind.
//
// A siege is one data directory, round by round: a mixed load, a blow from a shuffled deck, a restart (which may itself
// be killed), and an audit that looks at every message there is. What an audit holds against the books:
//
//   - what was confirmed or delivered is there, once, until somebody settles it; a dead letter is in its
//     source or where
//     it belongs, never in both, never in neither, lost and held ones included;
//   - what was acked or rejected more than lateMax before the end does not come back, nor what a later answer proved;
//     what had gone stays away;
//   - what was handed over is marked redelivered, what was not is not;
//   - messages of one publisher are in their order, dead letters in the order of their deaths;
//   - a delayed message waits or has come, never both, whatever the process went through; it does not come before its
//     instant, nor after the answer that it was cancelled; it has come where the answer is that it was too late;
//   - transient messages go with the process, and do not if it lives;
//   - queues, bindings and policies are as the last answer said.
//
// How to run it:
//
//	go test ./crashtest -run Kill -args -rounds 10    sieges of ten kills: about a minute
//	go test ./crashtest -args -rounds 50              everything
//	go test ./crashtest -args -rounds 50 -seed 7      other dice; a seed fixes the blows and their moments, not the scheduler
//	go test ./crashtest -run FullDiskTrials -args -rounds 1 -trials 20   small disks that others fill; -seed and -trials 1 repeat one
//	go test ./crashtest -args -rounds 1 -binary build/bartleby  a binary that is there already, else it is built
//
// A siege that fails leaves the data, its trace and the broker's output in a directory that it names.
//
// Everything lives in test files and needs Linux; tests of a full disk mount a small one, which takes root, and are
// skipped without. Begin reading at kill_test.go, then siege_test.go, load_test.go, ledger_test.go; for delays
// delayed_test.go.
package crashtest
