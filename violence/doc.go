// Package violence does to the real binary what the world does to brokers: it kills it with signal 9 under load, fills
// its disk, stops reading from it, sends it garbage; then the books must balance.
//
// The package is black box: it knows Bartleby as a process, by its command line, its output and its sockets, and imports
// nothing of it. It owns the ledger of what clients were told and what they saw, and the judgement of what may be
// where after a crash. What cannot be seen from outside, such as a crash between two calls of the disk or a sync that
// was skipped, belongs to the simulation: a killed process leaves the page cache behind.
//
//	go test ./violence -run Kill                     kill -9 under load: under a minute
//	go test ./violence                               everything
//	go test ./violence -args -seed 7 -rounds 100     other dice, for longer
//	go test ./violence -args -binary build/bartleby  a binary that is there already, else it is built
//
// Everything lives in test files and needs Linux; the tests of a full disk mount a small one, which takes root. Begin reading at kill_test.go, then ledger_test.go.
package violence
