package bartleby_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby"
)

// signer makes certificates.
type signer struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newSigner(t *testing.T) *signer {
	s := &signer{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	s.cert, s.key = s.issue("ca", pkix.Name{CommonName: "authority"})
	s.pool.AddCert(s.cert)
	return s
}

// issue writes NAME.pem and NAME.key.
func (s *signer) issue(name string, subject pkix.Name) (*x509.Certificate, *ecdsa.PrivateKey) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name + ".example"}, IsCA: s.cert == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, by := template, key
	if s.cert != nil {
		parent, by = s.cert, s.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	for ext, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(s.path(name+ext), pem.EncodeToMemory(block), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return cert, key
}

func (s *signer) path(name string) string { return filepath.Join(s.dir, name) }

// client is what a client with that certificate says, or without one.
func (s *signer) client(name string) *tls.Config {
	c := &tls.Config{RootCAs: s.pool}
	if name != "" {
		pair, err := tls.LoadX509KeyPair(s.path(name+".pem"), s.path(name+".key"))
		if err != nil {
			s.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// startTLS starts a broker with TLS at its listeners.
func startTLS(t *testing.T, s *signer, from string) *bartleby.Broker {
	t.Helper()
	s.issue("server", pkix.Name{CommonName: "server"})
	files := bartleby.TLS{CertFile: s.path("server.pem"), KeyFile: s.path("server.key"), Depth: -1}
	peers := files
	peers.CAFile, peers.VerifyPeer = s.path("ca.pem"), true
	clients := bartleby.DefaultClients()
	clients.Mechanisms = []string{"EXTERNAL", "PLAIN"}
	clients.CertLogin.From = from
	first := bartleby.DefaultFirst()
	first.User = "CN=alice,O=Office" // the most particular part first
	if from != "distinguished_name" {
		first.User = "alice"
	}
	b, err := bartleby.Start(bartleby.Config{
		AMQP: "127.0.0.1:0", AMQPS: "127.0.0.1:0", TLS: peers, ManagementHTTPS: "127.0.0.1:0", ManagementTLS: files, Clients: clients,
		First: first, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}

func addressOf(t *testing.T, b *bartleby.Broker, protocol string) string {
	t.Helper()
	for _, l := range b.Listeners() {
		if l.Protocol == protocol {
			return l.Addr.String()
		}
	}
	t.Fatalf("no listener for %s", protocol)
	return ""
}

func TestExternalLogin(t *testing.T) {
	// If this fails, a certificate logs in a user that it does not name, or does not log in the user that it names.
	t.Parallel()
	for _, from := range []string{"distinguished_name", "common_name"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			testExternalLogin(t, from)
		})
	}
}

func testExternalLogin(t *testing.T, from string) {
	s := newSigner(t)
	s.issue("alice", pkix.Name{CommonName: "alice", Organization: []string{"Office"}})
	s.issue("mallory", pkix.Name{CommonName: "mallory"})
	b := startTLS(t, s, from)
	dial := func(client string, auth amqp091.Authentication) error {
		c, err := amqp091.DialConfig("amqps://"+addressOf(t, b, "amqp/ssl")+"/", amqp091.Config{
			SASL: []amqp091.Authentication{auth}, TLSClientConfig: s.client(client),
		})
		if err == nil {
			c.Close()
		}
		return err
	}
	external := &amqp091.ExternalAuth{}
	name := "alice"
	if from == "distinguished_name" {
		name = "CN=alice,O=Office"
	}
	plain := &amqp091.PlainAuth{Username: name, Password: "guest"}
	if err := dial("alice", external); err != nil {
		t.Errorf("%s: alice: %v", from, err)
	}
	if err := dial("", plain); err != nil {
		t.Errorf("%s: with a password: %v", from, err)
	}
	var refused sync.WaitGroup // that takes its time
	for _, client := range []string{"mallory", ""} {
		refused.Go(func() {
			err := dial(client, external)
			if e := (*amqp091.Error)(nil); !errors.As(err, &e) || e.Code != 403 {
				t.Errorf("%s: %q: %v", from, client, err)
			}
		})
	}
	defer refused.Wait()
	_, err := amqp091.DialConfig("amqp://"+addressOf(t, b, "amqp")+"/", amqp091.Config{SASL: []amqp091.Authentication{external}})
	if err == nil {
		t.Errorf("%s: EXTERNAL without TLS is let in", from)
	}
}

func TestCertificatesAreReadAgain(t *testing.T) {
	// If this fails, a renewed certificate requires a restart.
	t.Parallel()
	s := newSigner(t)
	b := startTLS(t, s, "common_name")
	server := func() string {
		t.Helper()
		c, err := tls.Dial("tcp", addressOf(t, b, "https"), s.client(""))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := server(); got != "server" {
		t.Errorf("met %s", got)
	}
	s.issue("server", pkix.Name{CommonName: "renewed"})
	if err := b.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := server(); got != "renewed" {
		t.Errorf("met %s after the files changed", got)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: s.client("")}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addressOf(t, b, "https")+"/api/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("alice", "guest")
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d over HTTPS", answer.StatusCode)
	}
}

func TestTLSThatCannotBe(t *testing.T) {
	// If this fails, a broker starts without its configured listeners.
	t.Parallel()
	_, err := bartleby.Start(bartleby.Config{AMQPS: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "amqp/ssl listener: TLS: certfile is not set") {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = bartleby.Start(bartleby.Config{AMQP: "127.0.0.1:0, " + l.Addr().String(), Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "another program is listening on this address") {
		t.Error(err)
	}
}

func TestProxyProtocol(t *testing.T) {
	// If this fails, clients behind a load balancer appear, and are authorised, with the address of the load balancer.
	t.Parallel()
	b, err := bartleby.Start(bartleby.Config{AMQP: "127.0.0.1:0", ProxyProtocol: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	dial := func(from string) error {
		c, err := amqp091.DialConfig(b.URL(), amqp091.Config{Dial: func(network, address string) (net.Conn, error) {
			c, err := net.Dial(network, address)
			if err == nil {
				_, err = c.Write([]byte("PROXY TCP4 " + from + " 192.0.2.2 40000 5672\r\n"))
			}
			return c, err
		}})
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := dial("127.0.0.1"); err != nil {
		t.Errorf("from this machine: %v", err)
	}
	if err := dial("192.0.2.1"); err == nil {
		t.Error("guest is let in from another machine")
	}
}
