//go:build linux

package violence

import "testing"

// If this fails, the end of the process loses what was confirmed, doubles a dead letter, undoes what was acked long
// before, mixes up an order, or forgets who had a message.
func TestKillConfirmed(t *testing.T) {
	s := newSiege(t, "")
	s.run(*rounds, ordinaryDeck)
	s.close()
}

// If this fails, the same happens where the disk is full at times.
func TestKillOnFullDisk(t *testing.T) {
	s := newSiege(t, smallDisk(t, 256<<20))
	s.run(1+*rounds/5, diskDeck)
	s.close()
}
