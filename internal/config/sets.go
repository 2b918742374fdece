package config

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/logbook"
)

// places are where a protocol listens, by the name of the listener.
type places map[string]string

// place is where one listener is. Nothing set: where it is by default.
type place struct{ host, port string }

// address is where it listens, or by default on a port of all interfaces.
func (p place) address(usual string) string {
	if p.port == "" {
		p.port = usual
	}
	return net.JoinHostPort(p.host, p.port)
}

// listeners sets all of a protocol: the only value that there is is none, to have none.
func listeners(of func(*Settings) *places) set {
	return func(s *Settings, _ []string, value string) error {
		if value != "none" {
			return fmt.Errorf("%q is not none; an address is set with a name behind the key, such as '.default'", value)
		}
		*of(s) = places{}
		return nil
	}
}

func listener(of func(*Settings) *places) set {
	return func(s *Settings, names []string, value string) error {
		at, err := address(value)
		if err != nil {
			return err
		}
		p := *of(s)
		delete(p, unnamed)
		p[names[0]] = at
		return nil
	}
}

func port(of func(*Settings) *place) set {
	return func(s *Settings, _ []string, value string) error {
		_, err := whole[int](0, 65535)(value)
		of(s).port = value
		return err
	}
}

func host(of func(*Settings) *place) set {
	return func(s *Settings, _ []string, value string) error {
		if net.ParseIP(value) == nil {
			return fmt.Errorf("%q is not an IP address", value)
		}
		of(s).host = value
		return nil
	}
}

// numbered collects a list whose places are numbers.
func numbered(of func(*Settings) *map[int]string) set {
	return func(s *Settings, names []string, value string) error {
		n, err := whole[int](0, 10000)(names[0])
		if err != nil {
			return fmt.Errorf("the last part of the key: %w", err)
		}
		if *of(s) == nil {
			*of(s) = map[int]string{}
		}
		(*of(s))[n] = value
		return nil
	}
}

// frameMax reads the largest frame; 0, for none, is the largest there is.
func frameMax(s *Settings, _ []string, value string) (err error) {
	if value == "0" {
		value = "16777216"
	}
	clients(s).FrameMax, err = whole[uint32](8192, 16<<20)(value)
	return err
}

// backend accepts the one that there is.
func backend(_ *Settings, _ []string, value string) error {
	switch value {
	case "internal", "rabbit_auth_backend_internal":
		return nil
	}
	return fmt.Errorf("%q is not supported: only internal is, users that the broker itself knows", value)
}

func noLoopbackUsers(s *Settings, _ []string, value string) error {
	if value != "none" {
		return fmt.Errorf("%q is not none; a user is set with 'loopback_users.NAME = true'", value)
	}
	clients(s).LoopbackUsers = []string{}
	return nil
}

func loopbackUser(s *Settings, names []string, value string) error {
	only, err := boolean(value)
	if err != nil {
		return err
	}
	c := clients(s)
	c.LoopbackUsers = slices.DeleteFunc(slices.Clone(c.LoopbackUsers), func(u string) bool { return u == names[0] })
	if only {
		c.LoopbackUsers = append(c.LoopbackUsers, names[0])
	}
	return nil
}

func firstTag(s *Settings, names []string, value string) error {
	has, err := boolean(value)
	if err != nil {
		return err
	}
	f := first(s)
	f.Tags = slices.DeleteFunc(slices.Clone(f.Tags), func(t string) bool { return t == names[0] })
	if has {
		f.Tags = append(f.Tags, names[0])
	}
	return nil
}

func absoluteTo(of func(*Settings) **bartleby.Threshold) set {
	return func(s *Settings, _ []string, value string) error {
		n, err := bytes(value)
		if err == nil {
			*of(s) = bartleby.Absolute(n)
		}
		return err
	}
}

// relativeTo reads a share of the memory. Of an absolute and a relative threshold of one source the absolute counts: Load
// sees to the order. Source: RabbitMQ configure, vm_memory_high_watermark.
func relativeTo(of func(*Settings) **bartleby.Threshold) set {
	return func(s *Settings, _ []string, value string) error {
		f, err := share(value)
		if err == nil {
			*of(s) = bartleby.Relative(f)
		}
		return err
	}
}

