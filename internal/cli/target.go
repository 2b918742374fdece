package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

const (
	defaultBase = "http://127.0.0.1:15672"
	defaultPort = "15672"

	// secretFile lies in the data directory, readable by whoever may administer the broker there. It holds the
	// bearer token of an administrator.
	secretFile = "ctl-secret"
)

// A call is one command on its way: what was typed, where the broker is, where the output goes.
type call struct {
	program string
	tool    tool
	command command
	words   words
	args    []string // behind the command
	timeout time.Duration
	windows bool

	ctx    context.Context
	client *api.Client
	node   string // as messages call it

	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
}

func (c *call) vhost() string { return c.words.or("vhost", "/") }

// connect decides where the broker is and as whom to ask: the options first, then the environment, then the secret
// of the data directory if the broker is on this machine, then guest.
func (c *call) connect() error {
	base := c.words.or("node", c.env("BARTLEBY_MANAGEMENT"))
	at, node, err := locate(base)
	if err != nil {
		return c.invalid(err.Error())
	}
	c.node = node
	c.client = &api.Client{
		Base:     at,
		User:     c.words.or("username", c.env("BARTLEBY_USER")),
		Password: c.words.or("password", c.env("BARTLEBY_PASSWORD")),
	}
	if c.client.User != "" {
		return nil
	}
	if isLocal(at) {
		c.client.Token = c.secret()
	}
	if c.client.Token == "" {
		c.client.User, c.client.Password = "guest", "guest"
	}
	return nil
}

// locate understands http://host:port, host:port, and name@host as RabbitMQ calls nodes.
func locate(given string) (base, node string, err error) {
	host, hostErr := os.Hostname()
	if hostErr != nil {
		host = "localhost"
	}
	node = "rabbit@" + host
	switch {
	case given == "":
		return defaultBase, node, nil
	case strings.Contains(given, "://"):
		u, err := url.Parse(given)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return "", "", fmt.Errorf("'%s' is no address of a broker, such as %s", given, defaultBase)
		}
		if !isLocal(given) {
			node = "rabbit@" + u.Hostname()
		}
		return strings.TrimSuffix(given, "/"), node, nil
	}
	if _, host, named := strings.Cut(given, "@"); named {
		return "http://" + net.JoinHostPort(host, defaultPort), given, nil
	}
	if _, _, err := net.SplitHostPort(given); err != nil {
		given = net.JoinHostPort(given, defaultPort)
	}
	return locate("http://" + given)
}

func isLocal(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// secret reads the token of the data directory; none is no error, as the broker may run elsewhere, but told if
// the directory was named.
func (c *call) secret() string {
	dir := c.words.or("data", c.env("BARTLEBY_DATA"))
	named := dir != ""
	if !named {
		dir = "bartleby-data"
	}
	b, err := os.ReadFile(filepath.Join(dir, secretFile))
	if err != nil && named {
		fmt.Fprintf(c.stderr, "Warning: no secret of a broker in %s (%v); asking as user 'guest'\n", dir, err)
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (c *call) identity() string {
	if c.client.Token != "" {
		return "the secret of the data directory"
	}
	return fmt.Sprintf("user '%s'", c.client.User)
}
