package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// variables are what Grafana puts in for a dashboard's.
var variables = strings.NewReplacer("$__rate_interval", "10s", "$instance", ".*", "$vhost", ".*", "$cluster", ".*")

// dashboards evaluates every query of every dashboard that is shipped.
func (s *session) dashboards(ctx context.Context) error {
	if s.scraper == nil {
		return fmt.Errorf("prometheus does not run")
	}
	files, err := filepath.Glob(filepath.Join(s.contrib, "grafana", "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no dashboards in %s: %w", s.contrib, err)
	}
	asked, empty := 0, []string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				found, err := s.scraper.ask(ctx, variables.Replace(target.Expr))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", filepath.Base(file), panel.Title, err)
				}
				if asked++; len(found) == 0 {
					empty = append(empty, panel.Title+": "+target.Expr)
				}
			}
		}
	}
	if asked < 80 {
		return fmt.Errorf("only %d queries were found", asked)
	}
	// Where nothing expires, waits or is delayed, such panels are empty; all others show at least a zero.
	for _, e := range empty {
		if !strings.Contains(e, "histogram_quantile") && !strings.Contains(e, "next_due") && !strings.Contains(e, "topk") {
			return fmt.Errorf("nothing to show: %s", e)
		}
	}
	return nil
}

// want checks queries by what they must come to, at least.
func (s *session) want(ctx context.Context, queries map[string]float64) error {
	if s.scraper == nil {
		return fmt.Errorf("prometheus does not run")
	}
	for query, least := range queries {
		found, err := s.scraper.ask(ctx, query)
		if err != nil {
			return err
		}
		if len(found) != 1 || found[0].value < least {
			return fmt.Errorf("%s: %v, want one of at least %v", query, found, least)
		}
	}
	return nil
}

// published asks what RabbitMQ's dashboards and rules do: joins with one identity, bounds of buckets as they are
// written.
func (s *session) published(ctx context.Context) error {
	const join = ` * on(instance, job) group_left(rabbitmq_cluster, rabbitmq_node) rabbitmq_identity_info{rabbitmq_cluster=~".+", namespace="test", rabbitmq_endpoint="aggregated"}`
	sizes := `rabbitmq_message_size_bytes_bucket{protocol="amqp091",le="%s"}`
	queries := map[string]float64{
		"sum(rabbitmq_queue_messages_ready" + join + ")":                      1,
		"sum(rabbitmq_connections" + join + ") by (rabbitmq_node)":            1,
		"sum(rabbitmq_global_messages_received_total" + join + ")":            3,
		"sum(rabbitmq_process_resident_memory_bytes" + join + ")":             1,
		"sum(rabbitmq_disk_space_available_bytes" + join + ")":                1,
		`count(rabbitmq_build_info{job="bartleby"})`:                          1,
		`count(rabbitmq_identity_info{rabbitmq_endpoint="detailed"})`:         1,
		`rabbitmq_detailed_queue_messages{vhost="/",queue="prometheus.dead"}`: 1,
		`rabbitmq_detailed_queue_info{vhost="/",queue="prometheus.dead"}`:     1,
	}
	for _, bound := range []string{"1000.0", "10000.0", "100000.0", "1e+06", "1e+07", "5e+07", "1e+08", "+Inf"} {
		queries[fmt.Sprintf(sizes, bound)] = 3
	}
	return s.want(ctx, queries)
}

// figures asks for what the traffic has left.
func (s *session) figures(ctx context.Context) error {
	return s.want(ctx, map[string]float64{
		`rabbitmq_global_messages_confirmed_total{protocol="amqp091"}`:                                                                 3,
		`rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="rabbit_classic_queue",dead_letter_strategy="at_most_once"}`: 1,
		`rabbitmq_global_messages_delivered_get_auto_ack_total{protocol="amqp091",queue_type="rabbit_classic_queue"}`:                  1,
		`sum(bartleby_dead_letters_total{vhost="/",reason="rejected",outcome="routed"})`:                                               1,
		`bartleby_dlq_messages{vhost="/",queue="prometheus.dead"}`:                                                                     1,
		`bartleby_dlq_messages{vhost="/",queue=""}`:                                                                                    1,
		`bartleby_queue_dead_letters_total{vhost="/",queue="prometheus.work",reason="rejected"}`:                                       1,
		`bartleby_dlq_oldest_message_age_seconds{vhost="/",queue="prometheus.dead"}`:                                                   0,
		`rabbitmq_auth_attempts_succeeded_total{protocol="amqp091"}`:                                                                   1,
	})
}

// alerts makes sure that no alert cannot be evaluated.
func (s *session) alerts(ctx context.Context) error {
	if s.scraper == nil {
		return fmt.Errorf("prometheus does not run")
	}
	if err := s.scraper.await(ctx, `min(min_over_time(up{job="bartleby"}[5s])) == 1`); err != nil {
		return err
	}
	body, err := fetch(ctx, s.scraper.url+"/api/v1/rules")
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Name  string
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return err
	}
	n := 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if n++; r.Health == "err" {
				return fmt.Errorf("%s: %s", r.Name, r.LastError)
			}
		}
	}
	if n < 20 {
		return fmt.Errorf("only %d alerts are known", n)
	}
	return nil
}