func header(name string) set {
	return func(s *Settings, _ []string, value string) error {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("%q cannot be in a header", value)
		}
		if s.Broker.Web.Headers == nil {
			s.Broker.Web.Headers = http.Header{}
		}
		s.Broker.Web.Headers.Set(name, value)
		return nil
	}
}

// formatter reads the form of log lines; true is JSON.
func formatter(value string) (json bool, err error) {
	value, err = oneOf("plaintext", "text", "json")(value)
	return value == "json", err
}

func logTo(s *Settings, _ []string, value string) error {
	value, err := oneOf("stdout", "stderr", "standard_io", "standard_error")(value)
	s.LogToStdout = value == "stdout" || value == "standard_io"
	return err
}

func timeFormat(value string) (logbook.TimeFormat, error) {
	value, err := oneOf(string(logbook.SpacedTime), string(logbook.StrictTime), string(logbook.EpochMicro), string(logbook.EpochSecs))(value)
	return logbook.TimeFormat(value), err
}

func categoryLevel(s *Settings, names []string, value string) error {
	if !slices.Contains(logbook.Categories, names[0]) {
		return fmt.Errorf("there is no log category %q: %s are", names[0], strings.Join(logbook.Categories, ", "))
	}
	from, err := level(value)
	if err == nil {
		s.Log.Levels[names[0]] = from
	}
	return err
}

// tlsKeys are the keys of one set of certificates.
func tlsKeys(prefix string, of func(*Settings) *security) []key {
	verify := func(value string) (bool, error) {
		value, err := oneOf("verify_peer", "verify_none")(value)
		return value == "verify_peer", err
	}
	all := []key{
		{name: prefix + ".certfile", set: to(text, func(s *Settings) *string { return &of(s).tls.CertFile })},
		{name: prefix + ".keyfile", set: to(text, func(s *Settings) *string { return &of(s).tls.KeyFile })},
		{name: prefix + ".cacertfile", set: to(text, func(s *Settings) *string { return &of(s).tls.CAFile })},
		{name: prefix + ".verify", set: to(verify, func(s *Settings) *bool { return &of(s).tls.VerifyPeer }), normal: "verify_none"},
		{name: prefix + ".fail_if_no_peer_cert", set: to(boolean, func(s *Settings) *bool { return &of(s).tls.NeedPeer }), normal: "false"},
		{name: prefix + ".depth", set: to(whole[int](0, 100), func(s *Settings) *int { return &of(s).tls.Depth })},
		{name: prefix + ".versions.$number", set: numbered(func(s *Settings) *map[int]string { return &of(s).versions })},
		{name: prefix + ".ciphers.$number", set: numbered(func(s *Settings) *map[int]string { return &of(s).ciphers })},
		{name: prefix + ".password", set: func(*Settings, []string, string) error {
			return fmt.Errorf("keys with a password are not supported: 'openssl pkey -in FILE -out FILE' takes it off")
		}, secret: true},
		{name: prefix, set: to(fixed("none"), drop)},
		{name: prefix + ".crl_check", why: "certificates are not looked up in lists of revoked ones", loud: true},
	}
	for _, name := range []string{"client_renegotiation", "secure_renegotiate", "honor_cipher_order", "honor_ecc_order", "reuse_sessions",
		"reuse_session", "bypass_pem_cache", "dh", "dhfile", "log_level", "log_alert", "psk_identity"} {
		all = append(all, key{name: prefix + "." + name}) // Go's to choose
	}
	for _, name := range []string{"cert", "cacerts.**", "key.**"} {
		all = append(all, key{name: prefix + "." + name, set: no("name files: certfile, keyfile, cacertfile")})
	}
	return all
}

// security is a set of certificates while it is read.
type security struct {
	tls               bartleby.TLS
	versions, ciphers map[int]string
}

func ofAMQP(s *Settings) *security       { return &s.tls.amqp }
func ofManagement(s *Settings) *security { return &s.tls.management }
func ofPrometheus(s *Settings) *security { return &s.tls.prometheus }

// options puts the lists in.
func (s *security) options() bartleby.TLS {
	s.tls.Versions, s.tls.Ciphers = inOrder(s.versions), inOrder(s.ciphers)
	return s.tls
}

// inOrder lists the values by their numbers.
func inOrder(m map[int]string) []string {
	var at []int
	for i := range m {
		at = append(at, i)
	}
	slices.Sort(at)
	var list []string
	for _, i := range at {
		list = append(list, m[i])
	}
	return list
}
