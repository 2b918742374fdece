package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdminConfiguration(t *testing.T) {
	// If this fails, rabbitmqadmin asks another broker than its file of configuration names, or as somebody else.
	t.Parallel()
	var path, user, password string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		user, password, _ = r.BasicAuth()
		io.WriteString(w, `[]`)
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	text := "[other]\nhostname = nowhere\n\n[default]\nhostname = " + u.Hostname() + "\nport = " + u.Port() +
		" # here\nusername = u\npassword = p\nvhost = a/b\nssl = False\npath_prefix = /mq/\n"
	if err := os.WriteFile(filepath.Join(home, ".rabbitmqadmin.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"list", "queues"}, "/mq/api/queues/a%2Fb u p"},
		{[]string{"list", "queues", "-V", "/", "-uv", "--password=q"}, "/mq/api/queues/%2F v q"},
		{[]string{"list", "queues", "-U", s.URL + "/x"}, "/x/api/queues/a%2Fb u p"},
	} {
		if code, out, _ := outcome(env, append([]string{"rabbitmqadmin"}, c.words...)...); code != 0 || path+" "+user+" "+password != c.want {
			t.Errorf("%v: %d, %s%s %s %s", c.words, code, out, path, user, password)
		}
	}
	for _, words := range [][]string{{"-N", "missing", "list", "queues"}, {"-N", "other", "-t", "0.2", "-P", "1", "-H", "127.0.0.1", "list", "queues"}} {
		if code, out, _ := outcome(env, append([]string{"rabbitmqadmin"}, words...)...); code != 1 || !strings.HasPrefix(out, "*** Could not ") {
			t.Errorf("%v: %d, %s", words, code, out)
		}
	}
}

func TestAdminPayloadFile(t *testing.T) {
	// If this fails, a payload that is no text is written to a file otherwise than it was published.
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `[{"payload":"AAH/","payload_encoding":"base64","routing_key":"q"}]`)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "payload")
	code, out, _ := outcome(nil, "rabbitmqadmin", "-U", s.URL, "get", "queue=q", "payload_file="+file)
	if b, err := os.ReadFile(file); err != nil || code != 0 || string(b) != "\x00\x01\xff" || strings.Contains(out, "AAH/") {
		t.Errorf("%d, %q, %v, %s", code, b, err, out)
	}
	exported := filepath.Join(t.TempDir(), "definitions")
	if code, out, _ := outcome(nil, "rabbitmqadmin", "-U", s.URL, "export", exported); code != 0 {
		t.Error(out)
	}
}
