package command

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// transport makes connections, with the trust that the options and the environment ask for.
func (c *Call) transport() (http.RoundTripper, error) {
	file, insecure := c.Options.Or("cacert", c.Env("BARTLEBY_CACERT")), c.Options.On("insecure")
	if file == "" && !insecure {
		return http.DefaultTransport, nil
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}
	if file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, Failf(ExitData, "cannot read the certificates: %v", err)
		}
		if trust.RootCAs, err = x509.SystemCertPool(); err != nil {
			trust.RootCAs = x509.NewCertPool()
		}
		if !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, Failf(ExitData, "%s contains no certificate", file)
		}
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust}, nil
}

// A fallback asks as guest from the moment on when a secret is refused that was found and not named: one that another
// broker has left in the usual place, or one that was started there and failed. A call has one, and asks in turn.
type fallback struct {
	next    http.RoundTripper
	refused bool // the secret was
}

// RoundTrip implements http.RoundTripper.
func (f *fallback) RoundTrip(r *http.Request) (*http.Response, error) {
	if !f.refused {
		response, err := f.next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
			return response, err
		}
		// Read to its end, the connection serves again; what is left unread costs a new one, no more.
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
		_ = response.Body.Close()
		f.refused = true
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	again.SetBasicAuth(guest, guest)
	return f.next.RoundTrip(again)
}

// A notAPI is the error of a request that something else than a broker's HTTP API has answered.
type notAPI struct {
	base  string
	other string // an address with such an API on the same host, "" if none is known
}

// Error implements error.
func (e *notAPI) Error() string {
	text := "What answers at " + e.base + " is not the HTTP API of a broker: there is no " + e.base + whoami
	if e.other != "" {
		text += ". There is one at " + e.other
	}
	return text
}

// whoami is below each HTTP API, and everybody may ask it.
var whoami = api.Path("whoami")

// A judge returns a notAPI for answers that look as if the broker had none of what was asked for, "not found", if
// there is no HTTP API at the address at all: a wrong path, the port of metrics, another web server.
type judge struct {
	next http.RoundTripper
	base string
	sure atomic.Bool // there is one
}

// RoundTrip implements http.RoundTripper.
func (j *judge) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := j.next.RoundTrip(r)
	if err != nil || j.sure.Load() {
		return response, err
	}
	switch status := response.StatusCode; {
	case strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") &&
		(status == http.StatusOK || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented):
	case status != http.StatusNotFound:
		return response, nil
	case j.answers(r, j.base):
		j.sure.Store(true)
		return response, nil
	}
	_ = response.Body.Close()
	e := &notAPI{base: j.base}
	if u, err := url.Parse(j.base); err == nil && u.Path != "" {
		if host := u.Scheme + "://" + u.Host; j.answers(r, host) {
			e.other = host
		}
	}
	return nil, e
}

// answers reports whether there is an HTTP API at an address, or nobody knows; as is who sends a request.
func (j *judge) answers(as *http.Request, base string) bool {
	r, err := http.NewRequestWithContext(as.Context(), http.MethodGet, base+whoami, nil)
	if err != nil {
		return true
	}
	r.Header.Set("Authorization", as.Header.Get("Authorization"))
	response, err := j.next.RoundTrip(r)
	if err != nil {
		return true
	}
	_ = response.Body.Close()
	html := strings.HasPrefix(response.Header.Get("Content-Type"), "text/html")
	return response.StatusCode != http.StatusNotFound && !html
}
