package amqpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// lines collects what is logged, as "LEVEL category: text".
type lines struct {
	mu       *sync.Mutex
	to       *bytes.Buffer
	category string
}

func newLines() lines { return lines{new(sync.Mutex), new(bytes.Buffer), ""} }

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithGroup(string) slog.Handler            { return l }
func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "category" {
			l.category = a.Value.String()
		}
	}
	return l
}

func (l lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.to, "%v %s: %s\n", r.Level, l.category, r.Message)
	return nil
}

// kinds counts lines about connections by what they are counted as.
type kinds struct {
	lines
	of map[string]int
}

func (k kinds) WithAttrs([]slog.Attr) slog.Handler { return k }
func (k kinds) Handle(ctx context.Context, r slog.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "similar" {
			k.of[a.Value.String()]++
		}
		return true
	})
	return nil
}

func TestLinesAboutConnectionsAreSimilar(t *testing.T) {
	// If this fails, a user who connects again and again fills the log, for no two of its lines are counted as one.
	t.Parallel()
	log := kinds{newLines(), map[string]int{}}
	inBubble(t, func(o *Options) { o.Log = slog.New(log) }, func(b *bed) {
		for range 3 {
			b.open(0).Conn.Close()
			synctest.Wait()
		}
		log.mu.Lock()
		defer log.mu.Unlock()
		if len(log.of) != 3 {
			t.Errorf("lines are counted as %v", log.of)
		}
		for kind, n := range log.of {
			if n != 3 || !strings.Contains(kind, " from ") || strings.Contains(kind, "->") {
				t.Errorf("%d lines are counted as %q", n, kind)
			}
		}
	})
}

func (l lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.String()
}

// If it failed, operators would not find what RabbitMQ logs of connections and channels, or find it twice.
func TestLogLines(t *testing.T) {
	t.Parallel()
	log := newLines()
	inBubble(t, func(o *Options) { o.Log = slog.New(log) }, func(b *bed) {
		b.dial().Conn.Close() // a probe of the port
		synctest.Wait()
		if got := log.text(); strings.Contains(got, "INFO") || strings.Contains(got, "WARN") {
			b.Errorf("of a probe: %s", got)
		}
		log.to.Reset()
		c := b.open(0)
		c.openChannel(1)
		c.session.mu.Lock()
		id := c.session.commands[0].Channel
		c.session.frontend.Emit(&vhost.Effect{Kind: vhost.Closed, Command: vhost.DeclareQueue, Channel: id,
			Err: amqp.NotFound("no queue '%s' in vhost '/'", "q")})
		c.session.frontend.Flush()
		c.session.mu.Unlock()
		expect[*wire.ChannelClose](c, 1)
		synctest.Wait()
		c.send(0, &wire.TxSelect{})
		expect[*wire.ConnectionClose](c, 0)
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
		polite := b.open(0)
		polite.send(0, &wire.ConnectionClose{ReplyCode: 200})
		expect[*wire.ConnectionCloseOk](polite, 0)
		polite.Conn.Close()
		synctest.Wait()
		lost := b.open(0)
		lost.Conn.Close()
		synctest.Wait()
		refused := b.dial().listen()
		refused.raw([]byte(wire.ProtocolHeader))
		expect[*wire.ConnectionStart](refused, 0)
		refused.send(0, startOk("PLAIN", "\x00guest\x00wrong", true))
		expect[*wire.ConnectionClose](refused, 0)
		refused.Conn.Close()
		synctest.Wait()
		got := strings.ReplaceAll(log.text(), "pipe -> pipe", "NAME")
		accepted := "INFO connection: accepting AMQP connection NAME\n"
		granted := accepted + "INFO connection: connection NAME - test: user 'guest' authenticated and granted access to vhost '/'\n"
		want := granted +
			"ERROR channel: Channel error on connection <0.2.0> (NAME, vhost: '/', user: 'guest'), channel 1:\n" +
			"operation queue.declare caused a channel exception not_found: no queue 'q' in vhost '/'\n" +
			"ERROR connection: Error on AMQP connection <0.2.0> (NAME, vhost: '/', user: 'guest', state: running), channel 0:\n" +
			"operation tx.select caused a connection exception channel_error: unexpected method in connection state running\n" +
			granted + "INFO connection: closing AMQP connection (NAME, vhost: '/', user: 'guest')\n" +
			granted + "WARN connection: closing AMQP connection <0.4.0> (NAME, vhost: '/', user: 'guest'):\nclient unexpectedly closed TCP connection\n" +
			accepted + "ERROR connection: Error on AMQP connection <0.5.0> (NAME, state: starting):\n" +
			"PLAIN login refused: user 'guest' - invalid credentials\n"
		if got != want {
			b.Errorf("logged\n%s\nwant\n%s", got, want)
		}
	})
}

