package cli

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// outcome runs a command with an environment.
func outcome(env map[string]string, words ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = Main(words[0], words[1:], strings.NewReader(""), &o, &e, func(name string) string { return env[name] })
	return code, o.String(), e.String()
}

func TestNoBroker(t *testing.T) {
	// If this fails, a script cannot tell a broker that is down from one that refuses.
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	env := map[string]string{"BARTLEBY_MANAGEMENT": s.URL}
	for _, words := range [][]string{{"rabbitmqctl", "list_users"}, {"rabbitmq-diagnostics", "-q", "ping"}, {"rabbitmqctl", "add_user", "u", "p"}} {
		code, _, errs := outcome(env, words...)
		if code != 69 || !strings.HasPrefix(errs, "Error: unable to perform an operation on node 'rabbit@") || !strings.Contains(errs, s.URL) {
			t.Errorf("%v: exit %d, %s", words, code, errs)
		}
	}
}

func TestWrongAddressesAndUsers(t *testing.T) {
	// If this fails, a user who gives a wrong address, port or password is not told which of them is wrong.
	t.Parallel()
	// answering is the address of a listener that sends this to each client that speaks; httptest would close idle
	// connections of other tests.
	answering := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Read(make([]byte, 4096))
				io.WriteString(c, answer)
				c.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, c)
				c.Close()
			}
		}()
		return l.Addr().String()
	}
	const body = `{"error":"not_authorized","reason":"Not_Authorized"}`
	refusing := answering("HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 52\r\n\r\n" + body)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, x := range []struct {
		node, says string
		code       int
	}{
		{closed.Addr().String(), "Nothing listens at this address. Is the broker running, and is this the port of its management", 69},
		{"http://nowhere.invalid:1", "This host name is not known. Is it spelt correctly?", 69},
		{answering("AMQP\x00\x00\x09\x01"), "This is an AMQP port.", 69},
		{"https://" + refusing, "This port has no TLS: write http:// instead of https://", 69},
		{refusing, "The user does not exist, or the password is wrong.", 69},
		{"one:two:three", "'one:two:three' is not a broker address, such as http://127.0.0.1:15672", 64},
	} {
		code, _, errs := outcome(nil, "rabbitmqctl", "--node", x.node,
			"--username", "u", "--password", "p", "list_users")
		if code != x.code || !strings.Contains(errs, x.says) {
			t.Errorf("%s: exit %d, %s", x.node, code, errs)
		}
	}
}

func TestAddressWithoutAnAPI(t *testing.T) {
	// If this fails, whoever mistypes the path or the port of the management API is told that a virtual host, a queue
	// or a user does not exist.
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/whoami" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer api.Close()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<!DOCTYPE html><title>Another server</title>")
	}))
	defer pages.Close()
	metrics := httptest.NewServer(http.NotFoundHandler())
	defer metrics.Close()
	asked := []string{"list_users", "list_queues", "dlq redrive q", "delete_queue q", "delete_user u", "status"}
	as := []string{"--username", "u", "--password", "p"}
	for _, words := range asked {
		for _, x := range []struct{ node, says string }{
			{metrics.URL, "there is no " + metrics.URL + "/api/whoami.\n"},
			{pages.URL, "What answers at " + pages.URL + " is not the HTTP API of a broker"},
			{api.URL + "/mq", "there is no " + api.URL + "/mq/api/whoami. There is one at " + api.URL + "."},
			{api.URL + "/api/", "There is one at " + api.URL + "."},
		} {
			typed := slices.Concat([]string{"rabbitmqctl", "--node", x.node}, as, strings.Fields(words))
			if code, _, errs := outcome(nil, typed...); code != 69 || !strings.Contains(errs, x.says) {
				t.Errorf("%s at %s: exit %d, %s", words, x.node, code, errs)
			}
		}
	}
	typed := slices.Concat([]string{"rabbitmqctl", "--node", api.URL}, as, []string{"delete_user", "u"})
	code, _, errs := outcome(nil, typed...)
	if code != 67 || !strings.Contains(errs, "does not exist") {
		t.Errorf("where there is an API: exit %d, %s", code, errs)
	}
}

