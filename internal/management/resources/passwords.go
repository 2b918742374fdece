package resources

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *API) passwordEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET auth/hash_password/{password}", Tag: authz.Administrator, Serve: s.hashPassword,
			Summary: "The salted hash of a password", Out: api.HashedPassword{},
		},
	}
}

// Passwords says how passwords that are set from now on are kept, and which are refused. The zero value keeps them as
// SHA-256 and takes all. What is given as a hash is not looked at.
type Passwords struct {
	// Hashing is an algorithm by its RabbitMQ name, such as rabbit_password_hashing_sha512; empty:
	// rabbit_password_hashing_sha256. A request that names one has its way.
	// Source: RabbitMQ password_hashing_module.
	Hashing string
	// LengthMin is how many characters a password must have; 0: any number.
	// Source: RabbitMQ credential_validator.min_length.
	LengthMin int
	// Pattern is an expression of RE2 that must be found in a password; nil: any will do.
	// Source: RabbitMQ credential_validator.regexp.
	Pattern *regexp.Regexp
}

// Validate reports an algorithm that is not known.
func (p *Passwords) Validate() error {
	if _, known := accounts.ParseAlgorithm(p.Hashing); !known {
		return fmt.Errorf("unknown password hashing algorithm '%s'", p.Hashing)
	}
	return nil
}

// Algorithm is the one by which a user's password is hashed, or its hash was made; asked may be empty.
func (p *Passwords) Algorithm(asked string, hashGiven bool) (accounts.Algorithm, error) {
	name := asked
	if name == "" && !hashGiven {
		name = p.Hashing
	}
	a, known := accounts.ParseAlgorithm(name)
	if !known {
		return a, web.BadRequest("unknown hashing_algorithm '%s'", name)
	}
	return a, nil
}

// Check refuses a password, in RabbitMQ's words. Source: RabbitMQ passwords#validation.
func (p *Passwords) Check(password string) error {
	switch {
	case utf8.RuneCountInString(password) < p.LengthMin:
		return web.BadRequest("minimum required password length is %d", p.LengthMin)
	case p.Pattern != nil && !p.Pattern.MatchString(password):
		return web.BadRequest("provided password does not match the validator regular expression")
	}
	return nil
}

// Hashed is what is kept of a password, as definitions carry it.
func Hashed(a accounts.Algorithm, password string) string {
	var salt accounts.Salt
	rand.Read(salt[:])
	return base64.StdEncoding.EncodeToString(accounts.HashPassword(a, salt, password))
}

func (s *API) hashPassword(r *web.Request) (web.Answer, error) {
	a, err := s.passwords.Algorithm("", false)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(api.HashedPassword{OK: Hashed(a, r.PathValue("password"))})
}
