package listener

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes a certificate, signed by a, or by itself if a is nil.
func issue(t *testing.T, by *authority, name string, isCA bool) (*authority, []byte, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func write(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shake is one handshake; it returns whom the client has met.
func shake(t *testing.T, s *Certificates, client *tls.Config) (server string, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := tls.NewListener(l, s.Config()).Accept()
		if err == nil {
			err = c.(*tls.Conn).HandshakeContext(t.Context())
			defer c.Close()
		}
		served <- err
	}()
	c, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: client}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err == nil {
		server = c.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
		defer c.Close()
	}
	return server, errors.Join(err, <-served)
}

func TestReload(t *testing.T) {
	// If this fails, renewed certificates need a restart, or broken ones stop the broker from being reached.
	t.Parallel()
	dir := t.TempDir()
	_, cert, key := issue(t, nil, "old", false)
	o := TLS{CertFile: write(t, dir, "cert", cert), KeyFile: write(t, dir, "key", key), Depth: -1}
	var changes []error
	s, err := OpenCertificates(o, nil, func(err error) { changes = append(changes, err) })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.now = func() time.Time { return now }
	trusting := &tls.Config{InsecureSkipVerify: true}
	meets := func(want string) {
		t.Helper()
		if got, err := shake(t, s, trusting); err != nil || got != want {
			t.Errorf("met %q, %v, want %q", got, err, want)
		}
	}
	meets("old")
	_, cert, key = issue(t, nil, "new one", false)
	write(t, dir, "cert", cert)
	meets("old") // not looked at yet
	now = now.Add(checkEvery)
	meets("old") // the key does not belong to it
	if len(changes) != 1 || changes[0] == nil {
		t.Fatalf("told of %v", changes)
	}
	write(t, dir, "key", key)
	now = now.Add(checkEvery)
	meets("new one")
	if len(changes) != 2 || changes[1] != nil {
		t.Fatalf("told of %v", changes)
	}
	write(t, dir, "key", []byte("nothing"))
	if err := s.Reload(); err == nil {
		t.Error("a key that is none was read")
	}
	meets("new one")
}

func TestFilesThatDoNotAnswer(t *testing.T) {
	// If this fails, a file system that hangs keeps clients from connecting with the certificate that is there.
	t.Parallel()
	dir := t.TempDir()
	_, cert, key := issue(t, nil, "there", false)
	files := TLS{CertFile: write(t, dir, "cert", cert), KeyFile: write(t, dir, "key", key), Depth: -1}
	s, err := OpenCertificates(files, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	began, end := make(chan struct{}, 1), make(chan struct{})
	s.read = func(o *TLS) reading {
		began <- struct{}{}
		<-end
		return o.reading()
	}
	reloaded := make(chan error, 1)
	go func() { reloaded <- s.Reload() }()
	<-began
	if got, err := shake(t, s, &tls.Config{InsecureSkipVerify: true}); err != nil || got != "there" {
		t.Errorf("met %q, %v", got, err)
	}
	if _, expires := s.Certificate(); expires.IsZero() {
		t.Error("the certificate is not known")
	}
	close(end)
	if err := <-reloaded; err != nil {
		t.Error(err)
	}
}

func TestPeers(t *testing.T) {
	// If this fails, a client gets in whose certificate nobody vouches for, or one is kept out that may come.
	t.Parallel()
	dir := t.TempDir()
	ca, caCert, _ := issue(t, nil, "authority", true)
	middle, middleCert, _ := issue(t, ca, "middle", true)
	other, _, _ := issue(t, nil, "other", true)
	_, cert, key := issue(t, ca, "server", false)
	o := TLS{CertFile: write(t, dir, "cert", cert), KeyFile: write(t, dir, "key", key), CAFile: write(t, dir, "ca", caCert), VerifyPeer: true, Depth: -1}
	client := func(by *authority, more ...[]byte) *tls.Config {
		_, cert, key := issue(t, by, "client", false)
		for _, m := range more {
			cert = append(cert, m...)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		// MaxVersion: with 1.3 the client learns of a refusal only when it reads.
		c := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		return c
	}
	none := &tls.Config{InsecureSkipVerify: true}
	for name, c := range map[string]struct {
		change func(*TLS)
		client *tls.Config
		passes bool
	}{
		"good":                     {nil, client(ca), true},
		"of another":               {nil, client(other), false},
		"none":                     {nil, none, true},
		"none, but needed":         {func(o *TLS) { o.NeedPeer = true }, none, false},
		"not asked":                {func(o *TLS) { o.VerifyPeer = false }, client(other), true},
		"one between":              {nil, client(middle, middleCert), true},
		"one between, but depth 0": {func(o *TLS) { o.Depth = 0 }, client(middle, middleCert), false},
		"depth 0":                  {func(o *TLS) { o.Depth = 0 }, client(ca), true},
		"1.3 only":                 {func(o *TLS) { o.Versions = []string{"tlsv1.3"} }, client(ca), false},
		"1.2 only":                 {func(o *TLS) { o.Versions = []string{"tlsv1.2"} }, client(ca), true},
		"cipher": {func(o *TLS) {
			o.Versions, o.Ciphers = []string{"tlsv1.2"}, []string{"ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_AES_128_GCM_SHA256"}
		}, client(ca), true},
	} {
		o := o
		if c.change != nil {
			c.change(&o)
		}
		s, err := OpenCertificates(o, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := shake(t, s, c.client); (err == nil) != c.passes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	// If this fails, a broker starts without the protection that was asked for, or its operator is not told what is
	// wrong.
	t.Parallel()
	dir := t.TempDir()
	_, cert, key := issue(t, nil, "x", false)
	_, _, otherKey := issue(t, nil, "y", false)
	good := TLS{CertFile: write(t, dir, "cert", cert), KeyFile: write(t, dir, "key", key), Depth: -1}
	locked := write(t, dir, "locked", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}))
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*TLS){
		"certfile is not set":                 func(o *TLS) { o.CertFile = "" },
		"keyfile is not set":                  func(o *TLS) { o.KeyFile = "" },
		"no such file":                        func(o *TLS) { o.CertFile = filepath.Join(dir, "none") },
		"is not a regular file":               func(o *TLS) { o.CertFile = dir },
		"does not match":                      func(o *TLS) { o.KeyFile = write(t, dir, "other", otherKey) },
		"is encrypted":                        func(o *TLS) { o.KeyFile = locked },
		"requires cacertfile":                 func(o *TLS) { o.VerifyPeer = true },
		"contains no certificate":             func(o *TLS) { o.VerifyPeer, o.CAFile = true, o.KeyFile },
		"requires verify = verify_peer":       func(o *TLS) { o.NeedPeer = true },
		`version "tlsv1.1"`:                   func(o *TLS) { o.Versions = []string{"tlsv1.1"} },
		"not known, or not considered secure": func(o *TLS) { o.Ciphers = []string{"RC4-SHA"} },
	} {
		o := good
		change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s: %v", want, err)
		}
	}
}
