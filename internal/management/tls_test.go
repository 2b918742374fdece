package management

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

func TestConnectionTLS(t *testing.T) {
	// If this fails, an auditor cannot see which clients are encrypted, how, and as whom they came.
	t.Parallel()
	d := open(t)
	from := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	peer := &x509.Certificate{
		Subject: pkix.Name{CommonName: "client", Organization: []string{"Example"}}, Issuer: pkix.Name{CommonName: "authority"},
		NotBefore: from, NotAfter: from.AddDate(1, 0, 0),
	}
	d.roster.mu.conns = []stats.Connection{
		{Name: "new", TLS: &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_256_GCM_SHA384}},
		{Name: "old", TLS: &tls.ConnectionState{
			Version: tls.VersionTLS12, CipherSuite: tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, PeerCertificates: []*x509.Certificate{peer},
		}},
		{Name: "plain"},
	}
	c := read[api.Connection](d, "/api/connections/new")
	if !c.SSL || *c.SSLProtocol != "tlsv1.3" || *c.SSLKeyExchange != "any" || *c.SSLCipher != "aes_256_gcm" || *c.SSLHash != "sha384" || c.PeerCertSubject != nil {
		t.Errorf("TLS 1.3: %+v", c)
	}
	c = read[api.Connection](d, "/api/connections/old")
	if *c.SSLProtocol != "tlsv1.2" || *c.SSLKeyExchange != "ecdhe_rsa" || *c.SSLCipher != "chacha20_poly1305" || *c.SSLHash != "sha256" ||
		*c.PeerCertSubject != "CN=client,O=Example" || *c.PeerCertIssuer != "CN=authority" || *c.PeerCertValidity != "2030-01-02T03:04:05Z - 2031-01-02T03:04:05Z" {
		t.Errorf("TLS 1.2: %s %s %s %s", *c.SSLProtocol, *c.SSLCipher, *c.PeerCertSubject, *c.PeerCertValidity)
	}
	if c := read[api.Connection](d, "/api/connections/plain"); c.SSL || c.SSLProtocol != nil {
		t.Errorf("plain: %+v", c)
	}
}
