package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

const (
	defaultBase = "http://127.0.0.1:15672"
	defaultPort = "15672"

	// secretFile lies in the data directory, readable by whoever may administer the broker there. It holds the
	// bearer token of an administrator.
	secretFile = "ctl-secret"

	// addressFile lies beside it and says where that broker's management API is, path prefix included.
	addressFile = "ctl-address"
)

// Connect decides where the broker is and as whom to ask: the options first, then the environment, then the secret
// of the data directory if the broker is on this machine, then guest.
func (c *Call) Connect() error {
	at, node, err := c.locate()
	if err != nil {
		return c.Invalid(err.Error())
	}
	c.Node = node
	trusted, err := c.transport()
	if err != nil {
		return err
	}
	web := &judge{next: trusted, base: strings.TrimSuffix(at, "/")}
	c.Client = &api.Client{
		Base:     at,
		User:     c.Options.Or("username", c.Env("BARTLEBY_USER")),
		Password: c.Options.Or("password", c.Env("BARTLEBY_PASSWORD")),
		HTTP:     &http.Client{Transport: web},
	}
	if c.Client.User != "" || c.Command.Offline {
		return nil
	}
	if IsLocal(at) || c.kept != "" {
		c.Client.Token = c.secret()
	}
	switch {
	case c.Client.Token == "":
		c.Client.User, c.Client.Password = guest, guest
	case !c.dataNamed():
		c.Client.HTTP.Transport = &fallback{next: web}
	}
	return nil
}

// guest is the name and the password of the user that a new broker lets in from its own machine.
const guest = "guest"

// locate finds the broker's management API, and what messages call the node. A node that is named as one of this
// machine is the broker that is asked without a name.
func (c *Call) locate() (base, node string, err error) {
	address := c.Env("BARTLEBY_MANAGEMENT")
	given, ok := c.Options.Get("node")
	switch {
	case !ok && address == "":
		given = c.Env("RABBITMQ_NODENAME")
	case !ok:
		given = address
	}
	if name, host, named := strings.Cut(given, "@"); ok || address == "" {
		if given == "rabbit" || named && !strings.Contains(name, "/") && isHere(host) {
			base, _, err = c.locateHere(address)
			if !named {
				given = "rabbit@" + hostname()
			}
			return base, given, err
		}
	}
	return c.locateHere(given)
}

// locateHere is locate; what is not named is the broker whose secret is at hand, where that says it is.
func (c *Call) locateHere(given string) (base, node string, err error) {
	base, node, err = locate(given)
	if given != "" {
		return base, node, err
	}
	dirs := c.DataDirs
	if c.dataNamed() {
		dirs = []string{c.Options.Or("data", c.Env("BARTLEBY_DATA"))}
	}
	for _, dir := range dirs {
		if _, err := readSecret(dir); err != nil {
			continue
		}
		file := filepath.Join(dir, addressFile)
		if address, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(address)) > 0 {
			c.kept = file
			base = string(bytes.TrimSpace(address))
		}
		break
	}
	return base, node, err
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return host
}

// isHere reports whether a host is this machine, by its long or its short name.
func isHere(host string) bool {
	short := func(name string) string {
		name, _, _ = strings.Cut(name, ".")
		return name
	}
	own := hostname()
	if host == "localhost" || strings.EqualFold(host, own) {
		return true
	}
	bare := !strings.Contains(host, ".") || !strings.Contains(own, ".")
	return bare && net.ParseIP(host) == nil && strings.EqualFold(short(host), short(own))
}

// locate understands http://host:port, host:port, and name@host as RabbitMQ calls nodes.
func locate(given string) (base, node string, err error) {
	node = "rabbit@" + hostname()
	switch {
	case given == "":
		return defaultBase, node, nil
	case strings.Contains(given, "://"):
		u, err := url.Parse(given)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return "", "", notAnAddress(given)
		}
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
			u.Host = net.JoinHostPort("127.0.0.1", u.Port()) // where a broker listens may be said so, too
		}
		if !IsLocal(u.String()) {
			node = "rabbit@" + u.Hostname()
		}
		return strings.TrimSuffix(u.String(), "/"), node, nil
	}
	if _, host, named := strings.Cut(given, "@"); named {
		return "http://" + net.JoinHostPort(host, defaultPort), given, nil
	}
	if _, _, err := net.SplitHostPort(given); err != nil {
		if net.ParseIP(given) == nil && strings.Contains(given, ":") {
			return "", "", notAnAddress(given)
		}
		given = net.JoinHostPort(given, defaultPort)
	}
	return locate("http://" + given)
}

// IsLocal reports whether the address of a broker is on this machine.
func IsLocal(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// dataNamed reports whether somebody has said which data directory is meant.
func (c *Call) dataNamed() bool { return c.Options.Or("data", c.Env("BARTLEBY_DATA")) != "" }

// secret reads the token of the data directory: that which was named, else the first of the usual ones that has one.
// None is no error, as the broker may run elsewhere, but told if the directory was named.
func (c *Call) secret() string {
	if c.dataNamed() {
		dir := c.Options.Or("data", c.Env("BARTLEBY_DATA"))
		secret, err := readSecret(dir)
		if err != nil {
			fmt.Fprintf(c.Stderr, "Warning: no broker secret in %s (%v); logging in as user 'guest'\n", dir, err)
		}
		return secret
	}
	for _, dir := range c.DataDirs {
		secret, err := readSecret(dir)
		if err == nil {
			return secret
		}
		if errors.Is(err, fs.ErrPermission) {
			c.unread = err
		}
	}
	return ""
}

func readSecret(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, secretFile))
	if err != nil {
		return "", err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return "", fmt.Errorf("%s is empty", filepath.Join(dir, secretFile))
	}
	return string(bytes.TrimSpace(b)), nil
}

// SecretTaken reports whether the broker that has answered knows the secret of the data directory.
func (c *Call) SecretTaken() bool {
	f, ok := c.Client.HTTP.Transport.(*fallback)
	return c.Client.Token != "" && !(ok && f.refused)
}

func (c *Call) identity() string {
	if c.Client.Token == "" {
		return fmt.Sprintf("user '%s'", c.Client.User)
	}
	if !c.SecretTaken() {
		return "the secret of the local data directory, which belongs to another broker, and user 'guest'"
	}
	return "the secret of the data directory, which belongs to another broker"
}

func notAnAddress(given string) error {
	return fmt.Errorf("'%s' is not a broker address, such as %s", given, defaultBase)
}
