package listener

import (
	"crypto"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// signingPatience is how long a handshake waits for its signature. Its client has gone by then, or soon will have.
const signingPatience = 5 * time.Second

// errSigningBusy ends a handshake that has waited for its signature for too long.
var errSigningBusy = errors.New("TLS: too many handshakes at the same time")

// A Signing bounds how many signatures with private keys are made at a time. A signature is what a handshake costs, and
// strangers ask for it: the processor cores that make none are there for the clients that are connected. Who waits
// holds nothing but its own connection. Its methods may be called by any goroutine.
type Signing struct {
	slots chan struct{}
	waits atomic.Uint64
}

// NewSigning returns a bound of so many signatures at a time.
func NewSigning(atOnce int) *Signing {
	return &Signing{slots: make(chan struct{}, atOnce)}
}

// Waits counts the handshakes that have waited for others.
func (s *Signing) Waits() uint64 { return s.waits.Load() }

// key is a private key that is used within the bound. Keys of other kinds than crypto.Signer stay what they are.
func (s *Signing) key(k crypto.PrivateKey) crypto.PrivateKey {
	signer, ok := k.(crypto.Signer)
	if s == nil || !ok {
		return k
	}
	bounded := boundedSigner{signer, s}
	if decrypter, ok := k.(crypto.Decrypter); ok {
		return boundedDecrypter{bounded, decrypter}
	}
	return bounded
}

// enter waits for a slot.
func (s *Signing) enter() error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	s.waits.Add(1)
	timer := time.NewTimer(signingPatience)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return errSigningBusy
	}
}

func (s *Signing) leave() { <-s.slots }

type boundedSigner struct {
	crypto.Signer
	in *Signing
}

// Sign implements crypto.Signer.
func (k boundedSigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if err := k.in.enter(); err != nil {
		return nil, err
	}
	defer k.in.leave()
	return k.Signer.Sign(rand, digest, opts)
}

// A boundedDecrypter is an RSA key: the old key exchange of TLS 1.2 decrypts with it, at the same cost.
type boundedDecrypter struct {
	boundedSigner
	decrypter crypto.Decrypter
}

// Decrypt implements crypto.Decrypter.
func (k boundedDecrypter) Decrypt(rand io.Reader, text []byte, opts crypto.DecrypterOpts) ([]byte, error) {
	if err := k.in.enter(); err != nil {
		return nil, err
	}
	defer k.in.leave()
	return k.decrypter.Decrypt(rand, text, opts)
}
