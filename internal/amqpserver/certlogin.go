package amqpserver

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strings"
)

// CertLogin says where in a client's certificate the name of its user is. The zero value is the distinguished name.
// Source: RabbitMQ ssl, ssl_cert_login_from.
type CertLogin struct {
	From     string // distinguished_name (or empty), common_name, subject_alternative_name
	SANType  string // dns (or empty), ip, email, uri
	SANIndex int    // which of that type, from 0
}

func (l *CertLogin) validate() error {
	switch l.From {
	case "", "distinguished_name", "common_name", "subject_alternative_name":
	default:
		return fmt.Errorf("amqpserver: login from certificate's %q: it must be distinguished_name, common_name or "+
			"subject_alternative_name", l.From)
	}
	switch l.SANType {
	case "", "dns", "ip", "email", "uri":
	default:
		return fmt.Errorf("amqpserver: alternative name of type %q: it must be dns, ip, email or uri", l.SANType)
	}
	if l.SANIndex < 0 {
		return fmt.Errorf("amqpserver: alternative name number %d", l.SANIndex)
	}
	return nil
}

// user is the name in the certificate; an error if there is none.
func (l *CertLogin) user(cert *x509.Certificate) (name string, err error) {
	switch l.From {
	case "common_name":
		name, err = commonName(cert)
	case "subject_alternative_name":
		name = l.alternative(cert)
	default:
		name, err = distinguishedName(cert)
	}
	if err == nil && name == "" {
		err = errNoName
	}
	return name, err
}

func (l *CertLogin) alternative(cert *x509.Certificate) string {
	var names []string
	switch l.SANType {
	case "", "dns":
		names = cert.DNSNames
	case "ip":
		for _, ip := range cert.IPAddresses {
			names = append(names, ip.String())
		}
	case "email":
		names = cert.EmailAddresses
	case "uri":
		for _, u := range cert.URIs {
			names = append(names, u.String())
		}
	}
	if l.SANIndex >= len(names) {
		return ""
	}
	return names[l.SANIndex]
}

func subject(cert *x509.Certificate) (rdn pkix.RDNSequence, err error) {
	if _, err = asn1.Unmarshal(cert.RawSubject, &rdn); err != nil {
		return nil, fmt.Errorf("subject of the peer certificate: %w", err)
	}
	return rdn, nil
}

// commonName joins the common names of the subject.
func commonName(cert *x509.Certificate) (string, error) {
	sequence, err := subject(cert)
	var names []string
	for _, set := range sequence {
		for _, a := range set {
			if attributeName(a.Type) == "CN" {
				names = append(names, fmt.Sprint(a.Value))
			}
		}
	}
	return strings.Join(names, ","), err
}

// distinguishedName writes the subject by RFC 4514, the most specific part first, with RabbitMQ's names of attributes.
// Source: RabbitMQ ssl, distinguished name.
func distinguishedName(cert *x509.Certificate) (string, error) {
	sequence, err := subject(cert)
	var parts []string
	for i := len(sequence) - 1; i >= 0; i-- {
		var of []string
		for _, a := range sequence[i] {
			of = append(of, attributeName(a.Type)+"="+escapeName(fmt.Sprint(a.Value)))
		}
		parts = append(parts, strings.Join(of, "+"))
	}
	return strings.Join(parts, ","), err
}

// attributes are the names of the attributes that subjects are made of, by object identifier.
var attributes = map[string]string{
	"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "SERIALNUMBER", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST",
	"2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "TITLE", "2.5.4.42": "GIVENNAME", "2.5.4.43": "INITIALS",
	"2.5.4.44": "GENERATIONQUALIFIER", "2.5.4.65": "PSEUDONYM", "0.9.2342.19200300.100.1.25": "DC",
	"0.9.2342.19200300.100.1.1": "UID", "1.2.840.113549.1.9.1": "EMAILADDRESS",
}

func attributeName(id asn1.ObjectIdentifier) string {
	if name, ok := attributes[id.String()]; ok {
		return name
	}
	return id.String()
}

// escapeName is RFC 4514, section 2.4.
func escapeName(value string) string {
	var b strings.Builder
	for i, r := range value {
		switch {
		case r == 0:
			b.WriteString(`\00`)
			continue
		case strings.ContainsRune(`,+"\<>;`, r), i == 0 && (r == '#' || r == ' '), i == len(value)-1 && r == ' ':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
