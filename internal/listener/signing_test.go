package listener

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// heldSigner signs when it is let.
type heldSigner struct {
	crypto.Signer
	begun chan struct{}
	let   chan struct{}
}

func (h heldSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	h.begun <- struct{}{}
	<-h.let
	return []byte("signed"), nil
}

func TestFewSignaturesAreMadeAtATime(t *testing.T) {
	// If this fails, strangers who begin many handshakes occupy all processor cores, or a handshake waits without end.
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := heldSigner{nil, make(chan struct{}, 40), make(chan struct{})}
		s := NewSigning(2)
		// Each listener wraps a key of its own.
		keys := []crypto.Signer{s.key(held).(crypto.Signer), s.key(held).(crypto.Signer)}
		done := make(chan error, 40)
		begin := func(n int) {
			for i := range n {
				go func() {
					_, err := keys[i%2].Sign(nil, nil, crypto.Hash(0))
					done <- err
				}()
			}
			synctest.Wait()
		}
		begin(20)
		if begun, waits := len(held.begun), s.Waits(); begun != 2 || waits != 18 {
			t.Errorf("%d signatures at a time, %d wait; want 2 and 18", begun, waits)
		}
		for range 20 {
			held.let <- struct{}{}
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		begin(3)
		if err := <-done; !errors.Is(err, errSigningBusy) {
			t.Errorf("after %v of waiting: %v", signingPatience, err)
		}
		close(held.let)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBoundedKeysServeAllHandshakes(t *testing.T) {
	// If this fails, clients of some version of TLS or with an old cipher are refused, because the bound of signatures
	// hides what the key can do; or handshakes do not come under the bound.
	t.Parallel()
	_, cert, key := issue(t, nil, "one", false)
	dir := t.TempDir()
	o := TLS{CertFile: write(t, dir, "cert", cert), KeyFile: write(t, dir, "key", key), Depth: -1}
	signing := NewSigning(1)
	s, err := OpenCertificates(o, signing, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client := &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}
		if _, err := shake(t, s, client); err != nil {
			t.Errorf("version %x: %v", version, err)
		}
	}
	if _, ok := s.current().Certificates[0].PrivateKey.(boundedSigner); !ok {
		t.Error("the key of the certificate signs without a bound")
	}
	secret, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &secret.PublicKey, []byte("premaster"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, ok := signing.key(secret).(crypto.Decrypter)
	if !ok {
		t.Fatal("an RSA key decrypts no more")
	}
	got, err := d.Decrypt(rand.Reader, text, &rsa.OAEPOptions{Hash: crypto.SHA256})
	if err != nil || string(got) != "premaster" {
		t.Errorf("decrypted %q, %v", got, err)
	}
}
