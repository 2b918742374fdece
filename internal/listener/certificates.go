package listener

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// TLS names the files of a certificate and says what clients must have: the options that RabbitMQ has. Source: RabbitMQ
// ssl, ssl_options.
type TLS struct {
	CertFile, KeyFile string // PEM; the certificate first, then the intermediate ones
	CAFile            string // PEM; the authorities that clients' certificates are checked against
	VerifyPeer        bool   // ask clients for a certificate, and check it
	NeedPeer          bool   // refuse those that have none; with VerifyPeer
	// intermediate certificates of a client at most; negative: no limit but that of the library
	Depth    int
	Versions []string
	Ciphers  []string // of TLS 1.2, by the names of IANA or OpenSSL; empty: those that are considered secure
}

// How often a handshake may lead to a look at the files, how long that handshake waits for it, and how long somebody
// who asked for one does: a file system may not answer.
const (
	checkEvery        = 10 * time.Second
	handshakePatience = time.Second
	reloadPatience    = 10 * time.Second
)

// errNoAnswer is of a file system that does not answer.
var errNoAnswer = errors.New("TLS: cannot read the certificate files: their file system does not respond")

// Certificates are a certificate and what belongs to it, as they are in the files now. A handshake uses a certificate
// and a key that belong together; a change that cannot be used leaves the old ones in use; clients' certificates are
// checked as the options say; TLS 1.2 is the oldest version. Its methods may be called by any goroutine. None of them
// waits for a file system that does not answer for longer than 10 s.
type Certificates struct {
	options TLS
	signing *Signing
	changed func(error)
	now     func() time.Time
	read    func(*TLS) reading

	mu struct {
		sync.Mutex
		config *tls.Config
		looked time.Time
		stamps []stamp
		look   *look // under way; nil: none is
	}
}

// A look at the files is taken by a goroutine of its own.
type look struct {
	done chan struct{} // closed when err is what became of it
	err  error
}

// reading is what was in the files.
type reading struct {
	config *tls.Config
	stamps []stamp
	err    error
}

// stamp tells whether a file is the one that was read.
type stamp struct {
	at   time.Time
	size int64
}

// OpenCertificates reads the files. The private key signs within the bound of signing, if that is not nil. Changed is
// called after each later reading that a change of the files led to, with the error if they could not be used; it may
// be nil.
func OpenCertificates(o TLS, signing *Signing, changed func(error)) (*Certificates, error) {
	if changed == nil {
		changed = func(error) {}
	}
	s := &Certificates{options: o, signing: signing, changed: changed, now: time.Now, read: (*TLS).reading}
	return s, s.Reload()
}

// Reload reads the files again. On error what was read before stays in force.
func (s *Certificates) Reload() error {
	until := time.After(reloadPatience)
	for {
		s.mu.Lock()
		under := s.mu.look // it may have begun before the files were as they are
		l := under
		if l == nil {
			l = s.begin(true)
		}
		s.mu.Unlock()
		select {
		case <-l.done:
		case <-until:
			return errNoAnswer
		}
		if under == nil {
			return l.err
		}
	}
}

// begin begins a look, at all there is or at what has changed. s.mu is held.
func (s *Certificates) begin(all bool) *look {
	l := &look{done: make(chan struct{})}
	s.mu.look, s.mu.looked = l, s.now()
	before := s.mu.stamps
	go func() {
		var r reading
		changed := all || !slices.Equal(s.options.stamps(), before)
		if changed {
			if r = s.read(&s.options); r.err == nil {
				own := &r.config.Certificates[0]
				own.PrivateKey = s.signing.key(own.PrivateKey)
			}
		}
		s.mu.Lock()
		if s.mu.look = nil; changed {
			s.mu.stamps = r.stamps
			if l.err = r.err; r.err == nil {
				s.mu.config = r.config
			}
		}
		s.mu.Unlock()
		if changed && !all {
			s.changed(l.err)
		}
		close(l.done)
	}()
	return l
}

// Config is for tls.NewListener or an http.Server: each handshake takes what is in the files then, looked at every ten
// seconds at most.
func (s *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current(), nil },
		// Never used, for GetConfigForClient has the last word; net/http asks for one of the two.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.current().Certificates[0], nil },
	}
}

func (s *Certificates) current() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.look == nil && s.now().Sub(s.mu.looked) >= checkEvery {
		l := s.begin(false)
		s.mu.Unlock()
		select {
		case <-l.done:
		case <-time.After(handshakePatience):
		}
		s.mu.Lock()
	}
	return s.mu.config
}

// Certificate tells from which file the certificate in force is, and until when it is valid.
func (s *Certificates) Certificate() (file string, expires time.Time) {
	if leaf := s.current().Certificates[0].Leaf; leaf != nil {
		expires = leaf.NotAfter
	}
	return s.options.CertFile, expires
}

func (o *TLS) stamps() []stamp {
	var all []stamp
	for _, name := range []string{o.CertFile, o.KeyFile, o.CAFile} {
		if name == "" {
			continue
		}
		var one stamp
		if f, err := os.Stat(name); err == nil {
			one = stamp{f.ModTime(), f.Size()}
		}
		all = append(all, one)
	}
	return all
}

