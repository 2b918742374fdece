package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scraper is a Prometheus of our own.
type scraper struct {
	url     string
	command *exec.Cmd
}

// start has Prometheus scrape the totals and, as a job of its own, single objects, every second; on return it has
// scraped both.
func start(ctx context.Context, s *session, directory string) (*scraper, error) {
	target, err := url.Parse(s.metrics)
	if err != nil {
		return nil, err
	}
	rules, err := filepath.Abs(filepath.Join(s.contrib, "prometheus", "bartleby.rules.yml"))
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: bartleby
    static_configs: [{targets: [%q], labels: {namespace: test}}]
  - job_name: bartleby-queues
    metrics_path: /metrics/detailed
    params: {family: [queue_coarse_metrics, queue_metrics, dead_letter_metrics]}
    static_configs: [{targets: [%q], labels: {namespace: test}}]
`, rules, target.Host, target.Host)
	file := filepath.Join(directory, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(directory, "log"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	c := exec.Command(filepath.Join(s.binaries, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(directory, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &scraper{"http://" + address, c}
	if err := p.await(ctx, `count(up == 1) == 2 and on() count(count_over_time(rabbitmq_queues[1m]) >= 3) == 1`); err != nil {
		p.stop()
		log, _ := os.ReadFile(said.Name()) // as much as there is
		return nil, fmt.Errorf("%w; it said: %s", err, log)
	}
	return p, nil
}

// stop ends Prometheus.
func (p *scraper) stop() {
	if err := p.command.Process.Signal(syscall.SIGTERM); err == nil {
		_ = p.command.Wait() // it was told to end
	}
}

// await asks until the answer is something.
func (p *scraper) await(ctx context.Context, query string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		found, err := p.ask(ctx, query)
		if err == nil && len(found) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: nothing, %v", query, err)
		case <-tick.C:
		}
	}
}

// sample is a series with its value of now.
type sample struct {
	Metric map[string]string
	value  float64
}

// ask evaluates a query now.
func (p *scraper) ask(ctx context.Context, query string) ([]sample, error) {
	body, err := fetch(ctx, p.url+"/api/v1/query?query="+url.QueryEscape(query))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	var answer struct {
		Status string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Value  [2]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	var all []sample
	for _, r := range answer.Data.Result {
		value, err := strconv.ParseFloat(strings.Trim(string(r.Value[1]), `"`), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		all = append(all, sample{r.Metric, value})
	}
	return all, nil
}

// fetch reads a page.
func fetch(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		return "", err
	}
	if w.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", address, w.Status, body)
	}
	return string(body), nil
}
