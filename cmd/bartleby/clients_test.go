package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// copied is what users copy out of the console, as ui/test/samples.mjs prints it.
type copied struct {
	Hard     string              // the name that shells and languages find hard
	Commands []string            // for a shell of Linux
	Codes    map[string][]string // by language or tool
}

// samplesFor makes the console's samples for a place.
func samplesFor(t *testing.T, at *place) (c copied) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here: `make deps` installs it")
	}
	_, port, err := net.SplitHostPort(at.broker.AMQPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(root, "internal/management/console/ui/test/samples.mjs")
	out, err := exec.Command(node, script, "http://"+at.broker.ManagementAddr().String(), port).Output()
	if err == nil {
		err = json.Unmarshal(out, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asksForPassword matches a command that reads a password from the terminal.
var asksForPassword = regexp.MustCompile(`^bartleby ctl (?:--node \S+ )?(add_user|change_password) \w+$`)

func TestCommandsOfTheConsole(t *testing.T) {
	// If this fails, a user copies a command out of the console and it fails, or does something else.
	t.Parallel()
	at := newPlace(t, false)
	c := samplesFor(t, at)
	var commands []command
	for _, typed := range append(append(c.Commands, c.Codes["linux"]...), c.Codes["curl"]...) {
		if asksForPassword.MatchString(typed) {
			typed = "echo secret | " + typed
		}
		commands = append(commands, command{typed: typed})
	}
	if len(commands) < 20 {
		t.Fatalf("only %d commands", len(commands))
	}
	const first = `
		bartleby ctl -q declare_queue orders.dlq
		bartleby ctl -q declare_exchange eu/orders
		bartleby ctl -q declare_exchange later --type x-delayed-message --arguments '{"x-delayed-type":"direct"}'
		for key in moved cancelled fired; do
			bartleby ctl -q put_scheduled later k x --key $key --in 1h >/dev/null # their ids are in samples.mjs
		done
		for queue in edited edited.to; do bartleby ctl -q declare_queue $queue; done
		bartleby ctl -q publish_message edited x
		bartleby ctl -q declare_binding amq.fanout edited.to
		bartleby ctl -q export_definitions definitions.json
		curl -s -u guest:guest http://localhost:15672/api/definitions/%2F > 'of a vhost.json'
	`
	for i, r := range at.play(t, first, commands) {
		if r.code != 0 {
			t.Errorf("%s\nexit code %d:\n%s", commands[i].typed, r.code, r.output)
		}
	}
	for _, want := range []string{
		`"name":` + asJSON(t, c.Hard), `"dead-letter-routing-key":` + asJSON(t, c.Hard), `"name":"--dry-run"`,
	} {
		if policies := at.get(t, "policies"); !strings.Contains(policies, want) {
			t.Errorf("no policy has %s: %s", want, policies)
		}
	}
	argument := `"x-dead-letter-routing-key":` + asJSON(t, c.Hard)
	if queues := at.get(t, "queues?columns=name,arguments"); !strings.Contains(queues, argument) {
		t.Errorf("no queue was declared with %s: %s", argument, queues)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// get asks the broker's HTTP API.
func (p *place) get(t *testing.T, path string) string {
	t.Helper()
	r, err := http.Get("http://guest:guest@" + p.broker.ManagementAddr().String() + "/api/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", r.Status, err)
	}
	return string(text)
}

// A client runs code of the console in a language: the texts one after the other, in a program.
type client struct {
	file    string // of the program
	program string // %s is the code; what it leaves to its reader is around it
	run     func(t *testing.T, dir, file string) *exec.Cmd
}

var clients = map[string]client{
	"go": {"main.go", `package main

import (
	"context"
	"log"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	ctx, body := context.Background(), []byte("x")
%s
	if err != nil || deliveries == nil {
		log.Fatal(err)
	}
	_ = connection.Close()
}
`, func(_ *testing.T, _, file string) *exec.Cmd { return exec.Command("go", "run", file) }},
	"python": {"main.py", "body = b'x'\n" + `def on_message(*args): pass
` + "%s" + "\nconnection.close()\n", runPython},
	"node": {"main.mjs", "const body = Buffer.from('x');\nconst onMessage = () => {};\n" +
		"%s\nawait connection.close();\n", runNode},
	"java": {"Main.java", `import com.rabbitmq.client.*;
import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        byte[] body = {};
        DeliverCallback deliver = (tag, message) -> {};
        CancelCallback cancel = tag -> {};
%s
        connection.close();
    }
}
`, runJava},
}

func TestCodeOfTheConsole(t *testing.T) {
	// If this fails, a user copies code out of the console that does not compile, or that the broker refuses.
	t.Parallel()
	for language, c := range clients {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			at := newPlace(t, false)
			texts := samplesFor(t, at).Codes[language]
			if len(texts) < 6 {
				t.Fatalf("only %d texts", len(texts))
			}
			for i, text := range texts { // those that declare a name twice, as two queues do, are blocks
				texts[i] = c.block(language, text, i)
			}
			file := filepath.Join(at.dir, c.file)
			code := strings.ReplaceAll(strings.Join(texts, "\n"), "channel.start_consuming()", "")
			if err := os.WriteFile(file, fmt.Appendf(nil, c.program, code), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := c.run(t, at.dir, file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, code)
			}
		})
	}
}

// block puts code of Java that declares variables, but not that which connects, into a block of its own.
func (c client) block(language, text string, i int) string {
	if language == "java" && strings.HasPrefix(text, "Map<") {
		return "{\n" + text + "\n}"
	}
	return text
}

func runPython(t *testing.T, _, file string) *exec.Cmd {
	t.Helper()
	python, err := filepath.Abs(filepath.Join(root, "build/interop/venv/bin/python"))
	if _, missing := os.Stat(python); missing != nil || err != nil {
		t.Skip("pika is not here: `make deps` installs it")
	}
	return exec.Command(python, file)
}

func runNode(t *testing.T, dir, file string) *exec.Cmd {
	t.Helper()
	for _, of := range []string{"interop/node", "browser"} {
		modules, err := filepath.Abs(filepath.Join(root, of, "node_modules"))
		if _, missing := os.Stat(filepath.Join(modules, "amqplib")); missing == nil && err == nil {
			if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			return exec.Command("node", file)
		}
	}
	t.Skip("amqplib is not here: `make deps` installs it")
	return nil
}

// runJava runs a program of one file, with the jars that the suite interop has.
func runJava(t *testing.T, _, file string) *exec.Cmd {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	var jars []string
	for _, pattern := range []string{
		"com/rabbitmq/amqp-client/*/*.jar", "org/slf4j/slf4j-api/*/*.jar", "io/netty/*/*/*.jar",
		"org/junit/jupiter/junit-jupiter-api/*/*.jar", "org/junit/platform/*/*/*.jar", "org/opentest4j/*/*/*.jar",
	} {
		found, err := filepath.Glob(filepath.Join(home, ".m2/repository", pattern))
		if _, missing := exec.LookPath("java"); err != nil || len(found) == 0 || missing != nil {
			t.Skip("the Java client is not here: `make deps` installs it")
		}
		slices.Reverse(found) // the newest first
		jars = append(jars, found...)
	}
	return exec.Command("java", "-cp", strings.Join(jars, ":"), file)
}

func TestProgramsOfTheClockPage(t *testing.T) {
	// If this fails, a test in Python or Java that a user copies out of the page about the clock does not work.
	t.Parallel()
	const runner = `class Main {
    public static void main(String[] args) throws Exception { new OrdersTest().unpaidOrderIsCancelled(); }
}

class OrdersTest {`
	for _, b := range blocksOf(t, filepath.Join(root, "docs/clock.md")) {
		c, known := clients[b.language]
		if !known || b.language == "go" { // TestCodeInPages
			continue
		}
		t.Run(b.language, func(t *testing.T) {
			t.Parallel()
			at := newPlace(t, true)
			file := filepath.Join(at.dir, c.file)
			text := strings.Replace(b.text, "class OrdersTest {", runner, 1)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			program := c.run(t, at.dir, file)
			program.Env = append(os.Environ(), "AMQP_URL="+strings.TrimSuffix(at.broker.URL(), "/"),
				"MANAGEMENT_URL=http://"+at.broker.ManagementAddr().String())
			if out, err := program.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestTerraformOfTheConsole(t *testing.T) {
	// If this fails, the policy that a user copies out of the console is another one in Terraform.
	t.Parallel()
	c := samplesFor(t, newPlace(t, false))
	unescape := strings.NewReplacer("$${", "${", "%%{", "%{")
	for _, text := range c.Codes["terraform"] {
		found := 0
		names := regexp.MustCompile(`(?m)^ *(?:name|"dead-letter-routing-key") += (".*")$`)
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			var value string
			if err := json.Unmarshal([]byte(m[1]), &value); err != nil {
				t.Fatal(err)
			}
			if unescape.Replace(value) != c.Hard || strings.Contains(strings.ReplaceAll(value, "$${", ""), "${") {
				t.Errorf("%s is not %s", m[1], c.Hard)
			}
			found++
		}
		if found == 0 {
			t.Errorf("no name in\n%s", text)
		}
		terraform, err := exec.LookPath("terraform")
		if err != nil {
			continue // it parses the whole; the names are compared above
		}
		read := exec.Command(terraform, "fmt", "-no-color", "-")
		read.Stdin = strings.NewReader(text)
		if out, err := read.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestPythonOfTheDelayPage(t *testing.T) {
	// If this fails, code in Python that a user copies out of the page about delayed messages does not work.
	t.Parallel()
	at := newPlace(t, false)
	text := "import json\nimport pika\n" +
		"connection = pika.BlockingConnection(pika.URLParameters('" + at.broker.URL() + "%2F'))\n" +
		"channel = connection.channel()\nbody = b'x'\n"
	for _, b := range blocksOf(t, filepath.Join(root, "docs/delayed-messages.md")) {
		if b.language == "python" {
			text += b.text
		}
	}
	file := filepath.Join(at.dir, "delay.py")
	if err := os.WriteFile(file, []byte(text+"connection.close()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := runPython(t, at.dir, file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
