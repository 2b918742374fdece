package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/logging"
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
			return fmt.Errorf("%q is not allowed, only none is; to set an address, add a name to the key, such as '.default'", value)
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

// hostPort sets a whole listener.
func hostPort(of func(*Settings) *place) set {
	return func(s *Settings, _ []string, value string) error {
		at, err := address(value)
		if err != nil {
			return err
		}
		of(s).host, of(s).port, err = net.SplitHostPort(at)
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

// entries are a list whose places have names, most of them numbers.
type entries map[string]string

// listed collects a list.
func listed(of func(*Settings) *entries) set {
	return func(s *Settings, names []string, value string) error {
		if *of(s) == nil {
			*of(s) = entries{}
		}
		(*of(s))[names[0]] = value
		return nil
	}
}

// inOrder lists the values: those whose names are numbers by these, then the others by their names.
func (n entries) inOrder() (list []string) {
	number := func(name string) int {
		if at, err := strconv.Atoi(name); err == nil {
			return at
		}
		return math.MaxInt
	}
	for _, name := range slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	}) {
		list = append(list, n[name])
	}
	return list
}

// The bounds of frame_max: what every frame may be, what RabbitMQ up to 4.0 accepts as its bound, and the largest.
const (
	frameFloor, frameFloorOld, frameCeiling = 8192, 4096, 16 << 20
)

// frameMax reads the largest frame; 0, for none, is the largest there is.
func frameMax(s *Settings, _ []string, value string) error {
	if value == "0" {
		value = strconv.Itoa(frameCeiling)
	}
	n, err := bytesize(value)
	if err != nil {
		return err
	}
	if n < frameFloorOld || n > frameCeiling {
		return fmt.Errorf("%q is not from %d to %d", value, frameFloor, frameCeiling)
	}
	if n < frameFloor {
		s.note(slog.LevelWarn, "frame_max: %s is below the minimum of the protocol; %d is used", value, frameFloor)
		n = frameFloor
	}
	clients(s).FrameMax = uint32(n)
	return nil
}

// noDelay accepts what is so, and warns of what is not done.
func noDelay(s *Settings, _ []string, value string) error {
	on, err := boolean(value)
	if err == nil && !on {
		s.note(slog.LevelWarn, "tcp_listen_options.nodelay: false has no effect: data is always sent immediately")
	}
	return err
}

// backend accepts the one that there is.
func backend(_ *Settings, _ []string, value string) error {
	switch value {
	case "internal", "rabbit_auth_backend_internal":
		return nil
	}
	return fmt.Errorf("%q is not supported: only internal is, the broker's own users", value)
}

// hashing reads how passwords are kept; MD5 is too weak to make new ones.
func hashing(s *Settings, _ []string, value string) error {
	const usual = "rabbit_password_hashing_sha256"
	if value == "rabbit_password_hashing_md5" {
		s.note(slog.LevelWarn, "password_hashing_module: new passwords are stored as SHA-256: MD5 is too weak and supported for imported users only")
		value = usual
	}
	value, err := oneOf(usual, "rabbit_password_hashing_sha512")(value)
	if err == nil {
		s.Broker.Passwords.Hashing = value
	}
	return err
}

func noLoopbackUsers(s *Settings, _ []string, value string) error {
	if value != "none" {
		return fmt.Errorf("%q is not allowed, only none is; set a user with 'loopback_users.NAME = true'", value)
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

// firstTag sets a tag of the first user: if any is named, it has those alone. Source: RabbitMQ default_user_tags.
func firstTag(s *Settings, names []string, value string) error {
	has, err := boolean(value)
	if err != nil {
		return err
	}
	f := first(s)
	if !s.tagged {
		f.Tags, s.tagged = nil, true
	}
	f.Tags = slices.DeleteFunc(slices.Clone(f.Tags), func(t string) bool { return t == names[0] })
	if has {
		f.Tags = append(f.Tags, names[0])
	}
	return nil
}

// tag adds a word about the node or the cluster. Source: RabbitMQ node_tags, cluster_tags.
func tag(of func(*Settings) *map[string]string) set {
	return func(s *Settings, names []string, value string) error {
		if *of(s) == nil {
			*of(s) = map[string]string{}
		}
		(*of(s))[names[0]] = value
		return nil
	}
}

// ratesMode takes the modes that RabbitMQ has, and tells that there is one here.
func ratesMode(s *Settings, _ []string, value string) error {
	value, err := oneOf("basic", "detailed", "none")(value)
	if err == nil && value != "basic" {
		s.note(slog.LevelWarn, "management.rates_mode = %s: rates are collected as in basic", value)
	}
	return err
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

// relativeTo reads a share of the memory. Of an absolute and a relative threshold of one source the absolute counts:
// Load sees to the order. Source: RabbitMQ configure, vm_memory_high_watermark.
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

func timeFormat(value string) (logging.TimeFormat, error) {
	if value == "lager_default" { // of older series: with a blank, too
		value = string(logging.SpacedTime)
	}
	value, err := oneOf(string(logging.SpacedTime), string(logging.StrictTime), string(logging.EpochMicro), string(logging.EpochSecs))(value)
	return logging.TimeFormat(value), err
}

func categoryLevel(s *Settings, names []string, value string) error {
	if slices.Contains([]string{"prelaunch", "ldap", "queue_mirroring", "osiris", "shovel", "feature_flags", "runtime_parameters", "user_management",
		"global"}, names[0]) {
		_, err := level(value) // of parts that are not here
		return err
	}
	if !slices.Contains(logging.Categories, names[0]) {
		return fmt.Errorf("unknown log category %q; known are %s", names[0], strings.Join(logging.Categories, ", "))
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
		{name: prefix + ".depth", set: to(whole[int](0, 255), func(s *Settings) *int { return &of(s).tls.Depth })},
		{name: prefix + ".versions.$number", set: listed(func(s *Settings) *entries { return &of(s).versions })},
		{name: prefix + ".ciphers.$number", set: listed(func(s *Settings) *entries { return &of(s).ciphers })},
		{name: prefix + ".password", set: func(*Settings, []string, string) error {
			return fmt.Errorf("keys with a password are not supported: remove it with 'openssl pkey -in FILE -out FILE'")
		}, secret: true},
		{name: prefix, set: to(fixed("none"), drop)},
		{name: prefix + ".crl_check", why: "certificate revocation lists are not checked", loud: true},
	}
	for _, name := range []string{"client_renegotiation", "secure_renegotiate", "honor_cipher_order", "honor_ecc_order", "reuse_sessions",
		"reuse_session", "bypass_pem_cache", "dh", "dhfile", "log_level", "log_alert", "psk_identity"} {
		all = append(all, key{name: prefix + "." + name}) // Go's to choose
	}
	for _, name := range []string{"cert", "cacerts.**", "key.**"} {
		all = append(all, key{name: prefix + "." + name, set: no("not supported: set certfile, keyfile and cacertfile")})
	}
	return all
}

// security is a set of certificates while it is read.
type security struct {
	tls               bartleby.TLS
	versions, ciphers entries
}

func ofAMQP(s *Settings) *security       { return &s.tls.amqp }
func ofManagement(s *Settings) *security { return &s.tls.management }
func ofPrometheus(s *Settings) *security { return &s.tls.prometheus }

// options puts the lists in.
func (s *security) options() bartleby.TLS {
	s.tls.Versions, s.tls.Ciphers = s.versions.inOrder(), s.ciphers.inOrder()
	return s.tls
}
