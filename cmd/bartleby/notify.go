package main

import (
	"net"
	"os"
	"strings"
	"time"
)

// notifyWithin is how long the service manager's socket may take: a manager that reads nothing must not hold the
// broker.
const notifyWithin = time.Second

// What a service manager is told. Source: sd_notify(3).
const (
	notifyReady    = "READY=1"
	notifyStopping = "STOPPING=1"
)

// A manager is the service manager that started this process with Type=notify. The zero value is none.
type manager struct {
	socket string // a path, or @name in Linux's abstract namespace
}

// newManager finds the manager in the environment, and takes it out: what the broker starts is not the broker.
func newManager() manager {
	m := manager{os.Getenv("NOTIFY_SOCKET")}
	os.Unsetenv("NOTIFY_SOCKET")
	return m
}

// tell sends the lines in one datagram. Without a manager, or if it does not listen, nothing happens: that nobody is
// told is no reason not to serve.
func (m manager) tell(lines ...string) {
	if m.socket == "" {
		return
	}
	conn, err := net.DialTimeout("unixgram", m.socket, notifyWithin)
	if err != nil {
		return
	}
	defer conn.Close()
	if conn.SetWriteDeadline(time.Now().Add(notifyWithin)) == nil {
		conn.Write([]byte(strings.Join(lines, "\n")))
	}
}
