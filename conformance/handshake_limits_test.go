package conformance

import (
	"slices"
	"strings"
)

var handshakeLimitCases = []Case{
	{
		Topic: surface, Section: 2, Name: "header-of-0-8",
		Rule:  "The header 1-1-8-0 of AMQP 0-8 is answered by another header, and the socket closes.",
		Since: "4.0", Before: "it opens a session",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x01\x01\x08\x00"))
			if t.since() {
				s.endedWithout(connectionStart)
			} else {
				s.want(connectionStart)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "frame-max-of-4096",
		Rule:  "A connection with a frame-max of 4096 is closed: the minimum is 8192.",
		Since: "4.1", Before: "4096 is the minimum",
		Run: func(t *T) {
			s := t.socket()
			s.open(login{frameMax: 4096})
			if t.since() {
				s.endedWithout(connectionClose, connectionOpenOk)
			} else {
				s.want(connectionOpenOk)
			}
		},
	},
	{
		Topic: surface, Section: 2, Name: "frame-of-6000-before-login",
		Rule:  "Frames of up to 8192 octets are accepted before the login is complete.",
		Since: "4.1", Before: "the maximum is 4096",
		Run: func(t *T) {
			s := t.socket()
			s.start(login{properties: table(field("note", 'S', longstr(strings.Repeat("n", 6000))))})
			if t.since() {
				s.want(connectionTune)
			} else {
				s.endedWithout(connectionTune)
			}
		},
	},
	{
		Topic: surface, Section: 3, Name: "mechanisms-not-offered",
		Rule: "Without TLS and without configuration, EXTERNAL and RABBIT-CR-DEMO are not offered.",
		Run: func(t *T) {
			s := t.socket()
			s.send([]byte("AMQP\x00\x00\x09\x01"))
			a := s.want(connectionStart)
			a.octet()
			a.octet()
			a.long()
			for _, m := range strings.Fields(a.long()) {
				if slices.Contains([]string{"EXTERNAL", "RABBIT-CR-DEMO"}, m) {
					t.Errorf("%s is offered", m)
				}
			}
		},
	},
}