func TestAddressBesideTheSecret(t *testing.T) {
	// If this fails, --data is not enough to find a broker whose management API is elsewhere, or below a path; or an
	// address that was named does not count more.
	t.Parallel()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		io.WriteString(w, "[]")
	}))
	defer s.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"ctl-secret": "xyz", "ctl-address": s.URL + "/mq\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"--data", dir}, {"--data", dir, "-n", "rabbit@localhost"}} {
		asked = nil
		if code, _, errs := outcome(nil, append([]string{"rabbitmqctl", "list_users"}, words...)...); code != 0 {
			t.Errorf("%v: exit %d, %s", words, code, errs)
		}
		if len(asked) != 1 || asked[0] != "/mq/api/users Bearer xyz" {
			t.Errorf("%v: asked %v", words, asked)
		}
	}
	asked = nil
	here := map[string]string{"BARTLEBY_DATA": dir}
	code, out, _ := outcome(here, "rabbitmqadmin", "list", "users")
	if code != 0 || len(asked) != 1 || asked[0] != "/mq/api/users Bearer xyz" {
		t.Errorf("rabbitmqadmin: exit %d, asked %v, %s", code, asked, out)
	}
	asked = nil
	env := map[string]string{"BARTLEBY_MANAGEMENT": s.URL}
	if code, _, errs := outcome(env, "rabbitmqctl", "list_users", "--data", dir); code != 0 || len(asked) != 1 || asked[0] != "/api/users Bearer xyz" {
		t.Errorf("exit %d, asked %v, %s", code, asked, errs)
	}
	s.Close()
	if code, _, errs := outcome(nil, "rabbitmqctl", "list_users", "--data", dir); code != 69 || !strings.Contains(errs, "(of "+filepath.Join(dir, "ctl-address")+")") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestUntrustedCertificate(t *testing.T) {
	// If this fails, who sees a certificate of their own refused is asked whether the broker runs, and not told what to
	// type.
	t.Parallel()
	s := httptest.NewTLSServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	code, _, errs := outcome(map[string]string{"BARTLEBY_MANAGEMENT": s.URL}, "rabbitmqctl", "list_users")
	if code != 69 || !strings.Contains(errs, "--cacert FILE") || !strings.Contains(errs, "BARTLEBY_CACERT") || !strings.Contains(errs, "-k ") ||
		strings.Contains(errs, "Is the broker running") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestTimeout(t *testing.T) {
	// If this fails, a broker that hangs hangs the script too, or the exit code does not say so.
	t.Parallel()
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(end)
	env := map[string]string{"BARTLEBY_MANAGEMENT": s.URL}
	for _, command := range []string{"list_users", "await_startup"} {
		code, _, errs := outcome(env, "rabbitmqctl", "-q", command, "-t", "0.05")
		if code != 75 || !strings.Contains(errs, "operation "+command+" on node rabbit@") || !strings.Contains(errs, "Timeout value used: 50") {
			t.Errorf("%s: exit %d, %s", command, code, errs)
		}
	}
}

func TestAwaitStartup(t *testing.T) {
	// If this fails, an image that waits for its broker gives up at the first refusal.
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	code, _, errs := outcome(map[string]string{"BARTLEBY_MANAGEMENT": s.URL}, "rabbitmqctl", "await_startup")
	if code != 0 || asked != 2 {
		t.Errorf("exit %d after %d requests: %s", code, asked, errs)
	}
}

func TestNoSecret(t *testing.T) {
	// If this fails, who names a wrong directory is told that guest was refused, and wonders who that is.
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer s.Close()
	env := map[string]string{"BARTLEBY_MANAGEMENT": s.URL}
	dir := filepath.Join(t.TempDir(), "nope")
	code, _, errs := outcome(env, "bartleby", "--data", dir, "list_users")
	if code != 69 || !strings.Contains(errs, "no broker secret in "+dir) || !strings.Contains(errs, "logging in as user 'guest'") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, _, errs := outcome(env, "bartleby", "list_users"); strings.Contains(errs, "secret") {
		t.Errorf("nobody has named a directory: %s", errs)
	}
	if _, _, errs := outcome(env, "bartleby", "--data", dir, "--username", "u", "--password", "p", "list_users"); strings.Contains(errs, "secret") {
		t.Errorf("no secret is needed: %s", errs)
	}
}

func TestFoundSecret(t *testing.T) {
	// If this fails, a secret that another broker has left in the usual place locks everybody out, or one that was
	// named is passed over in silence.
	t.Parallel()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, strings.TrimSpace(r.Header.Get("Authorization")+" "+string(body)))
		if r.Header.Get("Authorization") != "Basic Z3Vlc3Q6Z3Vlc3Q=" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ctl-secret"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(words ...string) (*command.Call, error) {
		asked = nil
		c := &command.Call{Tool: command.EveryTool, Commands: commands(), Stdout: io.Discard, Stderr: io.Discard, Env: func(string) string { return "" }, DataDirs: []string{t.TempDir(), dir}}
		return c, run(c, append(words, "--node", s.URL))
	}
	c, err := run("set_cluster_name", "n")
	if want := `[Bearer old {"name":"n"} Basic Z3Vlc3Q6Z3Vlc3Q= {"name":"n"}]`; err != nil || fmt.Sprint(asked) != want || c.SecretTaken() {
		t.Errorf("%v, %q, %v", err, asked, c.SecretTaken())
	}
	if c, err = run("set_cluster_name", "n", "--data", dir); err == nil || fmt.Sprint(asked) != `[Bearer old {"name":"n"}]` || !c.SecretTaken() ||
		!strings.Contains(err.Error(), "refused the secret of the data directory, which belongs to another broker") || !strings.Contains(err.Error(), "--username") {
		t.Errorf("%v, %q", err, asked)
	}
	if _, err = run("list_users", "--username", "u", "--password", "p"); len(asked) != 1 {
		t.Errorf("%v, %q", err, asked)
	}
}

