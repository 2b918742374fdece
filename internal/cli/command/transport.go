package command

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
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
