package bartleby

import (
	"crypto/rand"
	"encoding/hex"
)

func newSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (b *Broker) listenHTTP(secret string) error { return nil }
