//go:build !linux

package listener

import "net"

// keepAlive leaves TCP keep-alive to Go, which sets it on each connection.
func keepAlive(*net.ListenConfig) {}
