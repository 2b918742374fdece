// Command prometheus has a real Prometheus, unmodified, scrape a broker: what promtool says of each page of metrics, of
// the alerts that are shipped and of their tests; what Prometheus makes of two scrapes, of all queries of the
// dashboards that are shipped, and of the joins and bucket bounds that RabbitMQ's own dashboards rely on.
//
// The broker is the one that AMQP_URL and METRICS_URL name, PROMETHEUS_BIN is where prometheus and promtool are. It
// prints a line per check and ends with "N passed, N failed", and with a status other than 0 if one failed.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// session is what the checks work with.
type session struct {
	metrics  string // URL of the metrics' port
	binaries string
	contrib  string
	scraper  *scraper
}

// within is how long each check may take, and how long Prometheus has to start and scrape.
const within = time.Minute

func main() { os.Exit(run()) }

func run() int {
	s := &session{
		metrics:  cmp.Or(os.Getenv("METRICS_URL"), "http://127.0.0.1:15692"),
		binaries: cmp.Or(os.Getenv("PROMETHEUS_BIN"), "/usr/bin"),
		contrib:  cmp.Or(os.Getenv("CONTRIB"), "contrib"),
	}
	conn, err := amqp.Dial(cmp.Or(os.Getenv("AMQP_URL"), "amqp://guest:guest@127.0.0.1:5672/"))
	if err != nil {
		fmt.Println("FAIL connect:", err)
		return 1
	}
	defer conn.Close()
	if err := traffic(conn); err != nil {
		fmt.Println("FAIL traffic:", err)
		return 1
	}
	directory, err := os.MkdirTemp("", "prometheus")
	if err != nil {
		fmt.Println("FAIL", err)
		return 1
	}
	defer os.RemoveAll(directory)
	passed, failed := 0, 0
	for _, c := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"promtool finds nothing wrong with any page", s.pages},
		{"promtool finds nothing wrong with the alerts", s.rules},
		{"alerts say what they should", s.testRules},
		{"prometheus starts and scrapes", func(ctx context.Context) (err error) {
			s.scraper, err = start(ctx, s, directory)
			return err
		}},
		{"queries of the dashboards", s.dashboards},
		{"figures of RabbitMQ's dashboards", s.published},
		{"figures of what was done", s.figures},
		{"alerts are evaluated", s.alerts},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		err := c.run(ctx)
		cancel()
		if err != nil {
			failed++
			fmt.Printf("FAIL %s: %v\n", c.name, err)
			continue
		}
		passed++
		fmt.Printf("ok   %s\n", c.name)
	}
	if s.scraper != nil {
		s.scraper.stop()
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return min(failed, 1)
}

// traffic lets every kind of metric have something to show. What it declares is deleted by the next run.
func traffic(conn *amqp.Connection) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return ch.Confirm(false) },
		func() error { _, err := ch.QueueDelete("prometheus.work", false, false, false); return err },
		func() error { _, err := ch.QueueDelete("prometheus.dead", false, false, false); return err },
		func() error { return ch.ExchangeDeclare("prometheus.dlx", "fanout", false, true, false, false, nil) },
		func() error {
			_, err := ch.QueueDeclare("prometheus.dead", false, false, false, false, nil)
			return err
		},
		func() error { return ch.QueueBind("prometheus.dead", "", "prometheus.dlx", false, nil) },
		func() error {
			_, err := ch.QueueDeclare("prometheus.work", false, false, false, false, amqp.Table{"x-dead-letter-exchange": "prometheus.dlx"})
			return err
		},
	}
	for range 3 {
		steps = append(steps, func() error {
			sent, err := ch.PublishWithDeferredConfirm("", "prometheus.work", true, false, amqp.Publishing{Body: make([]byte, 500)})
			if err == nil && !sent.Wait() {
				err = fmt.Errorf("a message was refused")
			}
			return err
		})
	}
	steps = append(steps, func() error {
		m, found, err := ch.Get("prometheus.work", false)
		if err == nil && !found {
			err = fmt.Errorf("nothing in the queue")
		}
		if err != nil {
			return err
		}
		return m.Reject(false)
	}, func() error {
		_, found, err := ch.Get("prometheus.work", true)
		if err == nil && !found {
			err = fmt.Errorf("nothing in the queue")
		}
		return err
	})
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// tool runs promtool, which says what is wrong by its status and in words.
func (s *session) tool(ctx context.Context, input string, arguments ...string) error {
	c := exec.CommandContext(ctx, filepath.Join(s.binaries, "promtool"), arguments...)
	c.Stdin = strings.NewReader(input)
	said, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}

// pages has promtool read every page, and look for bad manners too.
func (s *session) pages(ctx context.Context) error {
	for _, path := range []string{
		"/metrics", "/metrics/per-object", "/metrics/detailed", "/metrics/memory-breakdown",
		"/metrics/detailed?family=queue_coarse_metrics&family=queue_metrics&family=queue_delivery_metrics&family=exchange_metrics" +
			"&family=channel_metrics&family=connection_coarse_metrics&family=connection_metrics&family=vhost_status&family=exchange_bindings" +
			"&family=dead_letter_metrics&family=expiry_metrics&family=delayed_metrics&family=retry_metrics",
	} {
		page, err := fetch(ctx, s.metrics+path)
		if err != nil {
			return err
		}
		if err := s.tool(ctx, page, "check", "metrics"); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (s *session) rules(ctx context.Context) error {
	return s.tool(ctx, "", "check", "rules", filepath.Join(s.contrib, "prometheus", "bartleby.rules.yml"))
}

func (s *session) testRules(ctx context.Context) error {
	return s.tool(ctx, "", "test", "rules", filepath.Join(s.contrib, "prometheus", "bartleby.rules_test.yml"))
}
