// Package cluster makes the replicas of a virtual host's log agree, by Raft. It is passive: it has no goroutine, no
// clock, no disk and no network; who drives it passes times and messages in.
package cluster
