package packaging

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

var makes = flag.Bool("make", false, "make the packages and the image, and try them")

// inside is set in the environment of a test that runs in namespaces of its own.
const inside = "PACKAGING_INSIDE"

// made is where make leaves what it makes.
const made = "../build"

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := start(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		code = 1
	}
	os.Exit(code)
}

// start runs the tests in their namespaces.
func start(m *testing.M) (code int, err error) {
	switch {
	case !*makes:
		return m.Run(), nil
	case os.Getenv(inside) != "":
		if err := loopbackUp(); err != nil {
			return 0, err
		}
		return m.Run(), nil
	}
	if out, err := exec.Command("make", "-C", "..", "--no-print-directory", "deb", "image").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("make deb image: %w\n%s", err, out)
	}
	args := []string{"env", inside + "=yes", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	args = append(args, os.Args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var failed *exec.ExitError
	if err := cmd.Run(); errors.As(err, &failed) {
		return failed.ExitCode(), nil
	} else if err != nil {
		return 0, err
	}
	return 0, nil
}

// elsewhere is an address of the namespace that is no loopback address: who connects from it comes from elsewhere.
const elsewhere = "198.51.100.7"

// loopbackUp switches the only network interface of a new namespace on. All of its ports are free.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return err
	}
	if request, err = unix.NewIfreq("lo:1"); err != nil {
		return err
	}
	if err := request.SetInet4Addr(net.ParseIP(elsewhere).To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, request)
}

// artefact returns the path of the one file that make has left under a pattern.
func artefact(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("make left %q as %s, want one", found, pattern)
	}
	return found[0]
}

// mount fails the test if it cannot; what is mounted goes with the namespace.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Fatalf("mount %s: %v", target, err)
	}
}
