package conformance

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var loginCases = []Case{
	{
		Topic: surface, Section: 2, Name: "broker-waits-for-the-header",
		Rule: "The broker sends nothing before the client has sent its protocol header.",
		Run: func(t *T) {
			s := t.socket()
			if f, err := s.read(300 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("got %v %v before the header", f, err)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "locale-is-not-checked",
		Rule: "A locale that the broker did not offer is accepted like en_US.",
		Run: func(t *T) {
			s, uri := t.socket(), t.broker.uri
			s.send([]byte("AMQP\x00\x00\x09\x01"))
			s.want(connectionStart)
			s.sendMethod(0, connectionStartOk, emptyTable, "PLAIN", longstr("\x00"+uri.Username+"\x00"+uri.Password), "tlh_KL")
			s.want(connectionTune)
		},
	},
	{
		Topic: surface, Section: 2, Name: "open-ok-is-a-reserved-string",
		Rule: "connection.open-ok carries an empty short string and channel.open-ok an empty long string.",
		Run: func(t *T) {
			s := t.socket()
			s.open(login{})
			t.equal("connection.open-ok", s.want(connectionOpenOk).b, []byte{0})
			s.sendMethod(1, channelOpen, "")
			t.equal("channel.open-ok", s.want(channelOpenOk).b, []byte{0, 0, 0, 0})
		},
	},
	{
		Topic: surface, Section: 2, Name: "large-frame-before-login",
		Rule: "A frame of more than 8192 octets before the login is complete ends the connection.",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x00\x00\x09\x01"))
			s.want(connectionStart)
			long := table(field("note", 'S', longstr(strings.Repeat("n", 9000))))
			s.sendMethod(0, connectionStartOk, long, "PLAIN", longstr("\x00guest\x00guest"), "en_US")
			s.endedWithout(connectionTune)
		},
	},
	{
		Topic: surface, Section: 2, Name: "channel-max-lowered",
		Rule: "A client may lower channel-max and frame-max.",
		Run: func(t *T) {
			s := t.session(login{channelMax: 1, frameMax: 8192})
			s.sendMethod(1, basicQos, uint32(0), uint16(1), byte(0))
			s.want(basicQosOk)
		},
	},
	{
		Topic: surface, Section: 3, Name: "amqplain-binary",
		Rule:  "AMQPLAIN also accepts user and password as byte arrays.",
		Since: "4.0", Before: "the connection ends",
		Run: func(t *T) {
			s, uri := t.socket(), t.broker.uri
			response := join(field("LOGIN", 'x', longstr(uri.Username)), field("PASSWORD", 'x', longstr(uri.Password)))
			s.start(login{mechanism: "AMQPLAIN", response: string(response)})
			if t.since() {
				s.want(connectionTune)
			} else {
				s.endedWithout(connectionTune)
			}
		},
	},
	{
		Topic: surface, Section: 3, Name: "amqplain-incomplete",
		Rule: "An AMQPLAIN response without a password ends the connection before tune.",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{mechanism: "AMQPLAIN", response: string(field("LOGIN", 'S', longstr("guest")))})
			s.endedWithout(connectionTune)
		},
	},
	{
		Topic: surface, Section: 3, Name: "anonymous",
		Rule:  "ANONYMOUS is offered, ignores the response, and logs in as guest.",
		Since: "4.0", Before: "it is not offered",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x00\x00\x09\x01"))
			a := s.want(connectionStart)
			a.octet()
			a.octet()
			a.long()
			offered := strings.Contains(" "+a.long()+" ", " ANONYMOUS ")
			t.equal("offered", offered, t.since())
			if offered {
				s.sendMethod(0, connectionStartOk, emptyTable, "ANONYMOUS", longstr("anybody"), "en_US")
				s.want(connectionTune)
			}
		},
	},
	{
		Topic: surface, Section: 4, Name: "server-properties-are-text",
		Rule: "The server properties cluster_name, copyright, information, platform, product and version are long " +
			"strings.",
		Run: func(t *T) {
			p := t.connect().Properties
			for _, name := range []string{"cluster_name", "copyright", "information", "platform", "product", "version"} {
				if s, ok := p[name].(string); !ok || s == "" {
					t.Errorf("%s is %#v", name, p[name])
				}
			}
		},
	},
	{
		Topic: surface, Section: 4, Name: "client-properties-are-kept",
		Rule: "The management API shows a connection's client properties, and connection_name as the name that the " +
			"user gave.",
		Run: func(t *T) {
			name := t.name("conn")
			t.named(name)
			got := t.shown(name)
			t.equal("name", got.Client["connection_name"], any(name))
			t.equal("note", got.Client["note"], any("kept"))
		},
	},
	{
		Topic: surface, Section: 6, Name: "closed-by-an-operator",
		Rule: "A connection that an operator closes ends with 320 and the reason given.",
		Run: func(t *T) {
			name := t.name("conn")
			s := t.named(name)
			t.manage("DELETE", nil, "connections", t.shown(name).Name)
			s.refused(320, "CONNECTION_FORCED - Closed via management plugin")
		},
	},
	{
		Topic: surface, Section: 7, Name: "update-secret",
		Rule: "connection.update-secret is answered by update-secret-ok, and the connection stays open.",
		Run: func(t *T) {
			t.must(t.connect().UpdateSecret(t.broker.uri.Password, "renewed"))
		},
	},
	{
		Topic: surface, Section: 7, Name: "connection-close-crosses-close",
		Rule: "After the broker's connection.close everything except close-ok and close is discarded, and a close is " +
			"answered.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.sendMethod(1, channelOpen, "") // a second channel.open ends the connection
			s.want(connectionClose)
			s.send(publishOf(1, q, "ignored"))
			s.sendMethod(0, connectionClose, uint16(200), "bye", uint16(0), uint16(0))
			s.want(connectionCloseOk)
			s.sendMethod(0, connectionCloseOk)
			s.ended()
		},
	},
	{
		Topic: surface, Section: 7, Name: "connection-close-requeues",
		Rule: "Closing a connection returns its unacked messages before the close is answered.",
		Run: func(t *T) {
			conn, other := t.connect(), t.channel()
			ch := conn.channel()
			q := other.queue("q")
			ch.publish("", q, "m")
			ch.get(q)
			t.must(conn.Close())
			t.equal("redelivered", other.get(q).Redelivered, true)
		},
	},
}

