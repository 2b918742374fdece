package conformance

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A socket is a client without a library, for what a library would not send or would not show.
type socket struct {
	net.Conn
	t  *T
	in *bufio.Reader
}

// The frame types and the methods that the cases send or wait for.
const (
	frameMethod, frameHeader, frameBody, frameHeartbeat = 1, 2, 3, 8
	frameEnd                                            = 0xCE
)

// A methodID is class and method.
type methodID [2]uint16

var (
	connectionStart   = methodID{10, 10}
	connectionStartOk = methodID{10, 11}
	connectionTune    = methodID{10, 30}
	connectionTuneOk  = methodID{10, 31}
	connectionOpen    = methodID{10, 40}
	connectionOpenOk  = methodID{10, 41}
	connectionClose   = methodID{10, 50}
	connectionCloseOk = methodID{10, 51}
	channelOpen       = methodID{20, 10}
	channelOpenOk     = methodID{20, 11}
	channelFlow       = methodID{20, 20}
	channelFlowOk     = methodID{20, 21}
	channelClose      = methodID{20, 40}
	channelCloseOk    = methodID{20, 41}
	accessRequest     = methodID{30, 10}
	accessRequestOk   = methodID{30, 11}
	queueDeclare      = methodID{50, 10}
	queueDeclareOk    = methodID{50, 11}
	queueBind         = methodID{50, 20}
	queueBindOk       = methodID{50, 21}
	queueDelete       = methodID{50, 40}
	queueDeleteOk     = methodID{50, 41}
	basicQos          = methodID{60, 10}
	basicQosOk        = methodID{60, 11}
	basicConsume      = methodID{60, 20}
	basicConsumeOk    = methodID{60, 21}
	basicCancel       = methodID{60, 30}
	basicPublish      = methodID{60, 40}
	basicReturn       = methodID{60, 50}
	basicDeliver      = methodID{60, 60}
	basicGet          = methodID{60, 70}
	basicGetOk        = methodID{60, 71}
	basicGetEmpty     = methodID{60, 72}
	basicAck          = methodID{60, 80}
	basicRecoverAsync = methodID{60, 100}
	basicRecover      = methodID{60, 110}
	confirmSelect     = methodID{85, 10}
	confirmSelectOk   = methodID{85, 11}
)

// longstr is a string with a 32-bit length; a plain string is written as a short one.
type longstr string

// emptyTable is a field table without fields.
var emptyTable = []byte{0, 0, 0, 0}

// encode writes arguments: byte, uint16, uint32, uint64, string (short), longstr, []byte (as it is).
func encode(args ...any) []byte {
	var b []byte
	for _, a := range args {
		switch v := a.(type) {
		case byte:
			b = append(b, v)
		case uint16:
			b = binary.BigEndian.AppendUint16(b, v)
		case uint32:
			b = binary.BigEndian.AppendUint32(b, v)
		case uint64:
			b = binary.BigEndian.AppendUint64(b, v)
		case string:
			b = append(append(b, byte(len(v))), v...)
		case longstr:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("encode: %T", a))
		}
	}
	return b
}

// table writes a field table from names and encoded values, tag included.
func table(fields ...[]byte) []byte {
	all := bytes.Join(fields, nil)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(all))), all...)
}

// field writes one field of a table: name, tag and value.
func field(name string, tag byte, value ...any) []byte {
	return append(encode(name, tag), encode(value...)...)
}

// frameOf draws a frame: type, channel, size, payload, end mark.
func frameOf(kind byte, channel uint16, payload []byte) []byte {
	return append(append(encode(kind, channel, uint32(len(payload))), payload...), frameEnd)
}

func methodOf(channel uint16, id methodID, args ...any) []byte {
	return frameOf(frameMethod, channel, append(encode(id[0], id[1]), encode(args...)...))
}

// publishOf is a publish through the default exchange without properties: method, header, and a body frame if any.
func publishOf(channel uint16, key, body string) []byte {
	return join(
		methodOf(channel, basicPublish, uint16(0), "", key, byte(0)),
		headerOf(channel, uint64(len(body))),
		bodyOf(channel, body))
}

func headerOf(channel uint16, size uint64) []byte {
	return frameOf(frameHeader, channel, encode(uint16(60), uint16(0), size, uint16(0)))
}

func bodyOf(channel uint16, body string) []byte {
	if body == "" {
		return nil
	}
	return frameOf(frameBody, channel, []byte(body))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// socket connects and sends nothing yet.
func (t *T) socket() *socket {
	t.Helper()
	addr := net.JoinHostPort(t.broker.uri.Host, strconv.Itoa(t.broker.uri.Port))
	c, err := net.DialTimeout("tcp", addr, patience)
	t.must(err)
	t.Cleanup(func() { c.Close() })
	t.lifeline.add(c)
	return &socket{Conn: c, t: t, in: bufio.NewReader(c)}
}

func (s *socket) send(b []byte) {
	s.t.Helper()
	_, err := s.Write(b)
	s.t.must(err)
}

func (s *socket) sendMethod(channel uint16, id methodID, args ...any) {
	s.t.Helper()
	s.send(methodOf(channel, id, args...))
}

// A frame is what the broker sent.
type frame struct {
	kind    byte
	channel uint16
	payload []byte
}

// method names the method of a method frame.
func (f frame) method() methodID {
	if f.kind != frameMethod || len(f.payload) < 4 {
		return methodID{}
	}
	return methodID{binary.BigEndian.Uint16(f.payload), binary.BigEndian.Uint16(f.payload[2:])}
}

// args reads the arguments of a method frame.
func (f frame) args() *reader { return &reader{f.payload[4:]} }

// read returns the next frame, or an error that wraps io.EOF when the broker has closed the socket.
func (s *socket) read(within time.Duration) (frame, error) {
	if err := s.SetReadDeadline(time.Now().Add(within)); err != nil {
		return frame{}, err
	}
	var head [7]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return frame{}, err
	}
	f := frame{head[0], binary.BigEndian.Uint16(head[1:]), make([]byte, binary.BigEndian.Uint32(head[3:])+1)}
	if _, err := io.ReadFull(s.in, f.payload); err != nil {
		return frame{}, err
	}
	last := len(f.payload) - 1
	if f.payload[last] != frameEnd {
		return frame{}, fmt.Errorf("the broker's frame ends with %#x", f.payload[last])
	}
	f.payload = f.payload[:last]
	return f, nil
}

