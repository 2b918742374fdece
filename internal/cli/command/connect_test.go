package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIdentity(t *testing.T) {
	// If this fails, a command goes out under the wrong name, or the secret of this machine to another one.
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ctl-secret"), []byte("s3cret\n"), 0o600); err != nil {
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
		w, err := Parse(strings.Fields(c.typed))
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Options: w, Stderr: io.Discard, Env: func(name string) string { return c.env[name] }}
		if err := call.Connect(); err != nil {
			t.Fatal(err)
		}
		if got := call.Client.User + "/" + call.Client.Password + " " + call.Client.Token; got != c.want {
			t.Errorf("%s %v: %s, want %s", c.typed, c.env, got, c.want)
		}
	}
}

func TestNodeNames(t *testing.T) {
	// If this fails, -n rabbit@this-machine does not lead to the broker of this machine, or another one's does.
	t.Parallel()
	const local = "http://127.0.0.1:25673"
	for _, c := range []struct {
		typed, env, nodename, base, node string
	}{
		{"-n rabbit@" + hostname(), local, "", local, "rabbit@" + hostname()},
		{"-n bunny@localhost", local, "", local, "bunny@localhost"},
		{"-n rabbit", local, "", local, "rabbit@" + hostname()},
		{"-n rabbit@localhost", "", "", defaultBase, "rabbit@localhost"},
		{"-n rabbit@elsewhere.example", local, "", "http://elsewhere.example:15672", "rabbit@elsewhere.example"},
		{"-n http://h:1", local, "", "http://h:1", "rabbit@h"},
		{"", local, "rabbit@elsewhere.example", local, "rabbit@" + hostname()},
		{"", "", "rabbit@elsewhere.example", "http://elsewhere.example:15672", "rabbit@elsewhere.example"},
		{"", "", "rabbit@localhost", defaultBase, "rabbit@localhost"},
	} {
		w, err := Parse(strings.Fields(c.typed))
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"BARTLEBY_MANAGEMENT": c.env, "RABBITMQ_NODENAME": c.nodename}
		base, node, err := (&Call{Options: w, Env: func(name string) string { return env[name] }}).locate()
		if err != nil || base != c.base || node != c.node {
			t.Errorf("%+v: %s, %s, %v", c, base, node, err)
		}
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
		":8080":                "http://127.0.0.1:8080",
		"0.0.0.0:8080":         "http://127.0.0.1:8080",
		"[::]:8080":            "http://127.0.0.1:8080",
		"http://:8080/x":       "http://127.0.0.1:8080/x",
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
