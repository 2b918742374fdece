package cli

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

	"github.com/bartleby-mq/bartleby/internal/api"
)

// Exit codes, of sysexits. Source: RabbitMQ cli#exit-codes.
const (
	exitOK          = 0
	exitUsage       = 64
	exitData        = 65
	exitNoUser      = 67
	exitUnavailable = 69
	exitSoftware    = 70
	exitTempFail    = 75
)

// A failure is what a command ends with: its text is for stderr, whole.
type failure struct {
	code int
	text string
}

func (f *failure) Error() string { return f.text }

func failf(code int, format string, args ...any) error {
	return &failure{code, "Error:\n" + fmt.Sprintf(format, args...)}
}

// invalid refuses the words themselves, repeats them and says how the command is used.
func (c *call) invalid(reason string) error {
	return &failure{exitUsage, fmt.Sprintf("Error (argument validation): %s\nArguments given:\n\t%s\n\n%s",
		reason, strings.Join(withoutPasswords(c.typed), " "), c.commandUsage(c.command))}
}

// badArgument is invalid for a value that cannot be.
func (c *call) badArgument(reason string) error {
	return &failure{exitData, fmt.Sprintf("Error (argument validation): Bad argument: %s\nArguments given:\n\t%s\n\n%s",
		reason, strings.Join(withoutPasswords(c.typed), " "), c.commandUsage(c.command))}
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

func (c *call) tooFew() error {
	hint := ""
	if c.command.fewHint != nil {
		hint = c.command.fewHint(c)
	}
	return c.invalid("not enough arguments." + hint)
}

func (c *call) tooMany() error {
	hint := ""
	if c.command.manyHint != nil {
		hint = c.command.manyHint(c)
	}
	return c.invalid("too many arguments." + hint)
}

func (c *call) noUser(name string) error {
	return failf(exitNoUser, "User \"%s\" does not exist", name)
}

func (c *call) noVHost(name string) error {
	return &failure{exitData, fmt.Sprintf("Virtual host '%s' does not exist", name)}
}

func (c *call) timedOut() error {
	return &failure{exitTempFail, fmt.Sprintf("Error: operation %s on node %s timed out. Timeout value used: %d",
		c.command.name, c.node, c.timeout.Milliseconds())}
}

// explain turns what the broker, or the way there, refused into a failure.
func (c *call) explain(err error) error {
	var refused *api.Error
	var unreachable *url.Error
	switch {
	case errors.As(err, &refused):
		return c.explainRefusal(refused)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.timedOut()
	case errors.As(err, &unreachable):
		if unreachable.Timeout() {
			return c.timedOut()
		}
		at := c.client.Base
		if c.kept != "" {
			at += " (of " + c.kept + ")"
		}
		if untrusted(unreachable.Err) {
			return failf(exitUnavailable, "the certificate of %s is not trusted: %v\n\nGive the CA certificate with --cacert FILE or "+
				"the environment variable BARTLEBY_CACERT; -k trusts any certificate, for tests only", at, unreachable.Err)
		}
		return c.unavailable(fmt.Sprintf("attempted to contact %s: %v", at, unreachable.Err))
	}
	return err
}

// untrusted reports whether a certificate was not accepted.
func untrusted(err error) bool {
	var wrong *tls.CertificateVerificationError
	return errors.As(err, &wrong)
}

func (c *call) explainRefusal(e *api.Error) error {
	reason := e.Reason
	if reason == "" {
		reason = e.Kind
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return failf(exitUnavailable, "the broker at %s refused %s: %s%s", c.client.Base, c.identity(), reason, c.identityHint())
	case e.Status == http.StatusNotFound:
		return failf(exitData, "%s", reason)
	case e.Status == http.StatusInternalServerError:
		return failf(exitSoftware, "%s", reason)
	}
	return failf(exitUnavailable, "%s", reason)
}

// identityHint says how to be let in.
func (c *call) identityHint() string {
	if c.unread != nil {
		return fmt.Sprintf("\n\nThe broker's secret could not be read (%v): run this command as root, or as the user of the broker", c.unread)
	}
	if c.client.Token == "" && c.client.User != guest {
		return ""
	}
	return "\n\nGive the broker's data directory with --data, or a user with --username and --password"
}

func (c *call) unavailable(detail string) error {
	return &failure{exitUnavailable, fmt.Sprintf("Error: unable to perform an operation on node '%s'. "+
		"Please see diagnostics information and suggestions below.\n\n"+
		"%s\n\nIs the broker running, and is this its management address? Give another address with --node http://host:port "+
		"or the environment variable BARTLEBY_MANAGEMENT.", c.node, detail)}
}

// status is the HTTP status of a refusal, 0 of any other error and of none.
func status(err error) int {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// reasonOf is why the broker refused, "" for any other error.
func reasonOf(err error) string {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}

// unanswered reports whether nobody listens there, or nobody has answered in time.
func unanswered(err error) bool {
	var unreachable *url.Error
	var op *net.OpError
	return errors.As(err, &unreachable) || errors.As(err, &op)
}
