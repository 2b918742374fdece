//go:build linux

package crashtest

import "testing"

// If this fails, the end of the process loses a confirmed message, duplicates a dead letter, returns a message that was
// acked long before, changes the order, or loses the redelivered flag of a message.
func TestKillConfirmed(t *testing.T) {
	s := newSiege(t, "")
	s.run(*rounds, ordinaryDeck)
	s.close()
}

// If this fails, the same happens when the disk is full at times.
func TestKillOnFullDisk(t *testing.T) {
	s := newSiege(t, smallDisk(t, 256<<20))
	s.run(1+*rounds/5, diskDeck)
	s.close()
}
