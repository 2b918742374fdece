package listener

import (
	"net"
	"syscall"
	"testing"
)

// Connections have the keep-alive of their port, also after it was suspended.
func TestKeepAlive(t *testing.T) {
	l, err := Listen("127.0.0.1:0", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	checkKeepAlive(t, l)
	if err := l.Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := l.Resume(); err != nil {
		t.Fatal(err)
	}
	checkKeepAlive(t, l)
}

func checkKeepAlive(t *testing.T, l *Listener) {
	t.Helper()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tcp := c.(*net.TCPConn)
	if multipath, err := tcp.MultipathTCP(); err != nil || multipath {
		t.Errorf("multipath TCP: %v, %v", multipath, err)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		what              string
		level, name, want int
	}{
		{"keep-alive", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{"idle", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
		{"interval", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 15},
		{"count", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 9},
		{"no delay", syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
	} {
		var got int
		ask := func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), o.level, o.name) }
		if err := raw.Control(ask); err != nil {
			t.Fatal(err)
		}
		if err != nil || got != o.want {
			t.Errorf("%s: %d, expected %d (%v)", o.what, got, o.want, err)
		}
	}
}
