package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
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

	// addressFile lies beside it and says where that broker's management API is, path prefix included.
	addressFile = "ctl-address"
)

// A call is one command on its way: what was typed, where the broker is, where the output goes.
type call struct {
	program string
	tool    tool
	command command
	words   words
	typed   []string // all of it
	args    []string // behind the command
	timeout time.Duration
	windows bool

	ctx    context.Context
	client *api.Client
	node   string // as messages call it

	dataDirs []string // where a secret may lie if no data directory is named
	unread   error    // why one could not be read that is there, or nil
	kept     string   // the file that said where the broker is, "" if none did

	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
}

func (c *call) vhost() string { return c.words.or("vhost", "/") }

// connect decides where the broker is and as whom to ask: the options first, then the environment, then the secret
// of the data directory if the broker is on this machine, then guest.
func (c *call) connect() error {
	at, node, err := c.locate()
	if err != nil {
		return c.invalid(err.Error())
	}
	c.node = node
	web, err := c.transport()
	if err != nil {
		return err
	}
	c.client = &api.Client{
		Base:     at,
		User:     c.words.or("username", c.env("BARTLEBY_USER")),
		Password: c.words.or("password", c.env("BARTLEBY_PASSWORD")),
		HTTP:     &http.Client{Transport: web},
	}
	if c.client.User != "" || c.command.offline {
		return nil
	}
	if isLocal(at) || c.kept != "" {
		c.client.Token = c.secret()
	}
	switch {
	case c.client.Token == "":
		c.client.User, c.client.Password = guest, guest
	case !c.dataNamed():
		c.client.HTTP.Transport = &fallback{next: web}
	}
	return nil
}

// guest is the name and the password of the user that a new broker lets in from its own machine.
const guest = "guest"

// locate finds the broker's management API, and what messages call the node. A node that is named as one of this machine
// is the broker that is asked without a name.
func (c *call) locate() (base, node string, err error) {
	address := c.env("BARTLEBY_MANAGEMENT")
	given, ok := c.words.get("node")
	switch {
	case !ok && address == "":
		given = c.env("RABBITMQ_NODENAME")
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
func (c *call) locateHere(given string) (base, node string, err error) {
	base, node, err = locate(given)
	if given != "" {
		return base, node, err
	}
	dirs := c.dataDirs
	if c.dataNamed() {
		dirs = []string{c.words.or("data", c.env("BARTLEBY_DATA"))}
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
			return "", "", fmt.Errorf("'%s' is not a broker address, such as %s", given, defaultBase)
		}
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
			u.Host = net.JoinHostPort("127.0.0.1", u.Port()) // where a broker listens may be said so, too
		}
		if !isLocal(u.String()) {
			node = "rabbit@" + u.Hostname()
		}
		return strings.TrimSuffix(u.String(), "/"), node, nil
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

// dataNamed reports whether somebody has said which data directory is meant.
func (c *call) dataNamed() bool { return c.words.or("data", c.env("BARTLEBY_DATA")) != "" }

// secret reads the token of the data directory: that which was named, else the first of the usual ones that has one.
// None is no error, as the broker may run elsewhere, but told if the directory was named.
func (c *call) secret() string {
	if c.dataNamed() {
		dir := c.words.or("data", c.env("BARTLEBY_DATA"))
		secret, err := readSecret(dir)
		if err != nil {
			fmt.Fprintf(c.stderr, "Warning: no broker secret in %s (%v); logging in as user 'guest'\n", dir, err)
		}
		return secret
	}
	for _, dir := range c.dataDirs {
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

// secretTaken reports whether the broker that has answered knows the secret of the data directory.
func (c *call) secretTaken() bool {
	f, ok := c.client.HTTP.Transport.(*fallback)
	return c.client.Token != "" && !(ok && f.refused)
}

func (c *call) identity() string {
	if c.client.Token == "" {
		return fmt.Sprintf("user '%s'", c.client.User)
	}
	if !c.secretTaken() {
		return "the secret of the local data directory, which belongs to another broker, and user 'guest'"
	}
	return "the secret of the data directory, which belongs to another broker"
}
