package command

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// Exit codes, of sysexits. Source: RabbitMQ cli#exit-codes.
const (
	ExitOK          = 0
	ExitUsage       = 64
	ExitData        = 65
	exitNoUser      = 67
	ExitUnavailable = 69
	ExitSoftware    = 70
	exitTempFail    = 75
)

// A Failure is what a command ends with: its text is for stderr, whole.
type Failure struct {
	Code int
	Text string
}

// Error implements error.
func (f *Failure) Error() string { return f.Text }

// Failf makes a Failure with the usual first line.
func Failf(code int, format string, args ...any) error {
	return &Failure{code, "Error:\n" + fmt.Sprintf(format, args...)}
}

// Invalid refuses the words themselves, repeats them and says how the command is used.
func (c *Call) Invalid(reason string) error {
	return &Failure{ExitUsage, fmt.Sprintf("Error (argument validation): %s\nArguments given:\n\t%s\n\n%s",
		reason, strings.Join(withoutPasswords(c.Typed), " "), c.Usage(c.Command))}
}

// BadArgument is invalid for a value that cannot be.
func (c *Call) BadArgument(reason string) error {
	return &Failure{ExitData, fmt.Sprintf("Error (argument validation): Bad argument: %s\nArguments given:\n\t%s\n\n%s",
		reason, strings.Join(withoutPasswords(c.Typed), " "), c.Usage(c.Command))}
}

// withoutPasswords are words that may be shown, and end up in a log.
func withoutPasswords(typed []string) []string {
	shown := slices.Clone(typed)
	for i, word := range shown {
		if strings.HasPrefix(word, "--password=") {
			shown[i] = "--password=***"
		} else if i > 0 && typed[i-1] == "--password" {
			shown[i] = "***"
		}
	}
	return shown
}

// NoUser says that there is no such user.
func (c *Call) NoUser(name string) error {
	return Failf(exitNoUser, "User \"%s\" does not exist", name)
}

// NoVHost says that there is no such virtual host.
func (c *Call) NoVHost(name string) error {
	return &Failure{ExitData, fmt.Sprintf("Virtual host '%s' does not exist", name)}
}

func (c *Call) timedOut() error {
	return &Failure{exitTempFail, fmt.Sprintf("Error: operation %s on node %s timed out. Timeout value used: %d",
		c.Command.Name, c.Node, c.Timeout.Milliseconds())}
}

// explain turns what the broker, or the way there, refused into a failure.
func (c *Call) explain(err error) error {
	var refused *api.Error
	var unreachable *url.Error
	var other *notAPI
	switch {
	case errors.As(err, &refused):
		return c.explainRefusal(refused)
	case errors.As(err, &other):
		return Failf(ExitUnavailable, "%v.\n\n%s", other, otherAddress)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.timedOut()
	case errors.As(err, &unreachable):
		if unreachable.Timeout() {
			return c.timedOut()
		}
		at := c.Client.Base
		if c.kept != "" {
			at += " (of " + c.kept + ")"
		}
		if untrusted(unreachable.Err) {
			return Failf(ExitUnavailable, "the certificate of %s is not trusted: %v\n\nGive the CA certificate with --cacert FILE or "+
				"the environment variable BARTLEBY_CACERT; -k trusts any certificate, for tests only", at, unreachable.Err)
		}
		return c.unavailable(fmt.Sprintf("attempted to contact %s: %v", at, unreachable.Err), remedy(unreachable.Err))
	}
	return err
}

// untrusted reports whether a certificate was not accepted.
func untrusted(err error) bool {
	var wrong *tls.CertificateVerificationError
	return errors.As(err, &wrong)
}

func (c *Call) explainRefusal(e *api.Error) error {
	reason := e.Reason
	if reason == "" {
		reason = e.Kind
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return Failf(ExitUnavailable, "the broker at %s refused %s: %s%s", c.Client.Base, c.identity(), reason, c.identityHint(reason))
	case e.Status == http.StatusNotFound:
		return Failf(ExitData, "%s", reason)
	case e.Status == http.StatusInternalServerError:
		return Failf(ExitSoftware, "%s", reason)
	}
	return Failf(ExitUnavailable, "%s", reason)
}

