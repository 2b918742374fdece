package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServiceManagerIsTold(t *testing.T) {
	// If this fails, systemd calls the broker started before it serves, waits for ever for it, or kills it while it
	// stops.
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := func() string {
		t.Helper()
		b := make([]byte, 4096)
		if err := manager.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket) // restores what is unset below
	var stdout, stderr bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run([]string{"bartleby", "serve", "--data", filepath.Join(t.TempDir(), "data"), "--reserve", "-1",
			"--listen", "127.0.0.1:0", "--management", "", "--prometheus", ""}, strings.NewReader(""), &stdout, &stderr)
	}()
	if first := told(); !strings.HasPrefix(first, "READY=1") {
		t.Fatalf("the first word is %q", first)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if second := told(); !strings.HasPrefix(second, "STOPPING=1") {
		t.Fatalf("the second word is %q", second)
	}
	if code := <-ended; code != 0 {
		t.Fatalf("exit code %d: %s%s", code, &stdout, &stderr)
	}
	if os.Getenv("NOTIFY_SOCKET") != "" {
		t.Error("the broker's children would speak for it")
	}
}

func TestNoServiceManager(t *testing.T) {
	// If this fails, a broker that nobody asked to report does not start, or one whose manager has gone.
	t.Parallel()
	manager{}.tell(notifyReady)
	manager{filepath.Join(t.TempDir(), "gone")}.tell(notifyReady)
}