func (o *TLS) reading() reading {
	stamps := o.stamps()
	c, err := o.config()
	return reading{c, stamps, err}
}

// Check reports why the files cannot be used, if they cannot.
func (o *TLS) Check() error {
	_, err := o.config()
	return err
}

// config reads the files and checks the options.
func (o *TLS) config() (*tls.Config, error) {
	switch {
	case o.CertFile == "":
		return nil, errors.New("TLS: certfile is not set")
	case o.KeyFile == "":
		return nil, errors.New("TLS: keyfile is not set")
	case o.NeedPeer && !o.VerifyPeer:
		return nil, errors.New("TLS: fail_if_no_peer_cert requires verify = verify_peer")
	case o.VerifyPeer && o.CAFile == "":
		return nil, errors.New("TLS: verify = verify_peer requires cacertfile")
	}
	pair, err := o.pair()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if err := o.setVersions(c); err != nil {
		return nil, err
	}
	if c.CipherSuites, err = suites(o.Ciphers); err != nil {
		return nil, err
	}
	if o.VerifyPeer {
		return c, o.setPeers(c)
	}
	return c, nil
}

func (o *TLS) pair() (tls.Certificate, error) {
	cert, err := readFile(o.CertFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("TLS: certfile: %w", err)
	}
	key, err := readFile(o.KeyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("TLS: keyfile: %w", err)
	}
	if block, _ := pem.Decode(key); block != nil && (block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "") {
		return tls.Certificate{}, fmt.Errorf("TLS: keyfile %s is encrypted, which is not supported: "+
			"'openssl pkey -in %[1]s -out FILE' writes it without a password; let only the broker's user read it", o.KeyFile)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("TLS: certfile %s with keyfile %s: %w", o.CertFile, o.KeyFile, err)
	}
	return pair, nil
}

// readFile reads a file that is one: a pipe may never end.
func readFile(name string) ([]byte, error) {
	about, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !about.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return os.ReadFile(name)
}

// setVersions takes the oldest and the newest of those named.
func (o *TLS) setVersions(c *tls.Config) error {
	if len(o.Versions) == 0 {
		return nil
	}
	c.MinVersion, c.MaxVersion = tls.VersionTLS13, tls.VersionTLS12
	for _, name := range o.Versions {
		switch name {
		case "tlsv1.3":
			c.MaxVersion = tls.VersionTLS13
		case "tlsv1.2":
			c.MinVersion = tls.VersionTLS12
		default:
			return fmt.Errorf("TLS: version %q: it must be tlsv1.2 or tlsv1.3; older versions are not secure", name)
		}
	}
	return nil
}

func (o *TLS) setPeers(c *tls.Config) error {
	text, err := readFile(o.CAFile)
	if err != nil {
		return fmt.Errorf("TLS: cacertfile: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return fmt.Errorf("TLS: cacertfile %s contains no certificate", o.CAFile)
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven
	if o.NeedPeer {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if depth := o.Depth; depth >= 0 {
		c.VerifyConnection = func(state tls.ConnectionState) error { return checkDepth(state, depth) }
	}
	return nil
}

// checkDepth refuses a client whose certificate has too long a way to an authority: its own and the authority's do not
// count. Source: RabbitMQ ssl, peer verification depth.
func checkDepth(state tls.ConnectionState, depth int) error {
	if len(state.VerifiedChains) == 0 {
		return nil
	}
	for _, chain := range state.VerifiedChains {
		if len(chain)-2 <= depth {
			return nil
		}
	}
	return fmt.Errorf("TLS: more than %d intermediate certificates", depth)
}

// suites finds cipher suites by name. Those of TLS 1.3 are not to be chosen and passed over.
func suites(names []string) ([]uint16, error) {
	var ids []uint16
	for _, name := range names {
		if strings.HasPrefix(name, "TLS_AES_") || strings.HasPrefix(name, "TLS_CHACHA20_") {
			continue
		}
		i := slices.IndexFunc(tls.CipherSuites(), func(s *tls.CipherSuite) bool {
			return s.Name == name || openSSLName(s.Name) == name
		})
		if i < 0 {
			return nil, fmt.Errorf("TLS: cipher %q is not known, or not considered secure", name)
		}
		ids = append(ids, tls.CipherSuites()[i].ID)
	}
	return ids, nil
}

// openSSLName turns TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 into ECDHE-RSA-AES128-GCM-SHA256.
func openSSLName(iana string) string {
	name := strings.TrimPrefix(iana, "TLS_")
	name = strings.Replace(name, "_WITH_", "-", 1)
	name = strings.NewReplacer("AES_128", "AES128", "AES_256", "AES256").Replace(name)
	name = strings.TrimSuffix(strings.ReplaceAll(name, "_", "-"), "")
	if rest, ok := strings.CutSuffix(name, "-CHACHA20-POLY1305-SHA256"); ok {
		return rest + "-CHACHA20-POLY1305"
	}
	return name
}