// identityHint says how to be let in.
func (c *Call) identityHint(reason string) string {
	if c.unread != nil {
		return fmt.Sprintf("\n\nThe broker's secret could not be read (%v): run this command as root, or as the user of the broker", c.unread)
	}
	_, given := c.Options.Get("username")
	switch given = given || c.Client.User != guest; {
	case c.Client.Token != "" || !given:
	case reason == "Not_Authorized":
		return "\n\nThe user does not exist, or the password is wrong. Give others with --username and --password, or with the " +
			"environment variables BARTLEBY_USER and BARTLEBY_PASSWORD"
	default:
		return c.rightHint(reason)
	}
	return "\n\nGive the broker's data directory with --data, or a user with --username and --password"
}

// rightHint says how an administrator gives a user what it lacks.
func (c *Call) rightHint(reason string) string {
	tag, ok := strings.CutPrefix(strings.TrimSuffix(reason, " user"), "Not ")
	switch {
	case ok && slices.Contains([]string{"management", "policymaker", "monitor", "administrator"}, tag):
		return fmt.Sprintf("\n\nAn administrator can give the user this tag with the others that it has: "+
			"'%s help set_user_tags'", c.Program)
	case strings.HasPrefix(reason, "Access refused"):
		return fmt.Sprintf("\n\nAn administrator can grant this: '%s help set_permissions'", c.Program)
	}
	return ""
}

func (c *Call) unavailable(detail, remedy string) error {
	return &Failure{ExitUnavailable, fmt.Sprintf("Error: unable to perform an operation on node '%s'. "+
		"Please see diagnostics information and suggestions below.\n\n%s\n\n%s", c.Node, detail, remedy)}
}

// otherAddress says how to name the broker.
const otherAddress = "Give another address with --node http://host:port or the environment variable BARTLEBY_MANAGEMENT, " +
	"or the data directory of a broker on this machine with --data."

// remedy says what to do if a broker cannot be reached.
func remedy(err error) string {
	var unknownHost *net.DNSError
	switch text := err.Error(); {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens at this address. Is the broker running, and is this the port of its management API? " + otherAddress
	case errors.As(err, &unknownHost):
		return "This host name is not known. Is it spelt correctly? " + otherAddress
	case strings.Contains(text, `malformed HTTP response "AMQP`):
		return "This is an AMQP port. The command line uses the management API, by default at port 15672. " + otherAddress
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "This port has no TLS: write http:// instead of https://, or use the port with TLS."
	}
	return "Is the broker running, and is this its management address? " + otherAddress
}

// Status is the HTTP status of a refusal, 0 of any other error and of none.
func Status(err error) int {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// ReasonOf is why the broker refused, "" for any other error.
func ReasonOf(err error) string {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}

// Unanswered reports whether nobody listens there, or nobody has answered in time.
func Unanswered(err error) bool {
	var unreachable *url.Error
	var op *net.OpError
	var other *notAPI
	if errors.As(err, &other) {
		return false
	}
	return errors.As(err, &unreachable) || errors.As(err, &op)
}

// NoObject says what of the address of a queue or an exchange does not exist, in RabbitMQ's words.
func (c *Call) NoObject(name string) error {
	return c.NoQueue(name, "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", ExitData)
}

// NoQueue says what of a queue's address does not exist: its virtual host, or with text and code the queue.
func (c *Call) NoQueue(queue, text string, code int) error {
	if Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	return Failf(code, "%s", fmt.Sprintf(text, queue, c.VHost()))
}

// RefusedValue words a refusal of a value as that of a validation.
func RefusedValue(err error) error {
	if Status(err) == http.StatusBadRequest {
		return Failf(ExitUnavailable, "%s", ReasonOf(err))
	}
	return err
}

// Usage shows how a command is typed.
func (c *Call) Usage(cmd Command) string {
	line := fmt.Sprintf("%s [--node <node>] [--timeout <timeout>] [--quiet] %s %s", c.Program, cmd.Name, cmd.Usage)
	return "Usage\n\n" + strings.TrimSpace(line)
}
