package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/cli"
	commands "github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/config"
	"github.com/bartleby-mq/bartleby/internal/perf"
)

// A durationPlace is a place where people write a duration as text. read gives it there; an error is what they see.
type durationPlace struct {
	name string
	read func(text string) error
}

// durationPlaces are all of them: over HTTP, on the command line, in the configuration, in the load generator.
func durationPlaces(ask func(method, path, body string) error) []durationPlace {
	get := func(path string) func(string) error {
		return func(text string) error { return ask("GET", path+url.QueryEscape(text), "") }
	}
	put := func(path, body string) func(string) error {
		return func(text string) error { return ask("PUT", path, fmt.Sprintf(body, text)) }
	}
	queues := 0
	return []durationPlace{
		{"argument x-delayed-retry-steps", func(text string) error {
			queues++
			return put(fmt.Sprintf("queues/%%2F/q%d", queues), `{"arguments":{"x-delayed-retry-steps":"%s"}}`)(text)
		}},
		{"policy delayed-retry-steps", put("policies/%2F/p",
			`{"pattern":"a","definition":{"delayed-retry-type":"all","delayed-retry-steps":"%s"}}`)},
		{"operator policy delayed-retry-steps", put("operator-policies/%2F/p",
			`{"pattern":"a","definition":{"delayed-retry-type":"all","delayed-retry-steps":"%s"}}`)},
		{"option lost-letters-max-age", put("x/options/%2F", `{"lost-letters-max-age":"%s"}`)},
		{"option consumer-timeout", put("x/options/%2F", `{"consumer-timeout":"%s"}`)},
		{"filter age", get("x/letters/%2F?filter=age:>")},
		{"count of scheduled messages, bucket", get("x/scheduled?from=0&until=1&bucket=")},
		{"deaths, range", get("x/letters?range=")},
		{"in of a scheduled message", put("x/scheduled/%2F/later/key/k", `{"routing_key":"","payload":"","in":"%s"}`)},
		{"--in", commandWith("put_scheduled --key k x r p --in DURATION")},
		{"--watch", commandWith("redrive_dlq q --yes --watch DURATION")},
		{"--by", commandWith("count_scheduled --by DURATION")},
		{"clock advance", commandWith("clock advance DURATION")},
		{"sync-interval", configured("sync-interval")},
		{"unfinished_messages.timeout", configured("unfinished_messages.timeout")},
		{"perf -duration", func(text string) error {
			var errs bytes.Buffer
			args := []string{"connect", "-url", "amqp://127.0.0.1:1", "-duration", text}
			if perf.Main(args, io.Discard, &errs) == 64 {
				return errors.New(errs.String())
			}
			return nil
		}},
	}
}

// commandWith runs a command without a broker: it ends with 69 if the duration is accepted.
func commandWith(words string) func(string) error {
	return func(text string) error {
		var errs bytes.Buffer
		args := strings.Fields(strings.Replace(words, "DURATION", text, 1))
		env := func(name string) string { return map[string]string{"BARTLEBY_MANAGEMENT": "http://127.0.0.1:1"}[name] }
		if cli.Main("bartleby", args, strings.NewReader(""), io.Discard, &errs, env) == 69 {
			return nil
		}
		return errors.New(errs.String())
	}
}

func configured(key string) func(string) error {
	return func(text string) error {
		_, err := config.Load(config.Sources{Options: []config.Option{{Key: key, Value: text}}})
		return err
	}
}

