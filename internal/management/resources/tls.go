package resources

import (
	"crypto/tls"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// showTLS adds to a connection how it is encrypted, and whose certificate the client has shown. Source: RabbitMQ
// management API, connections.
func showTLS(c *api.Connection, state *tls.ConnectionState) {
	if state == nil {
		return
	}
	version := strings.ToLower(strings.ReplaceAll(tls.VersionName(state.Version), "TLS ", "tlsv"))
	exchange, cipher, hash := suiteParts(tls.CipherSuiteName(state.CipherSuite))
	c.SSL, c.SSLProtocol, c.SSLKeyExchange, c.SSLCipher, c.SSLHash = true, &version, &exchange, &cipher, &hash
	if len(state.PeerCertificates) == 0 {
		return
	}
	peer := state.PeerCertificates[0]
	subject, issuer := peer.Subject.String(), peer.Issuer.String()
	validity := peer.NotBefore.UTC().Format(time.RFC3339) + " - " + peer.NotAfter.UTC().Format(time.RFC3339)
	c.PeerCertSubject, c.PeerCertIssuer, c.PeerCertValidity = &subject, &issuer, &validity
}

// suiteParts takes the name of a cipher suite apart: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ecdhe_rsa, aes_128_gcm,
// sha256. In TLS 1.3 the key exchange is not part of it, and any.
func suiteParts(name string) (exchange, cipher, hash string) {
	name = strings.ToLower(strings.TrimPrefix(name, "TLS_"))
	exchange, rest, found := strings.Cut(name, "_with_")
	if !found {
		exchange, rest = "any", name
	}
	if at := strings.LastIndexByte(rest, '_'); at >= 0 && strings.HasPrefix(rest[at+1:], "sha") {
		return exchange, rest[:at], rest[at+1:]
	}
	return exchange, rest, "aead"
}
