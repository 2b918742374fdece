package accounts

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// booted is a machine with the standard defaults and the commands given.
func booted(t *testing.T, more ...Command) *Machine {
	t.Helper()
	m := New()
	for _, c := range append(StandardDefaults().Commands(Salt{1, 2, 3, 4}), more...) {
		step(t, m, c)
	}
	return m
}

func step(t *testing.T, m *Machine, c Command) Outcome {
	t.Helper()
	var out Outcome
	if err := m.Step(c, &out); err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return out
}

func TestFirstBoot(t *testing.T) {
	// If this fails, a new node has no virtual host "/" or nobody can log in as guest.
	t.Parallel()
	v := booted(t).View()
	h, ok := v.VHost("/")
	if !ok || h.LogID != 16 || h.Description != "Default virtual host" {
		t.Errorf("virtual host / is %+v", h)
	}
	if ok, reason := v.Authenticate("guest", "guest"); !ok {
		t.Errorf("guest refused: %s", reason)
	}
	u, _ := v.User("guest")
	if !u.ActsAs(TagManagement) || !u.ActsAs(TagPolicymaker) || !u.ActsAs(TagMonitoring) || !u.ActsAs(TagAdministrator) {
		t.Errorf("guest lacks an administrator's rights: %v", u.Tags)
	}
	for _, op := range []Operation{Configure, Write, Read} {
		if !v.Allowed("guest", "/", op, "anything") {
			t.Errorf("guest may not %v", op)
		}
	}
}

func TestDefaultsWithoutUser(t *testing.T) {
	// If this fails, switching the default user off still makes one.
	t.Parallel()
	d := StandardDefaults()
	d.User = ""
	if cs := d.Commands(Salt{}); len(cs) != 1 || cs[0].Kind != PutVHost {
		t.Errorf("commands are %+v", cs)
	}
}

