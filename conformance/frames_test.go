package conformance

import (
	"bytes"
	"slices"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

var frameCases = []Case{
	{
		Topic: surface, Section: 1, Name: "frame-too-large",
		Rule: "A frame larger than the negotiated maximum ends the connection with 501 and names both sizes.",
		Run: func(t *T) {
			s := t.session(login{frameMax: 8192})
			s.send(frameOf(frameBody, 1, make([]byte, 9000)))
			s.refused(501, "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,9000,8184}")
		},
	},
	{
		Topic: surface, Section: 1, Name: "bad-end-mark",
		Rule: "A frame that does not end with 0xCE ends the connection with 501, and the text has the actual byte.",
		Run: func(t *T) {
			s := t.session(login{})
			b := methodOf(1, basicQos, uint32(0), uint16(1), byte(0))
			b[len(b)-1] = 0x42
			s.send(b)
			code, text := s.closing()
			if code != 501 || !strings.HasPrefix(text, "FRAME_ERROR - type 1, ") || !strings.Contains(strings.Join(strings.Fields(text), ""), "{invalid_frame_end_marker,66}") {
				t.Fatalf("got %d %s", code, text)
			}
		},
	},
	{
		Topic: surface, Section: 1, Name: "unknown-frame-type",
		Rule: "A frame of an unknown type ends the connection with 501.",
		Run: func(t *T) {
			s := t.session(login{})
			s.send(frameOf(7, 1, []byte("x")))
			s.refusedLike(501, "FRAME_ERROR - ")
		},
	},
	unexpected("body-without-method", "A body frame without a content method before it ends the connection with 505.",
		bodyOf(1, "x")),
	unexpected("header-without-method", "A header frame without a content method before it ends the connection with 505.",
		headerOf(1, 1)),
	unexpected("method-instead-of-header", "A method where a content header is due ends the connection with 505.",
		methodOf(1, basicPublish, uint16(0), "", "q", byte(0)), methodOf(1, basicQos, uint32(0), uint16(1), byte(0))),
	unexpected("body-instead-of-header", "A body frame where a content header is due ends the connection with 505.",
		methodOf(1, basicPublish, uint16(0), "", "q", byte(0)), bodyOf(1, "x")),
	unexpected("method-instead-of-body", "A method where a body frame is due ends the connection with 505.",
		methodOf(1, basicPublish, uint16(0), "", "q", byte(0)), headerOf(1, 5), methodOf(1, basicQos, uint32(0), uint16(1), byte(0))),
	unexpected("header-of-another-class", "A content header of another class than the method's ends the connection with 505.",
		methodOf(1, basicPublish, uint16(0), "", "q", byte(0)), frameOf(frameHeader, 1, encode(uint16(50), uint16(0), uint64(0), uint16(0)))),
	unexpected("heartbeat-on-a-channel", "A heartbeat on a channel other than 0 ends the connection with 505.",
		frameOf(frameHeartbeat, 1, nil)),
	ends("unknown-method", "An unknown method of a known class ends the connection.", methodOf(1, methodID{60, 999})),
	ends("unknown-class", "A method of an unknown class ends the connection.", methodOf(1, methodID{999, 10})),
	ends("method-cut-short", "A method whose arguments are cut short ends the connection.", methodOf(1, queueDeclare, uint16(0), byte(200), []byte("short"))),
	ends("unknown-field-type", "A field table with an unknown type tag ends the connection.",
		methodOf(1, queueDeclare, uint16(0), "q", byte(4), table(field("x", 'Q', byte(1))))),
	{
		Topic: surface, Section: 1, Name: "empty-body-has-no-frame",
		Rule: "A message without a body is a method and a header; no body frame is sent in either direction.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.send(publishOf(1, q, ""))
			s.sendMethod(1, basicGet, uint16(0), q, byte(1))
			s.want(basicGetOk)
			t.equal("body size", s.header(), uint64(0))
			s.sendMethod(1, basicGet, uint16(0), q, byte(1))
			s.want(basicGetEmpty)
		},
	},
	{
		Topic: surface, Section: 1, Name: "body-in-any-split",
		Rule: "A body may come in frames of any size, with heartbeats and frames of other channels in between.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.sendMethod(2, channelOpen, "")
			s.want(channelOpenOk)
			s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
			s.send(frameOf(frameHeartbeat, 0, nil))
			s.send(headerOf(1, 4))
			s.send(bodyOf(1, "a"))
			s.send(publishOf(2, q, "other"))
			s.send(bodyOf(1, "bc"))
			s.send(frameOf(frameHeartbeat, 0, nil))
			s.send(bodyOf(1, "d"))
			got := map[string]bool{}
			for channel := range uint16(2) {
				s.sendMethod(1+channel, basicGet, uint16(0), q, byte(1)) // behind what this channel published
				s.want(basicGetOk)
				got[string(s.content())] = true
			}
			t.equal("bodies", got, map[string]bool{"abcd": true, "other": true})
		},
	},
	{
		Topic: surface, Section: 1, Name: "broker-splits-at-frame-max",
		Rule: "The broker splits a body into frames of at most the negotiated maximum less 8 octets.",
		Run: func(t *T) {
			s := t.session(login{frameMax: 8192})
			q := s.exclusive("q")
			body := strings.Repeat("0123456789", 2000)
			s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
			s.send(headerOf(1, uint64(len(body))))
			for rest := body; rest != ""; {
				n := min(len(rest), 8184)
				s.send(bodyOf(1, rest[:n]))
				rest = rest[n:]
			}
			s.sendMethod(1, basicGet, uint16(0), q, byte(1))
			s.want(basicGetOk)
			t.equal("body size", s.header(), uint64(len(body)))
			var sizes []int
			var got []byte
			for len(got) < len(body) {
				f := s.next()
				got = append(got, f.payload...)
				sizes = append(sizes, len(f.payload))
			}
			t.equal("frame sizes", sizes, []int{8184, 8184, 20000 - 2*8184})
			t.equal("body", string(got), body)
		},
	},
	{
		Topic: surface, Section: 5, Name: "headers-pass-byte-for-byte",
		Rule: "Fields of every type pass through the broker unchanged, and arrive in the order of their names.", Since: "3.13", Before: "they arrive in the order in which they were sent",
		Choice: asSaid, Differs: "they arrive in the order in which they were sent (on purpose: values of publishers are passed on)",
		Run: func(t *T) {
			fields := [][]byte{
				field("z", 't', byte(1)), field("b", 'b', byte(0xFF)), field("B", 'B', byte(7)), field("s", 's', uint16(0xFFFE)),
				field("u", 'u', uint16(9)), field("I", 'I', uint32(0xFFFFFFFF)), field("i", 'i', uint32(9)),
				field("l", 'l', uint64(1)<<40), field("f", 'f', uint32(0x3FC00000)), field("d", 'd', uint64(0x3FF8000000000000)),
				field("D", 'D', byte(2), uint32(314)), field("S", 'S', longstr("text")), field("x", 'x', longstr("\x00\xFF")),
				field("T", 'T', uint64(1700000000)), field("F", 'F', table(field("n", 'V'))), field("V", 'V'),
				field("A", 'A', longstr(encode(byte('I'), uint32(1), byte('S'), longstr("two")))),
			}
			got := t.throughQueue(table(fields...))
			if t.since() && !t.differs() {
				slices.SortFunc(fields, bytes.Compare) // all names are of one octet
			}
			t.equal("headers", got, table(fields...))
		},
	},
	{
		Topic: surface, Section: 5, Name: "headers-of-one-name",
		Rule: "If two headers have the same name, only the first arrives.", Since: "3.13", Before: "both arrive",
		Choice: asSaid, Differs: "both arrive (on purpose: values of publishers are passed on)",
		Run: func(t *T) {
			first, second := field("k", 'S', longstr("first")), field("k", 'S', longstr("second"))
			want := table(first, second)
			got := t.throughQueue(want)
			if t.since() && !t.differs() {
				want = table(first)
			}
			t.equal("headers", got, want)
		},
	},
	{
		Topic: surface, Section: 1, Name: "all-properties-pass",
		Rule: "All fourteen properties of a message reach the consumer unchanged.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			properties := encode(uint16(0xFFFC), "text/plain", "gzip", table(field("k", 'S', longstr("v"))), byte(2), byte(5),
				"correlation", "reply", "60000", "message", uint64(1700000000), "type", t.broker.uri.Username, "app", "cluster")
			s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
			s.send(frameOf(frameHeader, 1, append(encode(uint16(60), uint16(0), uint64(0)), properties...)))
			s.sendMethod(1, basicGet, uint16(0), q, byte(1))
			s.want(basicGetOk)
			if got := s.next().payload[12:]; !bytes.Equal(got, properties) {
				t.Fatalf("sent %q\ngot  %q", properties, got)
			}
		},
	},
	{
		Topic: surface, Section: 5, Name: "integer-argument-of-any-type",
		Rule: "An integer argument of a queue may have any integer type.",
		Run: func(t *T) {
			s := t.session(login{})
			for tag, value := range map[byte]any{'b': byte(100), 'B': byte(100), 's': uint16(100), 'u': uint16(100), 'I': uint32(100),
				'i': uint32(100), 'l': uint64(100), 'L': uint64(100)} {
				args := table(field("x-max-length", tag, value))
				s.sendMethod(1, queueDeclare, uint16(0), t.name("q"), byte(4), args) // the second and later ones find it equivalent
				s.want(queueDeclareOk)
			}
		},
	},
	notInteger("float", 1.5, `"expected integer, got double"`),
	notInteger("string", "1000", `"expected integer, got longstr"`),
	notInteger("boolean", true, `"expected integer, got bool"`),
}

