package conformance

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// loginRefused fails the case unless the broker says that the login with PLAIN was refused.
func (s *socket) loginRefused() {
	s.t.Helper()
	a := s.want(connectionClose)
	s.t.equal("code", a.uint16(), uint16(403))
	s.t.equal("text", a.short(), "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.")
}

// failureClose is the client properties that ask for a connection.close at a failed login.
var failureClose = table(field("capabilities", 'F', table(field("authentication_failure_close", 't', byte(1)))))

var handshakeCases = []Case{
	{
		Topic: surface, Section: 2, Name: "foreign-protocol-header",
		Rule:   "A protocol header that the broker does not support is answered with a supported header, and the socket closes.",
		Since:  "4.0",
		Before: "the header is 0-9-1",
		Choice: byTheBook, Differs: "the header is 0-9-1 (on purpose: no other protocol is supported, and 4.x answers with AMQP 1.0 with SASL)",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("HTTP/1.1"))
			want := "AMQP\x00\x00\x09\x01"
			if t.since() && !t.differs() {
				want = "AMQP\x03\x01\x00\x00"
			}
			s.answersHeader(want)
		},
	},
	{
		Topic: surface, Section: 2, Name: "newer-0-10-header",
		Rule: "A protocol header 0-0 of a version above 9 is answered by the header of 0-9-1, and the socket closes.",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x00\x00\x0a\x00"))
			s.answersHeader("AMQP\x00\x00\x09\x01")
		},
	},
	{
		Topic: surface, Section: 2, Name: "older-0-9-header",
		Rule: "The header 1-1-0-9 of AMQP 0-9 opens a 0-9-1 session.",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x01\x01\x00\x09"))
			s.want(connectionStart)
		},
	},
	{
		Topic: surface, Section: 2, Name: "start-names-version-and-mechanisms",
		Rule: "connection.start says version 0-9, offers PLAIN and AMQPLAIN, and the locale en_US.",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x00\x00\x09\x01"))
			a := s.want(connectionStart)
			t.equal("version", [2]byte{a.octet(), a.octet()}, [2]byte{0, 9})
			a.long() // the server properties have a case of their own
			mechanisms := strings.Fields(a.long())
			for _, m := range []string{"PLAIN", "AMQPLAIN"} {
				if !strings.Contains(" "+strings.Join(mechanisms, " ")+" ", " "+m+" ") {
					t.Errorf("mechanism %s is missing in %v", m, mechanisms)
				}
			}
			t.equal("locales", a.long(), "en_US")
		},
	},
	{
		Topic: surface, Section: 2, Name: "tune-defaults",
		Rule: "connection.tune offers 2047 channels, frames of 131072 octets and a heartbeat of 60 s.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{})
			a := s.want(connectionTune)
			t.equal("channel-max", a.uint16(), uint16(2047))
			t.equal("frame-max", a.uint32(), uint32(131072))
			t.equal("heartbeat", a.uint16(), uint16(60))
		},
	},
	refusedTune("frame-max-raised", "A client that raises frame-max is cut off without connection.close.", 2047, 131073),
	refusedTune("frame-max-unlimited", "A client that answers a finite frame-max with 0, no limit, is cut off without connection.close.", 2047, 0),
	refusedTune("frame-max-too-small", "A client that lowers frame-max below the minimum is cut off without connection.close.", 2047, 4095),
	refusedTune("channel-max-raised", "A client that raises channel-max is cut off without connection.close.", 2048, 131072),
	refusedTune("channel-max-unlimited", "A client that answers a finite channel-max with 0, no limit, is cut off without connection.close.", 0, 131072),
	{
		Topic: surface, Section: 3, Name: "plain-malformed",
		Rule: "A PLAIN response that does not begin with NUL ends the connection before tune.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{response: "guest\x00guest\x00guest"})
			s.endedWithout(connectionTune)
		},
	},
	{
		Topic: surface, Section: 3, Name: "unknown-mechanism",
		Rule: "A mechanism that was not offered ends the connection before tune.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{mechanism: "KERBEROS"})
			s.endedWithout(connectionTune)
		},
	},
	{
		Topic: surface, Section: 3, Name: "amqplain",
		Rule: "AMQPLAIN logs in with a field table, without its length, of LOGIN and PASSWORD.",
		Run: func(t *T) {
			s, uri := t.socket(), t.broker.uri
			response := join(field("LOGIN", 'S', longstr(uri.Username)), field("PASSWORD", 'S', longstr(uri.Password)))
			s.open(login{mechanism: "AMQPLAIN", response: string(response)})
			s.want(connectionOpenOk)
		},
	},
	{
		Topic: surface, Section: 3, Name: "wrong-password-announced",
		Rule: "A wrong password is answered by connection.close 403 if the client announced " +
			"authentication_failure_close.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{password: "wrong", properties: failureClose})
			s.loginRefused()
		},
	},
	{
		Topic: surface, Section: 3, Name: "wrong-password-unannounced",
		Rule: "A wrong password closes the socket without a frame if the client did not announce " +
			"authentication_failure_close.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{password: "wrong"})
			s.endedWithout(connectionClose)
		},
	},
	{
		Topic: surface, Section: 3, Name: "unknown-user",
		Rule: "An unknown user gets the same response as a wrong password.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{user: "nobody", password: "guest", properties: failureClose})
			s.loginRefused()
		},
	},
	{
		Topic: surface, Section: 3, Name: "unknown-vhost",
		Rule: "connection.open of a virtual host that does not exist ends the connection with 530.",
		Run: func(t *T) {
			s := t.socket()
			s.open(login{vhost: "nowhere"})
			s.refused(530, "NOT_ALLOWED - vhost nowhere not found")
		},
	},
	{
		Topic: surface, Section: 3, Name: "vhost-without-permission",
		Rule: "connection.open of a virtual host on which the user has no permissions ends the connection with 530.",
		Run: func(t *T) {
			user := t.name("user")
			t.manage("PUT", object{"password": "secret", "tags": ""}, "users", user)
			t.Cleanup(func() { t.manage("DELETE", nil, "users", user) })
			s := t.socket()
			s.open(login{user: user, password: "secret"})
			s.refused(530, "NOT_ALLOWED - access to vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	},
	{
		Topic: surface, Section: 4, Name: "server-properties",
		Rule: "The server properties name RabbitMQ, a version of its series, and the nine capabilities that clients " +
			"check.",
		Run: func(t *T) {
			p := t.connect().Properties
			t.equal("product", p["product"], "RabbitMQ")
			v, err := parseSeries(p["version"].(string))
			t.must(err)
			t.equal("series", v, t.broker.series)
			capabilities, _ := p["capabilities"].(amqp.Table)
			for _, c := range []string{"publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify",
				"connection.blocked", "consumer_priorities", "authentication_failure_close", "per_consumer_qos", "direct_reply_to"} {
				t.equal(c, capabilities[c], true)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "handshake-takes-too-long",
		Rule: "If a client does not complete the handshake within ten seconds, its socket is closed.",
		Run: func(t *T) {
			s, begun := t.socket(), time.Now()
			s.send([]byte("AMQP\x00\x00\x09\x01"))
			s.want(connectionStart)
			if _, err := s.read(2 * patience); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the broker does not close the socket")
			}
			if after := time.Since(begun); after < 8*time.Second {
				t.Errorf("dropped after %v", after)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "heartbeat-from-broker",
		Rule: "With a heartbeat of 1 s an idle broker sends heartbeats on channel 0.",
		Run: func(t *T) {
			s := t.session(login{heartbeat: 1})
			for range 2 {
				f, err := s.read(2500 * time.Millisecond)
				t.must(err)
				t.equal("frame", f, frame{frameHeartbeat, 0, []byte{}})
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "heartbeats-every-half-interval",
		Rule: "An idle broker sends a heartbeat every half interval, the first after half an interval.",
		Run: func(t *T) {
			s, begun := t.session(login{heartbeat: 4}), time.Now()
			for range 3 {
				f, err := s.read(6 * time.Second)
				t.must(err)
				t.equal("frame", f, frame{frameHeartbeat, 0, []byte{}})
			}
			if after := time.Since(begun); after < 5*time.Second || after > 9*time.Second {
				t.Errorf("three heartbeats of 4 s took %v", after)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "silent-client-is-dropped",
		Rule: "If a client sends nothing for about two heartbeat intervals, its socket is closed without " +
			"connection.close.",
		Run: func(t *T) {
			s, begun := t.session(login{heartbeat: 1}), time.Now()
			s.endedWithout(connectionClose)
			if after := time.Since(begun); after < 1500*time.Millisecond || after > 9*time.Second {
				t.Errorf("dropped after %v", after)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "any-traffic-is-a-heartbeat",
		Rule: "Any frame counts as a heartbeat: a client that sends other frames is not dropped.",
		Run: func(t *T) {
			s := t.session(login{heartbeat: 1})
			for range 8 {
				t.pass(500 * time.Millisecond)
				s.sendMethod(1, basicQos, uint32(0), uint16(1), byte(0))
				s.want(basicQosOk)
			}
		},
	},
}

// refusedTune is a case of a tune-ok that the broker does not accept: it says nothing, and closes the socket.
func refusedTune(name, rule string, channelMax uint16, frameMax uint32) Case {
	return Case{
		Topic: surface, Section: 2, Name: name, Rule: rule,
		Run: func(t *T) {
			s := t.socket()
			s.start(login{})
			s.want(connectionTune)
			s.sendMethod(0, connectionTuneOk, channelMax, frameMax, uint16(0))
			s.sendMethod(0, connectionOpen, t.vhost, "", byte(0))
			s.endedWithout(connectionClose, connectionOpenOk)
		},
	}
}

// answersHeader reads a protocol header and the end of the stream.
func (s *socket) answersHeader(want string) {
	s.t.Helper()
	s.t.must(s.SetReadDeadline(time.Now().Add(patience)))
	got, err := io.ReadAll(s.in)
	if len(got) < 8 { // a reset after the header is as good as an end
		s.t.must(err)
	}
	s.t.equal("header", string(got), want)
}

// endedWithout waits for the end of the socket and fails the case if one of the methods comes before.
func (s *socket) endedWithout(methods ...methodID) {
	s.t.Helper()
	for {
		f, err := s.read(patience)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				s.t.Fatal("the broker does not close the socket")
			}
			return
		}
		for _, m := range methods {
			if f.method() == m {
				s.t.Fatalf("got method %v %q", m, f.payload)
			}
		}
	}
}