// asker asks a broker over HTTP; an error is the body of its refusal.
func asker(t *testing.T) func(method, path, body string) error {
	b, err := bartleby.Start(bartleby.Config{Management: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	base := "http://" + b.ManagementAddr().String() + "/api/"
	ask := func(method, path, body string) error {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.SetBasicAuth("guest", "guest")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer got.Body.Close()
		if answer, err := io.ReadAll(got.Body); got.StatusCode >= 400 || err != nil {
			return fmt.Errorf("%d %s %w", got.StatusCode, answer, err)
		}
		return nil
	}
	later := `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"fanout"}}`
	if err := ask("PUT", "exchanges/%2F/later", later); err != nil {
		t.Fatal(err)
	}
	return ask
}

func TestDurationsAreWrittenAlikeEverywhere(t *testing.T) {
	// If this fails, a unit that works in one place is refused in another, or a number without a unit is accepted: what
	// it means, milliseconds or seconds, depends on the place.
	t.Parallel()
	finer := []string{"perf -duration", "sync-interval", "unfinished_messages.timeout"}
	alike := strings.Fields("1h 60m 60min 3600s 3600000ms 0.5h30m 1H 59m60s 1d 24h")
	for _, place := range durationPlaces(asker(t)) {
		for _, text := range alike {
			if err := place.read(text); err != nil {
				t.Errorf("%s: %s is refused: %v", place.name, text, err)
			}
		}
		for text, want := range map[string]string{
			"5": "'5' has no unit: write 5s, or 5ms", "3600": "write 3600s, or 3600ms", "1.5": "write 1.5s, or 1.5ms",
			"soon": "'soon' is not a duration: write a number with ms, s, m, h, d or w, such as 90s or 1h30m",
			"5y":   "is not a duration", "1h30": "is not a duration",
		} {
			if err := place.read(text); err == nil || !strings.Contains(plain(err), want) {
				t.Errorf("%s: %s: %v, want %s", place.name, text, err, want)
			}
		}
		if slices.Contains(finer, place.name) {
			continue
		}
		err := place.read("0.5ms")
		if err == nil || !strings.Contains(plain(err), "is not a whole number of milliseconds") {
			t.Errorf("%s: half a millisecond: %v", place.name, err)
		}
	}
}

// plain is an error without the quotes of JSON.
func plain(err error) string { return strings.ReplaceAll(err.Error(), `\`, "") }

func TestNumbersOfMillisecondsStayNumbers(t *testing.T) {
	// If this fails, a configuration, a definition or a program that was written for RabbitMQ is refused.
	t.Parallel()
	ask := asker(t)
	for _, body := range []string{
		`{"lost-letters-max-age":86400000}`, `{"consumer-timeout":600000}`,
	} {
		if err := ask("PUT", "x/options/%2F", body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	for name, value := range map[string]string{
		"consumer_timeout": "600000", "handshake_timeout": "10000", "tcp_listen_options.send_timeout": "15000",
		"default_policies.operator.o.expires": "600000", "default_policies.operator.p.message_ttl": "1d2h",
	} {
		if err := configured(name)(value); err != nil {
			t.Errorf("%s = %s: %v", name, value, err)
		}
	}
	const policy = `{"pattern":"a","definition":{"message-ttl":5,"expires":5,"delayed-retry-min":5}}`
	if err := ask("PUT", "policies/%2F/p", policy); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`"5"`, `"5s"`} {
		if err := ask("PUT", "policies/%2F/p", `{"pattern":"a","definition":{"message-ttl":`+text+`}}`); err == nil {
			t.Errorf("a message-ttl of %s is accepted", text)
		}
	}
}

func TestDurationsHaveOneParser(t *testing.T) {
	// If this fails, durations are read by other code than internal/duration, with other units, or an option of the
	// command line takes a duration that TestDurationsAreWrittenAlikeEverywhere does not try.
	t.Parallel()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"build", "node_modules", "bench"}, d.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		for _, call := range []string{"time.ParseDuration(", ".DurationVar("} {
			if bytes.Contains(text, []byte(call)) {
				t.Errorf("%s has %s", path, call)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	var takes []string
	for _, o := range commands.KnownOptions() {
		if o.Value == "duration" {
			takes = append(takes, o.Name)
		}
	}
	if got := strings.Join(takes, " "); got != "in watch" {
		t.Errorf("options that take a duration: %s", got)
	}
}
