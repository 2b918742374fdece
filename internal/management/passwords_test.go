package management

import (
	"regexp"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
)

func TestPasswords(t *testing.T) {
	// If this fails, passwords are kept otherwise than configured, or those are taken that should be refused.
	t.Parallel()
	rules := resources.Passwords{Hashing: "rabbit_password_hashing_sha512", LengthMin: 8, Pattern: regexp.MustCompile("[0-9]")}
	d := open(t).with(func(o *Options) { o.Passwords = rules })
	for password, reason := range map[string]string{
		"1234567":   "minimum required password length is 8",
		"passwörd":  "does not match the validator",
		"":          "minimum required",
		"abcdefghi": "does not match the validator",
	} {
		d.refused(400, "bad_request", reason, "PUT", "/api/users/u", `{"tags":"","password":"`+password+`"}`)
		d.refused(400, "bad_request", "user 'u': ", "POST", "/api/definitions", `{"users":[{"name":"u","tags":[],"password":"`+password+`"}]}`)
	}
	const sha256, sha512 = "rabbit_password_hashing_sha256", "rabbit_password_hashing_sha512"
	for name, c := range map[string]struct{ body, algorithm string }{
		"a": {`{"tags":"","password":"pässw0rd"}`, sha512},
		"b": {`{"tags":"","password":"passw0rd","hashing_algorithm":"` + sha256 + `"}`, sha256},
		"c": {`{"tags":"","password_hash":"kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"}`, sha256},
		"d": {`{"tags":""}`, sha512},
	} {
		d.want(201, "PUT", "/api/users/"+name, c.body)
		if got := read[api.User](d, "/api/users/"+name); got.HashingAlgorithm != c.algorithm {
			t.Errorf("%s is hashed by %s", name, got.HashingAlgorithm)
		}
	}
	d.want(204, "POST", "/api/definitions", `{"users":[{"name":"e","tags":[],"password":"passw0rd"}]}`)
	v := d.engine.Accounts()
	for name, password := range map[string]string{"a": "pässw0rd", "b": "passw0rd", "c": "test12", "e": "passw0rd"} {
		if in, reason := v.Authenticate(name, password); !in {
			t.Errorf("%s cannot log in: %s", name, reason)
		}
	}
	if (&resources.Passwords{Hashing: "rot13"}).Validate() == nil || rules.Validate() != nil {
		t.Error("an algorithm that nobody knows is taken, or a known one refused")
	}
}
