package bartleby_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/bartlebytest"
	"github.com/bartleby-mq/bartleby/internal/cli"
)

// A readmeBroker runs the example of the README.
type readmeBroker struct {
	*bartlebytest.Broker
	t *testing.T
}

// ask reads the answer of the HTTP API, with the password of guest.
func (b readmeBroker) ask(path string, into any) {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+b.ManagementAddr().String()+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
}

// ctl runs a command of the command line and returns its output.
func (b readmeBroker) ctl(words ...string) string {
	b.t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{
		"BARTLEBY_MANAGEMENT": "http://" + b.ManagementAddr().String(),
		"BARTLEBY_USER":       "guest", "BARTLEBY_PASSWORD": "guest",
	}
	words = append([]string{"-q"}, words...)
	getenv := func(name string) string { return env[name] }
	if code := cli.Main("rabbitmqctl", words, strings.NewReader(""), &out, &errs, getenv); code != 0 {
		b.t.Fatalf("%v: exit %d: %s", words, code, &errs)
	}
	return out.String()
}

// waiting waits until a number of messages wait for their retry.
func (b readmeBroker) waiting(n int) {
	b.t.Helper()
	for ends := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		var queues []struct {
			Waiting int `json:"messages_delayed"`
		}
		b.ask("/api/queues", &queues)
		all := 0
		for _, q := range queues {
			all += q.Waiting
		}
		if all == n {
			return
		}
		if time.Now().After(ends) {
			b.t.Fatalf("%d messages wait, want %d", all, n)
		}
	}
}

func TestReadmeExample(t *testing.T) {
	// If this fails, the first program that a newcomer runs does not do what the README says, or its dead letter is not
	// found: by the lists of dead-letter queues and of groups that the console and the command line show.
	t.Parallel()
	b := readmeBroker{bartlebytest.Start(t), t}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	text, _, found := strings.Cut(rest, "```\n")
	if address := "localhost:5672"; !found || strings.Count(text, address) != 1 {
		t.Fatal("README.md has no program for a broker on " + address)
	} else {
		text = strings.Replace(text, address, b.AMQPAddr().String(), 1)
	}
	program := filepath.Join(t.TempDir(), "retry")
	if err := os.WriteFile(program+".go", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, program+".go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	begun := b.Now()
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second} {
		b.waiting(1)
		b.Advance(wait - time.Millisecond)
		b.waiting(1)
		b.Advance(time.Millisecond)
	}
	if err := run.Wait(); err != nil || strings.Count(out.String(), "I would prefer not to") != 3 {
		t.Fatalf("%v\n%s", err, &out)
	}
	b.isInItsQueue(begun)
}

// isInItsQueue checks what a newcomer sees of the dead letter.
func (b readmeBroker) isInItsQueue(begun time.Time) {
	b.t.Helper()
	var sum struct {
		Waiting int
		Queues  []struct {
			Name     string
			Messages int
		}
	}
	// The last nack has no answer.
	for ends := time.Now().Add(time.Minute); sum.Waiting != 1; <-time.After(10 * time.Millisecond) {
		if b.ask("/api/x/letters/%2F/summary", &sum); time.Now().After(ends) {
			b.t.Fatalf("dead letters: %+v", sum)
		}
	}
	if len(sum.Queues) != 1 || sum.Queues[0].Name != "work.dead" || sum.Queues[0].Messages != 1 {
		b.t.Errorf("dead letters: %+v", sum)
	}
	if got := b.ctl("dlq", "list", "name", "messages"); got != "name\tmessages\nwork.dead\t1\n" {
		b.t.Errorf("dlq list: %q", got)
	}
	if got := b.ctl("dlq", "show", "work.dead", "value", "count"); got != "value\tcount\ndelivery_limit\t1\n" {
		b.t.Errorf("dlq show: %q", got)
	}
	if got := b.ctl("group_letters", "--by", "source", "value", "count"); got != "value\tcount\nwork\t1\n" {
		b.t.Errorf("groups: %q", got)
	}
	var page struct {
		Items []struct {
			Deaths []struct {
				Queue, Reason string
				Count         int
				Time          int64
			}
		}
	}
	b.ask("/api/x/queues/%2F/work.dead/messages", &page)
	if len(page.Items) != 1 || len(page.Items[0].Deaths) != 1 {
		b.t.Fatalf("messages: %+v", page)
	}
	died := begun.Add(6 * time.Second).Unix()
	if d := page.Items[0].Deaths[0]; d.Queue != "work" || d.Reason != "delivery_limit" || d.Count != 1 || d.Time != died {
		b.t.Errorf("died: %+v, want at %d", d, died)
	}
	var lint struct{ Errors, Warnings int }
	if b.ask("/api/x/lint", &lint); lint.Errors+lint.Warnings > 0 {
		b.t.Errorf("lint: %+v\n%s", lint, b.ctl("lint"))
	}
}