// named opens a session whose client properties have a name for the connection and a note.
func (t *T) named(name string) *socket {
	t.Helper()
	return t.session(login{properties: table(field("connection_name", 'S', longstr(name)), field("note", 'S', longstr("kept")))})
}

// A shownConnection is what the management API tells of a connection.
type shownConnection struct {
	Name   string
	Given  string         `json:"user_provided_name"`
	Client map[string]any `json:"client_properties"`
}

// shown waits until the management API lists the connection of this name: on RabbitMQ that takes up to five seconds.
func (t *T) shown(name string) (found shownConnection) {
	t.Helper()
	t.eventually("the connection "+name, func() bool {
		var all []shownConnection
		t.must(json.Unmarshal(t.ask("GET", nil, "connections").body, &all))
		for _, c := range all {
			if c.Given == name {
				found = c
				return true
			}
		}
		return false
	})
	return found
}

var connectionLimitCases = []Case{
	{
		Topic: surface, Section: 3, Name: "vhost-connection-limit",
		Rule: "A connection beyond the limit of its virtual host is refused with 530, which gives the limit.",
		Run: func(t *T) {
			t.ownVhost()
			t.manage("PUT", object{"value": 1}, "vhost-limits", t.vhost, "max-connections")
			t.connect()
			s := t.socket()
			s.open(login{})
			s.refused(530, "NOT_ALLOWED - access to vhost '"+t.vhost+"' refused for user '"+t.broker.uri.Username+"': connection limit (1) is reached")
		},
	},
	{
		Topic: surface, Section: 3, Name: "user-connection-limit",
		Rule: "A connection beyond the limit of its user is refused with 530, which gives the limit.",
		Run: func(t *T) {
			_, user := t.as(everything)
			t.manage("PUT", object{"value": 1}, "user-limits", user, "max-connections")
			s := t.socket()
			s.open(login{user: user, password: "secret"})
			s.refused(530, "NOT_ALLOWED - connection refused for user '"+user+"': user connection limit (1) is reached")
		},
	},
	{
		Topic: surface, Section: 3, Name: "limit-lifted",
		Rule: "When a connection limit is removed or raised, the next connection is accepted.",
		Run: func(t *T) {
			t.ownVhost()
			t.manage("PUT", object{"value": 0}, "vhost-limits", t.vhost, "max-connections")
			_, err := t.dial(t.broker.uri.Username, t.broker.uri.Password, t.vhost)
			t.refusalLike(err, 530, "connection limit (0) is reached")
			t.manage("DELETE", nil, "vhost-limits", t.vhost, "max-connections")
			t.connect()
		},
	},
	{
		Topic: surface, Section: 6, Name: "user-channel-limit",
		Rule: "A channel beyond the limit of its user ends the connection with 530, which gives the limit.",
		Run: func(t *T) {
			ch, user := t.as(everything)
			t.manage("PUT", object{"value": 1}, "user-limits", user, "max-channels")
			_, err := ch.conn.Channel()
			// RabbitMQ 4.0 names the node where it means the user.
			t.refusalLike(err, 530, "has reached the maximum allowed user limit of (1)")
		},
	},
	{
		Topic: surface, Section: 6, Name: "vhost-queue-limit",
		Rule: "A new queue beyond the limit of its virtual host is refused with 406, which gives the limit; one that " +
			"exists can be declared again.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			ch.queue("q")
			t.manage("PUT", object{"value": 1}, "vhost-limits", t.vhost, "max-queues")
			ch.queue("q")
			q := t.name("two")
			_, err := ch.QueueDeclare(q, false, false, false, false, amqp.Table{})
			t.refusal(err, 406, "PRECONDITION_FAILED - cannot declare queue '"+q+"': queue limit in vhost '"+t.vhost+"' (1) is reached")
		},
	},
}