// next returns the next frame that is no heartbeat.
func (s *socket) next() frame {
	s.t.Helper()
	for {
		f, err := s.read(patience)
		s.t.must(err)
		if f.kind != frameHeartbeat {
			return f
		}
	}
}

// want reads the next frame and fails the case unless it is this method.
func (s *socket) want(id methodID) *reader {
	s.t.Helper()
	f := s.next()
	if f.method() != id {
		s.t.Fatalf("got frame type %d method %v %q, want method %v", f.kind, f.method(), f.payload, id)
	}
	return f.args()
}

// refused reads the broker's connection.close, checks code and text, and answers it.
func (s *socket) refused(code uint16, text string) {
	s.t.Helper()
	got, reason := s.closing()
	if got != code || reason != text {
		s.t.Fatalf("got  %d %s\nwant %d %s", got, reason, code, text)
	}
}

// refusedLike is refused for texts of which clients rely on the beginning.
func (s *socket) refusedLike(code uint16, beginning string) {
	s.t.Helper()
	got, reason := s.closing()
	if got != code || !strings.HasPrefix(reason, beginning) {
		s.t.Fatalf("got  %d %s\nwant %d %s...", got, reason, code, beginning)
	}
}

func (s *socket) closing() (code uint16, text string) {
	s.t.Helper()
	a := s.want(connectionClose)
	code, text = a.uint16(), a.short()
	s.sendMethod(0, connectionCloseOk)
	s.ended()
	return code, text
}

// ended waits until the broker has closed the socket, whatever it sends before.
func (s *socket) ended() {
	s.t.Helper()
	for {
		if _, err := s.read(patience); errors.Is(err, os.ErrDeadlineExceeded) {
			s.t.Fatal("the broker does not close the socket")
		} else if err != nil {
			return
		}
	}
}

// A login says what a handshake sends; the zero value of a field stands for what most clients send.
type login struct {
	user, password, vhost, mechanism, response string
	properties                                 []byte
	channelMax                                 uint16
	frameMax                                   uint32
	heartbeat                                  uint16
}

// start sends the protocol header and start-ok, and returns before reading the answer.
func (s *socket) start(l login) {
	s.t.Helper()
	s.send([]byte("AMQP\x00\x00\x09\x01"))
	s.want(connectionStart)
	uri := s.t.broker.uri
	user, password := either(l.user, uri.Username), either(l.password, uri.Password)
	properties := l.properties
	if properties == nil {
		properties = emptyTable
	}
	response := either(l.response, "\x00"+user+"\x00"+password)
	s.sendMethod(0, connectionStartOk, properties, either(l.mechanism, "PLAIN"), longstr(response), "en_US")
}

// open does the whole handshake and returns before reading the answer to connection.open.
func (s *socket) open(l login) {
	s.t.Helper()
	s.start(l)
	s.want(connectionTune)
	channelMax, frameMax := l.channelMax, l.frameMax
	if channelMax == 0 {
		channelMax = 2047
	}
	if frameMax == 0 {
		frameMax = 131072
	}
	s.sendMethod(0, connectionTuneOk, channelMax, frameMax, l.heartbeat)
	s.sendMethod(0, connectionOpen, either(l.vhost, s.t.vhost), "", byte(0))
}

// session connects, logs in and opens channel 1.
func (t *T) session(l login) *socket {
	t.Helper()
	s := t.socket()
	s.open(l)
	s.want(connectionOpenOk)
	s.sendMethod(1, channelOpen, "")
	s.want(channelOpenOk)
	return s
}

// exclusive declares a queue that goes with the connection, and returns its name.
func (s *socket) exclusive(role string) string {
	s.t.Helper()
	name := s.t.name(role)
	s.sendMethod(1, queueDeclare, uint16(0), name, byte(0b100), emptyTable)
	s.want(queueDeclareOk)
	return name
}

// A reader takes the arguments of a method in order; what is missing reads as zero.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	n = min(n, len(r.b))
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) number(n int) (v uint64) {
	for _, c := range r.take(n) {
		v = v<<8 | uint64(c)
	}
	return v
}

func (r *reader) octet() byte    { return byte(r.number(1)) }
func (r *reader) uint16() uint16 { return uint16(r.number(2)) }
func (r *reader) uint32() uint32 { return uint32(r.number(4)) }
func (r *reader) uint64() uint64 { return r.number(8) }
func (r *reader) short() string  { return string(r.take(int(r.octet()))) }
func (r *reader) long() string   { return string(r.take(int(r.uint32()))) }