func TestPasswordVectors(t *testing.T) {
	// If this fails, users imported from RabbitMQ cannot log in.
	t.Parallel()
	for password, encoded := range map[string]string{
		"test12": "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR",
		"guest":  "9/1i+jKFRpbTRV1PtRnzFFYibT3cEpP92JeZ8YKGtflf4e/u",
	} {
		hash, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		v := booted(t, Command{Kind: PutUser, User: "u", Hash: hash}).View()
		if ok, reason := v.Authenticate("u", password); !ok {
			t.Errorf("%s refused: %s", password, reason)
		}
		if ok, _ := v.Authenticate("u", password+"x"); ok {
			t.Errorf("%sx accepted", password)
		}
		if again := HashPassword(SHA256, Salt(hash), password); !slices.Equal(again, hash) {
			t.Errorf("hash of %s is %x, want %x", password, again, hash)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	// If this fails, someone gets in without the password, or a user of another algorithm does not.
	t.Parallel()
	v := booted(t,
		Command{Kind: PutUser, User: "sha512", Password: "p", Algorithm: SHA512},
		Command{Kind: PutUser, User: "md5", Password: "p", Algorithm: MD5},
		Command{Kind: PutUser, User: "none"},
		Command{Kind: PutUser, User: "blank", Hash: HashPassword(SHA256, Salt{}, "")},
		Command{Kind: PutUser, User: "stub", Hash: []byte{1, 2}},
	).View()
	for _, c := range []struct {
		user, password string
		ok             bool
		reason         string
	}{
		{"sha512", "p", true, ""},
		{"md5", "p", true, ""},
		{"sha512", "q", false, "invalid credentials"},
		{"nobody", "p", false, "no such user"},
		{"none", "p", false, "the user has no password"},
		{"none", "", false, "a blank password is prohibited"},
		{"blank", "", false, "a blank password is prohibited"},
		{"stub", "p", false, "invalid credentials"},
	} {
		if ok, reason := v.Authenticate(c.user, c.password); ok != c.ok || reason != c.reason {
			t.Errorf("%s/%s: %v %q", c.user, c.password, ok, reason)
		}
	}
}

func TestAlgorithmNames(t *testing.T) {
	// If this fails, definitions lose the algorithm of a hash.
	t.Parallel()
	for _, a := range []Algorithm{SHA256, SHA512, MD5} {
		if got, ok := ParseAlgorithm(a.String()); !ok || got != a {
			t.Errorf("%v reads back as %v, %v", a, got, ok)
		}
	}
	if a, ok := ParseAlgorithm(""); !ok || a != SHA256 {
		t.Error("no name is not SHA256")
	}
	if _, ok := ParseAlgorithm("rabbit_password_hashing_rot13"); ok {
		t.Error("an unknown name was taken")
	}
}

func TestMayComeFrom(t *testing.T) {
	// If this fails, guest with its well-known password gets in over the network.
	t.Parallel()
	only := []string{"guest"}
	for addr, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "10.0.0.1": false, "::ffff:10.0.0.1": false} {
		if got := MayComeFrom(only, "guest", netip.MustParseAddr(addr)); got != want {
			t.Errorf("guest from %s: %v", addr, got)
		}
		if !MayComeFrom(only, "other", netip.MustParseAddr(addr)) {
			t.Errorf("other refused from %s", addr)
		}
	}
	if !MayComeFrom(only, "guest", netip.Addr{}) {
		t.Error("guest refused on a Unix socket")
	}
}

func TestAllowed(t *testing.T) {
	// If this fails, permissions are matched differently from RabbitMQ.
	t.Parallel()
	v := booted(t,
		Command{Kind: PutUser, User: "u"},
		Command{Kind: PutVHost, VHost: "other"},
		Command{Kind: SetPermission, User: "u", VHost: "/", Configure: "", Write: `^amq\.default$`, Read: "q"},
	).View()
	for _, c := range []struct {
		vhost string
		op    Operation
		name  string
		want  bool
	}{
		{"/", Read, "myq2", true}, // not anchored
		{"/", Read, "MYQ2", false},
		{"/", Write, "", true}, // the default exchange
		{"/", Write, "amq.direct", false},
		{"/", Configure, "q", false}, // the empty expression
		{"/", Configure, "", false},
		{"other", Read, "q", false}, // no permission there
		{"nowhere", Read, "q", false},
		{"/", Operation(9), "q", false},
	} {
		if got := v.Allowed("u", c.vhost, c.op, c.name); got != c.want {
			t.Errorf("%v %q in %s: %v", c.op, c.name, c.vhost, got)
		}
	}
	if !v.HasAccess("u", "/") || v.HasAccess("u", "other") || v.HasAccess("nobody", "/") {
		t.Error("access to a virtual host does not follow its permission")
	}
}

func TestTopicAllowed(t *testing.T) {
	// If this fails, topic permissions let through what they should not, or expand names unquoted.
	t.Parallel()
	v := booted(t,
		Command{Kind: PutUser, User: "a.b"},
		Command{Kind: SetTopicPermission, User: "a.b", VHost: "/", Exchange: "x", Write: `^{username}\.`, Read: `^{vhost}{client_id}$`},
	).View()
	for _, c := range []struct {
		exchange string
		op       Operation
		key      string
		want     bool
	}{
		{"x", Write, "a.b.c", true},
		{"x", Write, "aXb.c", false},
		{"x", Read, "/{client_id}", true},
		{"x", Read, "/", false},
		{"x", Configure, "a.b.c", false},
		{"y", Write, "any", true},
	} {
		if got := v.TopicAllowed("a.b", "/", c.exchange, c.op, c.key); got != c.want {
			t.Errorf("%v %q at %s: %v", c.op, c.key, c.exchange, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	// If this fails, a bad command is taken, or leaves something behind, or the client reads another text.
	t.Parallel()
	m := booted(t, Command{Kind: PutVHost, VHost: "safe", Protected: true})
	before := m.Snapshot(nil)
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		command Command
		code    uint16
		text    string
	}{
		{Command{Kind: PutUser}, 406, "the user name must not be empty"},
		{Command{Kind: PutUser, User: long}, 406, "must not exceed 255 bytes"},
		{Command{Kind: PutUser, User: "\xff"}, 406, "must be UTF-8"},
		{Command{Kind: PutUser, User: "u", Password: "p", Hash: []byte("h")}, 406, "not both"},
		{Command{Kind: PutUser, User: "u", Password: strings.Repeat("p", passwordBytesMax+1)}, 406, "the password has more than"},
		{Command{Kind: PutUser, User: "u", Hash: make([]byte, hashBytesMax+1)}, 406, "the password hash has more than"},
		{Command{Kind: PutUser, User: "u", Algorithm: 7}, 406, "unknown password hashing algorithm"},
		{Command{Kind: PutUser, User: "u", Tags: make([]string, 33)}, 406, "33 tags exceed the maximum of 32"},
		{Command{Kind: PutUser, User: "u", Tags: []string{""}}, 406, "the tag name must not be empty"},
		{Command{Kind: DeleteUser, User: "nobody"}, 404, "no user 'nobody'"},
		{Command{Kind: PutVHost}, 406, "must not be empty"},
		{Command{Kind: PutVHost, VHost: "v", DefaultQueueType: "stream"}, 406, "unsupported default queue type 'stream'"},
		{Command{Kind: PutVHost, VHost: "v", Description: "\xff"}, 406, "the description must be UTF-8"},
		{Command{Kind: PutVHost, VHost: "v", Description: strings.Repeat("d", descriptionBytesMax+1)}, 406, "the description must be UTF-8 of at most"},
		{Command{Kind: DeleteVHost, VHost: "v"}, 404, "no vhost 'v'"},
		{Command{Kind: DeleteVHost, VHost: "safe"}, 406, "virtual host 'safe' is protected from deletion"},
		{Command{Kind: SetPermission, User: "nobody", VHost: "/"}, 404, "no user 'nobody'"},
		{Command{Kind: SetPermission, User: "guest", VHost: "v"}, 404, "no vhost 'v'"},
		{Command{Kind: SetPermission, User: "guest", VHost: "/", Read: "["}, 406, "invalid regular expression"},
		{Command{Kind: SetPermission, User: "guest", VHost: "/", Read: "(?=a)"}, 406, "look-around"},
		{Command{Kind: SetPermission, User: "guest", VHost: "/", Read: strings.Repeat("a", patternBytesMax+1)}, 406, "at most 16384 bytes"},
		{Command{Kind: ClearPermission, User: "nobody", VHost: "/"}, 404, "no user 'nobody'"},
		{Command{Kind: SetTopicPermission, User: "guest", VHost: "/", Write: ".*"}, 406, "the exchange name must not be empty"},
		{Command{Kind: SetTopicPermission, User: "guest", VHost: "/", Exchange: "x", Write: "("}, 406, "invalid regular expression"},
		{Command{Kind: ClearTopicPermission, User: "guest", VHost: "v"}, 404, "no vhost 'v'"},
		{Command{Kind: SetGlobalParameter, Name: "p", Value: []byte("{")}, 406, "is not JSON"},
		{Command{Kind: SetPermission, User: "guest", VHost: "/", Read: strings.Repeat("x{1000}", 21)}, 406, "has too many repetitions"},
		{Command{Kind: SetGlobalParameter, Name: "p", Value: make([]byte, valueBytesMax+1)}, 406, "has more than"},
		{Command{Kind: SetGlobalParameter, Value: []byte("1")}, 406, "must not be empty"},
		{Command{Kind: ClearGlobalParameter, Name: "p"}, 404, "no global parameter 'p'"},
		{Command{Kind: SetGlobalParameter, Name: "p", Value: []byte(strings.Repeat(`{"\"[":[`, 17) + strings.Repeat("]}", 17))}, 406, "nested deeper than 32"},
		{Command{Kind: SetVHostLimit, VHost: "/", Name: LimitChannels}, 406, "Unrecognised terms [{<<\"max-channels\">>,0}] in limits"},
		{Command{Kind: SetVHostLimit, VHost: "v", Name: LimitQueues}, 404, "no vhost 'v'"},
		{Command{Kind: SetUserLimit, User: "guest", Name: LimitQueues}, 406, "Unrecognised terms [{<<\"max-queues\">>,0}] in user-limits"},
		{Command{Kind: ClearUserLimit, User: "nobody", Name: LimitChannels}, 404, "no user 'nobody'"},
		{Command{}, 406, "unknown accounts command 0"},
	} {
		out := Outcome{Created: true}
		err := m.Step(c.command, &out)
		var refusal *amqp.Error
		if !errors.As(err, &refusal) || refusal.Code != c.code || !strings.Contains(refusal.Text, c.text) {
			t.Errorf("command %d: got %v, want %d %s", c.command.Kind, err, c.code, c.text)
		}
		if len(out.Facts) != 0 || len(out.Batch) != 0 || !out.Created {
			t.Errorf("command %d left %+v", c.command.Kind, out)
		}
	}
	if after := m.Snapshot(nil); !slices.Equal(before, after) {
		t.Error("a refused command changed the state")
	}
}

func TestRefusalTexts(t *testing.T) {
	// If this fails, clients that parse RabbitMQ's refusals do not understand ours.
	t.Parallel()
	for _, c := range []struct {
		got  *amqp.Error
		code uint16
		text string
	}{
		{RefuseQueue(Read, "q", "/", "u"), 403, "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'u'"},
		{RefuseExchange(Write, "", "/", "u"), 403, "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'u'"},
		{RefuseExchange(Configure, "x", "/", "u"), 403, "ACCESS_REFUSED - configure access to exchange 'x' in vhost '/' refused for user 'u'"},
		{RefuseTopic(Write, "a.b", "x", "/", "u"), 403, "ACCESS_REFUSED - write access to topic 'a.b' in exchange 'x' in vhost '/' refused for user 'u'"},
		{RefuseVHost("v", "u"), 530, "NOT_ALLOWED - access to vhost 'v' refused for user 'u'"},
		{RefuseUnknownVHost("v"), 530, "NOT_ALLOWED - vhost v not found"},
		{RefuseVHostConnection("v", "u", 3), 530, "NOT_ALLOWED - access to vhost 'v' refused for user 'u': connection limit (3) is reached"},
		{RefuseUserConnection("u", 3), 530, "NOT_ALLOWED - connection refused for user 'u': user connection limit (3) is reached"},
		{RefuseLogin("PLAIN"), 403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."},
		{RefuseUserID("x", "y"), 406, "PRECONDITION_FAILED - user_id property set to 'x' but authenticated user was 'y'"},
	} {
		if c.got.Code != c.code || c.got.Text != c.text {
			t.Errorf("got %d %s\nwant %d %s", c.got.Code, c.got.Text, c.code, c.text)
		}
	}
}
