// Suites runs the project's test suites one after the other and counts what passed.
//
//	suites                    every suite of `make test`
//	suites unit lint          these
//	suites -- -interop        every suite of `make test` but this
//	suites soak               one of the long runs, which are never part of `make test`
//	suites -list              their names
//
// It promises: a suite that cannot run has failed; a suite that ran no test has failed; a test that was skipped has
// failed, except in unit, where the tests that need a running broker stand aside; nothing that a suite started
// outlives it, except what has left its process group. Each suite's whole output is in build/logs/NAME.log; the
// terminal shows progress, then what failed, then one line per suite, `NAME: N passed, N failed (12.3s)`, then the
// total alone, `N passed, N failed`. The exit code is 0 if nothing failed, 1 if something did, 2 for a wrong name.
//
// It is started in the repository's root, by the Makefile. suites.go is the table to extend; count.go says how each
// kind of output is counted.
package main
