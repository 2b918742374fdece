package amqpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// The lines of the log, in the words that its readers look for. Source: RabbitMQ logging, connection lifecycle events.

// similar says what a line about a connection is counted as, see package logging: the address, or user and address,
// make it another one. Clients that connect again and again do not fill the log.
func (c *conn) similar(what string) slog.Attr {
	about := c.about()
	if about.User != "" {
		what += " of user '" + about.User + "'"
	}
	return slog.String("similar", what+" from "+about.PeerHost)
}

// logAccepted tells of a connection once it has said something: a port that is probed is not worth a line.
func (c *conn) logAccepted() {
	if !c.accepted {
		c.accepted = true
		c.log.Info("accepting AMQP connection "+c.name, c.similar("accepting AMQP connections"))
	}
}

// logOpened tells that the client is in.
func (c *conn) logOpened() {
	about := c.about()
	name := c.name
	if about.UserProvidedName != "" {
		name += " - " + about.UserProvidedName
	}
	c.log.Info(fmt.Sprintf("connection %s: user '%s' authenticated and granted access to vhost '%s'", name, about.User, about.VHost),
		c.similar("connections authenticated"))
}

// logEnd says why the connection closes. It comes before the state changes.
func (c *conn) logEnd(reason error) {
	var refusal *amqp.Error
	var login *loginRefused
	switch {
	case errors.Is(reason, errClosedByClient):
		c.log.Info(fmt.Sprintf("closing AMQP connection (%s)", c.whose("")), c.similar("closing AMQP connections"))
	case errors.As(reason, &login):
		c.log.Error(fmt.Sprintf("Error on AMQP connection %s (%s):\n%s", c.pid(), c.whose("state"), login))
	case errors.As(reason, &refusal):
		level := slog.LevelError
		if refusal.Code == amqp.CodeConnectionForced {
			level = slog.LevelWarn
		}
		c.log.Log(context.Background(), level, fmt.Sprintf("Error on AMQP connection %s (%s), channel 0:\n%s",
			c.pid(), c.whose("state"), exception(refusal, "connection")))
	case errors.Is(reason, errMissedHeartbeats):
		c.log.Error(fmt.Sprintf("closing AMQP connection %s (%s):\n%v", c.pid(), c.whose(""), reason))
	case !c.accepted && errors.Is(reason, errLost):
		c.log.Debug("connection " + c.name + " closed before it sent anything")
	default:
		c.log.Warn(fmt.Sprintf("closing AMQP connection %s (%s):\n%v", c.pid(), c.whose(""), reason),
			c.similar("closing AMQP connections unexpectedly"))
	}
}

// pid is the connection's number in the form that readers expect.
func (c *conn) pid() string { return fmt.Sprintf("<0.%d.0>", c.id) }

// whose describes the connection as far as it is known.
func (c *conn) whose(state string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.name
	if about := &c.mu.about; about.VHost != "" {
		text += fmt.Sprintf(", vhost: '%s', user: '%s'", about.VHost, about.User)
	} else if about.User != "" {
		text += fmt.Sprintf(", user: '%s'", about.User)
	}
	if state != "" {
		text += ", state: " + c.mu.about.State
	}
	return text
}

// exception words a refusal.
func exception(err *amqp.Error, of string) string {
	name, text, ok := strings.Cut(err.Text, " - ")
	if !ok {
		name, text = "error", err.Text
	}
	operation := "none"
	if err.ClassID != 0 || err.MethodID != 0 {
		operation = wire.MethodID(uint32(err.ClassID)<<16 | uint32(err.MethodID)).String()
	}
	return fmt.Sprintf("operation %s caused a %s exception %s: %s", operation, of, strings.ToLower(name), text)
}

// notesWaitingMax is how many lines about channels may wait to be written; of more, only the number is told.
const notesWaitingMax = 256

// notes are lines that those must not wait for who have a virtual host to run: another goroutine writes them, as long
// as there are any.
type notes struct {
	log     *slog.Logger
	running *sync.WaitGroup // counts that goroutine

	mu struct {
		sync.Mutex
		waiting []string // at most notesWaitingMax
		dropped int      // beyond it
		writing bool
	}
}

func newNotes(log *slog.Logger, running *sync.WaitGroup) *notes {
	return &notes{log: log.With("category", "channel"), running: running}
}

// put leaves a line; it never waits.
func (n *notes) put(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mu.waiting) == notesWaitingMax {
		n.mu.dropped++
		return
	}
	n.mu.waiting = append(n.mu.waiting, text)
	if !n.mu.writing {
		n.mu.writing = true
		n.running.Go(n.write)
	}
}

// write writes what was put until there is nothing.
func (n *notes) write() {
	for {
		n.mu.Lock()
		texts, dropped := n.mu.waiting, n.mu.dropped
		n.mu.waiting, n.mu.dropped = nil, 0
		n.mu.writing = len(texts) > 0
		n.mu.Unlock()
		if len(texts) == 0 {
			return
		}
		for _, text := range texts {
			n.log.Error(text)
		}
		if dropped > 0 {
			n.log.Error("too many channel errors: some were not logged", "not_written", dropped)
		}
	}
}

// logChannelError tells of a channel that the broker closes.
func (c *conn) logChannelError(ch *channel, err *amqp.Error) {
	c.server.notes.put(fmt.Sprintf("Channel error on connection %s (%s), channel %d:\n%s",
		c.pid(), c.whose(""), ch.number, exception(err, "channel")))
}