// If it failed, a client could make a virtual host wait for the log.
func TestNotesNeverWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &gated{lines: newLines(), open: make(chan struct{})}
		var running sync.WaitGroup
		n := newNotes(slog.New(gate), &running)
		n.put("first")
		synctest.Wait() // it is being written
		for range notesWaitingMax + 5 {
			n.put("more")
		}
		close(gate.open)
		running.Wait()
		got := gate.text()
		if strings.Count(got, "more") != notesWaitingMax || !strings.Contains(got, "first") || !strings.Contains(got, "not logged") {
			t.Errorf("%d lines written", strings.Count(got, "\n"))
		}
	})
}

// gated writes nothing until it is open.
type gated struct {
	lines
	open chan struct{}
}

func (g *gated) WithAttrs([]slog.Attr) slog.Handler { return g }
func (g *gated) Handle(ctx context.Context, r slog.Record) error {
	<-g.open
	return g.lines.Handle(ctx, r)
}

// If it failed, a node would take more than its operator allows, or leave places of those who have gone unused.
func TestNodeLimits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.ConnectionMax, o.ChannelMaxNode = 2, 3 }, func(b *bed) {
		first, second := b.open(0), b.open(0)
		refuse := func(text string, c *client) {
			b.Helper()
			if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 530 || got.ReplyText != "NOT_ALLOWED - "+text {
				c.Errorf("told %d %s", got.ReplyCode, got.ReplyText)
			}
			c.send(0, &wire.ConnectionCloseOk{})
			c.expectEnd()
		}
		third := b.dial().listen()
		third.raw([]byte(wire.ProtocolHeader))
		expect[*wire.ConnectionStart](third, 0)
		third.send(0, startOk("PLAIN", "\x00guest\x00guest", true))
		expect[*wire.ConnectionTune](third, 0)
		third.send(0, &wire.ConnectionTuneOk{ChannelMax: 2047, FrameMax: 128 << 10})
		third.send(0, &wire.ConnectionOpen{VirtualHost: "/"})
		refuse("connection refused: node connection limit (2) is reached", third)
		first.openChannel(1)
		first.openChannel(2)
		second.openChannel(1)
		second.send(2, &wire.ChannelOpen{})
		refuse("number of channels opened on node 'rabbit@localhost' has reached the maximum allowed limit of (3)", second)
		synctest.Wait()
		again := b.open(0)
		again.openChannel(1)
	})
}

// If it failed, EXTERNAL would let in a user by another name than RabbitMQ reads in the same certificate.
func TestNameInCertificate(t *testing.T) {
	t.Parallel()
	sequence := pkix.RDNSequence{
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 6}, Value: "DE"}},
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: `Dead, "Letters" <#1>`}},
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 11}, Value: "#office "}},
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "first"}},
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "second"}, {Type: asn1.ObjectIdentifier{1, 2, 3}, Value: "odd"}},
	}
	raw, err := asn1.Marshal(sequence)
	if err != nil {
		t.Fatal(err)
	}
	uri, _ := url.Parse("spiffe://office/clerk")
	cert := &x509.Certificate{RawSubject: raw, DNSNames: []string{"a.example", "b.example"}, EmailAddresses: []string{"clerk@example.org"},
		IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}, URIs: []*url.URL{uri}}
	for want, l := range map[string]CertLogin{
		`1.2.3=odd+CN=second,CN=first,OU=\#office\ ,O=Dead\, \"Letters\" \<#1\>,C=DE`: {},
		"first,second":          {From: "common_name"},
		"a.example":             {From: "subject_alternative_name"},
		"b.example":             {From: "subject_alternative_name", SANType: "dns", SANIndex: 1},
		"clerk@example.org":     {From: "subject_alternative_name", SANType: "email"},
		"192.0.2.1":             {From: "subject_alternative_name", SANType: "ip"},
		"spiffe://office/clerk": {From: "subject_alternative_name", SANType: "uri"},
	} {
		if got, err := l.user(cert); err != nil || got != want {
			t.Errorf("%+v: %q, %v, want %q", l, got, err, want)
		}
	}
	for _, l := range []CertLogin{{From: "subject_alternative_name", SANIndex: 2}, {From: "subject_alternative_name", SANType: "uri", SANIndex: 1}} {
		if got, err := l.user(cert); !errors.Is(err, errNoName) {
			t.Errorf("%+v: %q, %v", l, got, err)
		}
	}
	for _, l := range []CertLogin{{From: "hat"}, {SANType: "other_name"}, {SANIndex: -1}} {
		if l.validate() == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}

// If it failed, who connects to a TLS port and says nothing would hold a connection for ever.
func TestSilentTLSClient(t *testing.T) {
	t.Parallel()
	log := newLines()
	inBubble(t, func(o *Options) { o.Log = slog.New(log) }, func(b *bed) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		b.server.Take(tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{{}}}))
		if _, err := ours.Read(make([]byte, 1)); err == nil {
			b.Error("the server spoke first")
		}
		synctest.Wait()
		if got := log.text(); !strings.Contains(got, "TLS handshake failed") || len(b.server.Connections()) != 0 {
			b.Errorf("logged %s", got)
		}
	})
}
