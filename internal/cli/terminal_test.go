package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
)

// hostile is a name that clears the screen, changes its title, turns the direction of text and ends a line.
const hostile = "a\x1b[2J\x1b]0;t\x07\u009b1m\u202e\r\n\tz"

func TestNothingFromOthersControlsATerminal(t *testing.T) {
	// If this fails, a user who names a queue, or a server that answers, has the terminal of an operator do something.
	t.Parallel()
	name, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	// json.Marshal escapes less than there is; C1 and directions are as they are.
	list := `[{"name":` + string(name) + `,"vhost":"/","messages":1,"arguments":{` + string(name) + `:1}}]`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "refused"):
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":"bad_request","reason":`+string(name)+`}`)
		case strings.Contains(r.URL.Path, "text"):
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "\x9b1m"+hostile)
		default:
			io.WriteString(w, list)
		}
	}))
	defer s.Close()
	env := map[string]string{"BARTLEBY_MANAGEMENT": s.URL}
	for _, c := range []struct {
		typed string
		lines int // that are written; 0: some
	}{
		{"rabbitmqadmin list queues name", 5}, {"rabbitmqadmin list queues", 5},
		{"rabbitmqadmin -f long list queues name", 5}, {"rabbitmqadmin -f tsv list queues", 2},
		{"rabbitmqadmin -f tsv -d 3 list queues", 2},
		{"rabbitmqadmin -f kvp list queues", 1}, {"rabbitmqadmin -f bash list queues", 1},
		{"rabbitmqadmin -f raw_json list queues", 1}, {"rabbitmqadmin -f pretty_json list queues", 0},
		{"rabbitmqadmin declare queue name=refused", 0}, {"rabbitmqadmin declare queue name=text", 0},
		{"rabbitmqctl -q list_queues name", 2}, {"rabbitmqctl --formatter json list_queues name", 0},
		{"rabbitmqctl list_queues -p refused", 0}, {"rabbitmqctl list_queues -p text", 0},
		{"rabbitmqctl add_vhost refused", 0}, {"rabbitmqctl list_queues -p NAME", 0}, {"rabbitmqctl delete_queue NAME", 0},
		{"rabbitmqctl export_definitions -", 0}, {"rabbitmqctl environment", 0}, {"NAME", 0}, {"rabbitmqctl NAME", 0},
	} {
		words := strings.Fields(c.typed)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "NAME", hostile)
		}
		_, out, errs := outcome(env, words...)
		text := out + errs
		for _, r := range text {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%s writes %q:\n%q", c.typed, r, text)
				break
			}
		}
		if n := strings.Count(strings.TrimSpace(text), "\n") + 1; c.lines > 0 && n != c.lines && n != c.lines-1 {
			t.Errorf("%s writes %d lines, want %d:\n%q", c.typed, n, c.lines, text)
		}
	}
	_, out, _ := outcome(env, "rabbitmqadmin", "-f", "raw_json", "list", "queues")
	var back []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &back); err != nil || len(back) != 1 || back[0].Name != hostile {
		t.Errorf("JSON says %q, %v", back, err)
	}
	_, out, _ = outcome(env, "rabbitmqadmin", "-f", "tsv", "list", "queues", "name", "messages")
	if want := "name\tmessages\n" + `a\033[2J\033]0;t\007\2331m\20056\015\012\011z` + "\t1\n"; out != want {
		t.Errorf("tsv is %q, want %q", out, want)
	}
}
