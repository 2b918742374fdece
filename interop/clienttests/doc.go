// Command clienttests runs the tests that the authors of clients publish with their packages, and compares what fails
// with the lists in the directory expected.
//
//	clienttests [-binary FILE | -rabbitmq] [-get] [-list] [SUITE...]
//
// Each suite gets a fresh broker in a network of its own, so the tests find it on the usual ports, 5672 and 15672, and
// several runs do not meet. unshare makes that network, as root or in a user namespace.
//
// A suite passes if exactly those tests fail that its list names. A test that fails and is not in the list is a
// failure. So is a listed test that passes or that no longer exists; so the lists stay true. Nothing of the packages is
// committed: each suite fetches a pinned version with the usual client of its registry into build/interop/clienttests.
package main