func TestCertificates(t *testing.T) {
	// If this fails, a remote broker with a certificate of one's own cannot be administered, or any certificate is
	// trusted.
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `[]`) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code  int
		words []string
	}{{69, nil}, {0, []string{"--cacert", file}}, {0, []string{"-k"}}, {65, []string{"--cacert", "/nonexistent"}}} {
		if code, _, errs := outcome(nil, append([]string{"rabbitmqctl", "list_users", "-n", s.URL}, c.words...)...); code != c.code {
			t.Errorf("%v: exit %d, %s", c.words, code, errs)
		}
	}
}

func TestReason(t *testing.T) {
	// If this fails, clients are not told why their connection was closed, or a reason of two lines stops the command.
	t.Parallel()
	var reason string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reason = r.Header.Get("X-Reason") }))
	defer s.Close()
	if code, _, errs := outcome(nil, "rabbitmqctl", "-n", s.URL, "close_connection", "c", "go\naway"); code != 0 || reason != "go away" {
		t.Errorf("exit %d, %q, %s", code, reason, errs)
	}
}

func TestAliases(t *testing.T) {
	// If this fails, the aliases of a team are unknown commands, or stand in for real ones.
	t.Parallel()
	file := filepath.Join(t.TempDir(), "aliases")
	if err := os.WriteFile(file, []byte("# ours\nv = help version # to learn\nversion = help\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RABBITMQ_CLI_ALIASES_FILE": file}
	if code, out, errs := outcome(env, "rabbitmqctl", "-q", "v"); code != 0 || !strings.Contains(out, "Prints the RabbitMQ version") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, out, _ := outcome(env, "rabbitmqctl", "version"); code != 0 || strings.Contains(out, "Usage") {
		t.Errorf("exit %d, %s", code, out)
	}
	if code, _, errs := outcome(env, "rabbitmqctl", "w"); code != 64 {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, _, errs := outcome(nil, "rabbitmqctl", "v", "--aliases-file", "/nonexistent"); code != 65 {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestCheckPortConnectivity(t *testing.T) {
	// If this fails, a health check passes although nobody can connect, or fails although everybody can.
	t.Parallel()
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	shut, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shut.Close()
	port := func(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
	check := func(ports ...int) (int, string, string) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			list := ""
			for _, p := range ports {
				list += fmt.Sprintf(`,{"ip_address":"::","port":%d}`, p)
			}
			io.WriteString(w, `{"node":"n","listeners":[`+strings.TrimPrefix(list, ",")+`]}`)
		}))
		defer s.Close()
		return outcome(map[string]string{"BARTLEBY_MANAGEMENT": s.URL}, "rabbitmq-diagnostics", "-q", "check_port_connectivity")
	}
	if code, out, errs := check(port(open)); code != 0 || out != fmt.Sprintf("Successfully connected to ports %d on node n.\n", port(open)) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, _, errs := check(port(open), port(shut)); code != 69 || !strings.Contains(errs, fmt.Sprint(port(shut), ": ")) {
		t.Errorf("exit %d, %s", code, errs)
	}
}
