package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestIdentity(t *testing.T) {
	// If this fails, a command goes out under the wrong name, or the secret of this machine to another one.
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, secretFile), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const local, remote = "http://127.0.0.1:1", "http://192.0.2.1:1"
	for _, c := range []struct {
		typed string
		env   map[string]string
		want  string
	}{
		{"", nil, "guest/guest "},
		{"--data " + dir, nil, "/ s3cret"},
		{"", map[string]string{"BARTLEBY_DATA": dir, "BARTLEBY_MANAGEMENT": local}, "/ s3cret"},
		{"", map[string]string{"BARTLEBY_DATA": dir, "BARTLEBY_MANAGEMENT": remote}, "guest/guest "},
		{"", map[string]string{"BARTLEBY_DATA": dir, "BARTLEBY_USER": "u", "BARTLEBY_PASSWORD": "p"}, "u/p "},
		{"--username v --password q", map[string]string{"BARTLEBY_USER": "u", "BARTLEBY_PASSWORD": "p"}, "v/q "},
	} {
		w, err := parse(strings.Fields(c.typed))
		if err != nil {
			t.Fatal(err)
		}
		call := &call{words: w, env: func(name string) string { return c.env[name] }}
		if err := call.connect(); err != nil {
			t.Fatal(err)
		}
		if got := call.client.User + "/" + call.client.Password + " " + call.client.Token; got != c.want {
			t.Errorf("%s %v: %s, want %s", c.typed, c.env, got, c.want)
		}
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
	if code != 69 || !strings.Contains(errs, "no secret of a broker in "+dir) || !strings.Contains(errs, "asking as user 'guest'") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, _, errs := outcome(env, "bartleby", "list_users"); strings.Contains(errs, "secret") {
		t.Errorf("nobody has named a directory: %s", errs)
	}
	if _, _, errs := outcome(env, "bartleby", "--data", dir, "--username", "u", "--password", "p", "list_users"); strings.Contains(errs, "secret") {
		t.Errorf("no secret is needed: %s", errs)
	}
}

func TestLocate(t *testing.T) {
	// If this fails, --node leads to another broker than the one meant.
	t.Parallel()
	for given, want := range map[string]string{
		"":                     "http://127.0.0.1:15672",
		"http://h:1/prefix/":   "http://h:1/prefix",
		"https://h":            "https://h",
		"h:8080":               "http://h:8080",
		"h":                    "http://h:15672",
		"rabbit@h":             "http://h:15672",
		"rabbit@h.example.com": "http://h.example.com:15672",
	} {
		if got, _, err := locate(given); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", given, got, err, want)
		}
	}
	for _, bad := range []string{"ftp://h", "http://", "http://%zz"} {
		if _, _, err := locate(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, node, _ := locate("rabbit@h"); node != "rabbit@h" {
		t.Errorf("rabbit@h is called %s", node)
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

func TestPolicyCommandOnWindows(t *testing.T) {
	// If this fails, the corrected command that is shown does not work in cmd.exe.
	t.Parallel()
	c := &call{program: "rabbitmqctl", windows: true, command: command{name: "set_policy"}}
	got := c.policyCommand("DLX", ".*", `{"dead-letter-exchange":"my-dlx"}`)
	if want := `rabbitmqctl set_policy DLX ".*" "{""dead-letter-exchange"":""my-dlx""}"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRepairJSON(t *testing.T) {
	// If this fails, someone whose shell has eaten the quotation marks is told nothing useful.
	t.Parallel()
	const want = `{"a":"b","n":5,"t":true}`
	for _, broken := range []string{
		`{a:b,n:5,t:true}`, `{\"a\":\"b\",\"n\":5,\"t\":true}`, `{'a':'b','n':5,'t':true}`, `'{"a":"b","n":5,"t":true}'`,
		`'{a:b,n:5,t:true}'`, `{“a”:“b”,“n”:5,“t”:true}`, "\ufeff{a:b,n:5,t:true}", `{‘a’:‘b’,‘n’:5,‘t’:true}`,
	} {
		if got, cause, ok := repairJSON(broken); !ok || got != want || cause == "" {
			t.Errorf("%s became %s (%s), %v", broken, got, cause, ok)
		}
	}
	for _, hopeless := range []string{"", "nonsense", "{", `{"a":}`, `["a"]`} {
		if got, _, ok := repairJSON(hopeless); ok {
			t.Errorf("%s became %s", hopeless, got)
		}
	}
}
