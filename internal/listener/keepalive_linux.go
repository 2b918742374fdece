package listener

import (
	"net"
	"syscall"
)

// Go's defaults of net.KeepAliveConfig.
const (
	keepAliveIdle     = 15 // seconds of silence before the first probe
	keepAliveInterval = 15 // seconds between probes
	keepAliveCount    = 9  // probes without an answer that end a connection
)

// keepAlive sets TCP keep-alive on the port: the kernel gives it to each connection, with four system calls less than
// if it was set there.
func keepAlive(c *net.ListenConfig) {
	c.KeepAlive = -1 // Go sets nothing on a connection
	c.Control = func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			for _, o := range [...]struct{ level, name, value int }{
				{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, keepAliveIdle},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, keepAliveInterval},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveCount},
			} {
				if err := syscall.SetsockoptInt(int(fd), o.level, o.name, o.value); err != nil && failed == nil {
					failed = err
				}
			}
		})
		if err == nil {
			err = failed
		}
		return err
	}
}
