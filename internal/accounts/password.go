package accounts

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
)

// Salt stands before the digest in a password hash. Source: RabbitMQ passwords#computing-password-hash.
type Salt [4]byte

// Algorithm is how a password hash was made. The zero value is SHA256, the default.
type Algorithm uint8

// The algorithms of RabbitMQ; MD5 only to take over users of old.
const (
	SHA256 Algorithm = iota
	SHA512
	MD5
)

// String is the name that the management API and definitions use.
func (a Algorithm) String() string {
	switch a {
	case SHA256:
		return "rabbit_password_hashing_sha256"
	case SHA512:
		return "rabbit_password_hashing_sha512"
	case MD5:
		return "rabbit_password_hashing_md5"
	}
	return "unknown"
}

// ParseAlgorithm is the reverse of String. The empty name is SHA256.
func ParseAlgorithm(name string) (Algorithm, bool) {
	if name == "" {
		return SHA256, true
	}
	for a := SHA256; a <= MD5; a++ {
		if a.String() == name {
			return a, true
		}
	}
	return 0, false
}

// HashPassword is the salt followed by the digest of salt and password. In JSON it is base64-encoded.
// Source: RabbitMQ passwords#computing-password-hash.
func HashPassword(a Algorithm, salt Salt, password string) []byte {
	return append(salt[:], a.digest(append(salt[:], password...))...)
}

func (a Algorithm) digest(b []byte) []byte {
	switch a {
	case SHA512:
		d := sha512.Sum512(b)
		return d[:]
	case MD5:
		d := md5.Sum(b)
		return d[:]
	}
	d := sha256.Sum256(b)
	return d[:]
}

// verifies reports whether password gives hash. The time it takes tells nothing about the hash.
func (a Algorithm) verifies(hash []byte, password string) bool {
	var salt Salt
	short := len(hash) < len(salt)
	if !short {
		salt = Salt(hash)
	}
	same := subtle.ConstantTimeCompare(hash, HashPassword(a, salt, password)) == 1
	return same && !short
}