// notInteger is a case of an integer argument of another type.
func notInteger(name string, value any, detail string) Case {
	return Case{
		Topic: surface, Section: 5, Name: "integer-argument-as-" + name,
		Rule: "An integer argument given as " + name + " is refused with 406, and the text names the type.",
		Run: func(t *T) {
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, false, false, true, false, amqp.Table{"x-max-length": value})
			t.refusal(err, 406, "PRECONDITION_FAILED - invalid arg 'x-max-length' for queue '"+q+"' in vhost '"+t.vhost+"': "+detail)
		},
	}
}

// unexpected is a case of frames in an order that the protocol does not know.
func unexpected(name, rule string, frames ...[]byte) Case {
	return Case{
		Topic: surface, Section: 1, Name: name, Rule: rule,
		Run: func(t *T) {
			s := t.session(login{})
			s.send(join(frames...))
			s.refusedLike(505, "UNEXPECTED_FRAME - ")
		},
	}
}

// ends is a case of input so broken that the reply code is the broker's choice; the connection ends, others live on.
func ends(name, rule string, input []byte) Case {
	return Case{
		Topic: surface, Section: 1, Name: name, Rule: rule,
		Run: func(t *T) {
			other := t.channel()
			s := t.session(login{})
			s.send(input)
			if f, err := s.read(patience); err == nil {
				t.equal("answer", f.method(), connectionClose)
				s.sendMethod(0, connectionCloseOk)
				s.ended()
			}
			other.settled()
		},
	}
}

// throughQueue publishes an empty message with these headers, the encoding of a table, and returns those that arrive.
func (t *T) throughQueue(headers []byte) []byte {
	t.Helper()
	s := t.session(login{})
	q := s.exclusive("q")
	s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
	s.send(frameOf(frameHeader, 1, append(encode(uint16(60), uint16(0), uint64(0), uint16(1<<13)), headers...)))
	s.sendMethod(1, basicGet, uint16(0), q, byte(1))
	s.want(basicGetOk)
	return s.next().payload[14:] // after class, weight, body size and property flags
}

// header reads a content header and returns the body size.
func (s *socket) header() uint64 {
	s.t.Helper()
	f := s.next()
	s.t.equal("frame type", f.kind, byte(frameHeader))
	r := reader{f.payload[4:]}
	return r.uint64()
}

// content reads header and body frames.
func (s *socket) content() []byte {
	s.t.Helper()
	size := s.header()
	var body []byte
	for uint64(len(body)) < size {
		f := s.next()
		s.t.equal("frame type", f.kind, byte(frameBody))
		body = append(body, f.payload...)
	}
	return body
}
