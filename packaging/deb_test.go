package packaging

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// overlay makes a root directory that is the machine's own to begin with; what is changed in it is in memory.
func overlay(t *testing.T) string {
	t.Helper()
	memory := t.TempDir()
	mount(t, "packaging", memory, "tmpfs", 0, "")
	t.Cleanup(func() {
		if err := unix.Unmount(memory, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	root, upper, work := filepath.Join(memory, "root"), filepath.Join(memory, "upper"), filepath.Join(memory, "work")
	for _, dir := range []string{root, upper, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount(t, "packaging", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work)
	for _, dir := range []string{"proc", "dev"} {
		mount(t, "/"+dir, filepath.Join(root, dir), "", unix.MS_BIND|unix.MS_REC, "")
	}
	for _, dir := range []string{"run", "tmp"} { // without the machine's systemd
		mount(t, "packaging", filepath.Join(root, dir), "tmpfs", 0, "")
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return root
}

// dpkg installs packages as root does.
type dpkg struct{ jail }

func newDpkg(t *testing.T, packages ...string) dpkg {
	t.Helper()
	d := dpkg{jail{root: overlay(t), env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}}}
	for _, p := range packages {
		content, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.in("/tmp/"+filepath.Base(p)), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What the machine itself has of these, or of RabbitMQ, is not what is tested.
	for _, name := range []string{"bartleby-rabbitmq-tools", "bartleby", "rabbitmq-server"} {
		if d.command("dpkg-query", "--status", name).Run() == nil {
			d.dpkg(t, "--purge", "--force-depends", name)
		}
	}
	return d
}

func (d dpkg) in(path string) string { return filepath.Join(d.root, path) }

func (d dpkg) install(t *testing.T, path string) {
	t.Helper()
	d.dpkg(t, "--install", "/tmp/"+filepath.Base(path))
}

// dpkg runs as apt calls it, but without what other packages do then, such as indexing manual pages, and without syncs.
func (d dpkg) dpkg(t *testing.T, args ...string) {
	t.Helper()
	d.run(t, append([]string{"dpkg", "--force-confold", "--force-unsafe-io", "--no-triggers"}, args...)...)
}

// unit returns the settings of the service's unit, of each key the last.
func (d dpkg) unit(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(d.in("/usr/lib/systemd/system/bartleby.service"))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			settings[key] = value
		}
	}
	return settings
}

// A manager stands in for systemd: it starts what the unit says as whom it says, and hears what the process has to
// tell.
type manager struct {
	service *service
	socket  *net.UnixConn
}

func (d dpkg) startService(t *testing.T) manager {
	t.Helper()
	unit := d.unit(t)
	if unit["Type"] != "notify" {
		t.Fatalf("the unit's Type is %q", unit["Type"])
	}
	user := strings.Split(d.run(t, "getent", "passwd", unit["User"]), ":")
	uid, err := strconv.Atoi(user[2])
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(user[3])
	if err != nil {
		t.Fatal(err)
	}
	path := d.in("/run/notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	j := jail{
		root: d.root, user: uint32(uid), group: uint32(gid), directory: unit["WorkingDirectory"],
		env: []string{"NOTIFY_SOCKET=/run/notify", "PATH=/usr/bin:/bin"},
	}
	m := manager{j.start(t, strings.Fields(unit["ExecStart"])...), socket}
	m.told(t, "READY=1")
	return m
}

func (m manager) told(t *testing.T, want string) {
	t.Helper()
	if err := m.socket.SetReadDeadline(time.Now().Add(startMax)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := m.socket.Read(b)
	if err != nil || !strings.HasPrefix(string(b[:n]), want) {
		t.Fatalf("the service manager is told %q, %v; want %s", b[:n], err, want)
	}
}

func (m manager) stop(t *testing.T) {
	t.Helper()
	m.service.stop(t)
	m.told(t, "STOPPING=1")
	m.socket.Close()
	if err := os.Remove(m.socket.LocalAddr().String()); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

const wanted = "/etc/systemd/system/multi-user.target.wants/bartleby.service"

func TestDebianPackage(t *testing.T) {
	// If this fails, apt installs a broker that does not start, loses its messages or an administrator's settings by an
	// upgrade or a removal, or leaves something behind when it is purged.
	if !*makes {
		t.Skip("needs -make")
	}
	broker := artefact(t, "bartleby_*.deb")
	d := newDpkg(t, broker)
	d.install(t, broker)
	if out := d.run(t, "dpkg", "--verify", "bartleby"); out != "" {
		t.Errorf("not as packed: %s", out)
	}
	id := strings.TrimSpace(d.run(t, "id", "-u", "bartleby"))
	if user, mode := owner(t, d.in("/var/lib/bartleby")); fmt.Sprint(user) != id || mode != 0o750 {
		t.Errorf("/var/lib/bartleby belongs to %d (bartleby is %s) and has mode %v", user, id, mode)
	}
	if !exists(d.in(wanted)) {
		t.Error("the service does not start with the machine")
	}

	m := d.startService(t)
	keep(t, "copies", "copy this")
	if out := d.run(t, "bartleby", "ctl", "-q", "list_queues", "name", "messages"); !strings.Contains(out, "copies\t1") {
		t.Errorf("root's ctl lists %q", out)
	}
	m.stop(t)

	conf := d.in("/etc/bartleby/bartleby.conf")
	if err := os.WriteFile(conf, []byte("disk_free_limit.absolute = 1MB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.install(t, broker)
	if text, err := os.ReadFile(conf); err != nil || !strings.HasPrefix(string(text), "disk_free_limit") {
		t.Errorf("after an upgrade the configuration is %q, %v", text, err)
	}
	m = d.startService(t)
	if reload := d.unit(t)["ExecReload"]; reload != "/bin/kill -HUP $MAINPID" {
		t.Errorf("reloaded by %q", reload)
	} else if err := m.service.cmd.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	kept(t, "copies", "copy this")
	m.stop(t)

	d.dpkg(t, "--remove", "bartleby")
	if exists(d.in("/usr/bin/bartleby")) || !exists(conf) || !exists(d.in("/var/lib/bartleby/journal")) {
		t.Error("removed, it left its binary, or took its configuration or its data with it")
	}
	d.install(t, broker)
	m = d.startService(t)
	kept(t, "copies", "copy this")
	m.stop(t)

	d.dpkg(t, "--purge", "bartleby")
	for _, path := range []string{
		"/usr/bin/bartleby", "/etc/bartleby", "/etc/default/bartleby", "/var/lib/bartleby", wanted, "/usr/share/doc/bartleby",
		"/usr/lib/systemd/system/bartleby.service", "/etc/systemd/system/bartleby.service",
	} {
		if exists(d.in(path)) {
			t.Errorf("purged, it left %s", path)
		}
	}
}

func TestRabbitMQTools(t *testing.T) {
	// If this fails, scripts that call rabbitmqctl find none, or it takes the place of RabbitMQ's own.
	if !*makes {
		t.Skip("needs -make")
	}
	broker, tools := artefact(t, "bartleby_*.deb"), artefact(t, "bartleby-rabbitmq-tools_*.deb")
	d := newDpkg(t, broker, tools)
	d.install(t, broker)
	d.install(t, tools)
	called, wanted := d.names(t, "/usr/bin")
	server := slices.Index(wanted, "rabbitmq-server") // is for containers: here systemd starts the broker
	if server < 0 || !slices.Equal(called, slices.Delete(wanted, server, server+1)) {
		t.Errorf("the package has the names %q", called)
	}
	for _, link := range []string{"/usr/sbin/rabbitmqctl", "/usr/sbin/rabbitmq-diagnostics", "/usr/lib/systemd/system/rabbitmq-server.service"} {
		if !exists(d.in(link)) {
			t.Errorf("there is no %s", link)
		}
	}
	if text, err := os.ReadFile(d.in("/usr/share/bash-completion/completions/rabbitmqctl")); err != nil || !strings.Contains(string(text), "rabbitmqctl") {
		t.Errorf("completion of rabbitmqctl: %q, %v", text, err)
	}
	m := d.startService(t)
	d.run(t, "/usr/sbin/rabbitmqctl", "add_vhost", "tenant")
	if out := d.run(t, "rabbitmqctl", "-q", "list_vhosts"); !strings.Contains(out, "tenant\n") {
		t.Errorf("list_vhosts: %q", out)
	}
	d.run(t, "rabbitmq-diagnostics", "-q", "ping")
	d.run(t, "rabbitmq-diagnostics", "-q", "check_port_connectivity")
	d.run(t, "rabbitmq-plugins", "enable", "rabbitmq_management")
	m.stop(t)
	if out := d.run(t, "dpkg-query", "--show", "--showformat", "${Conflicts}", "bartleby-rabbitmq-tools"); out != "rabbitmq-server" {
		t.Errorf("stands beside %q", out)
	}
	d.dpkg(t, "--purge", "bartleby-rabbitmq-tools")
	if exists(d.in("/usr/bin/rabbitmqctl")) || exists(d.in("/usr/sbin/rabbitmqctl")) || !exists(d.in("/usr/bin/bartleby")) {
		t.Error("purged, it left a name, or took the binary with it")
	}
}
