package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A share is what one category has of the memory.
type share struct {
	name    string
	Bytes   int64   `json:"bytes"`
	Percent float64 `json:"percentage"`
}

// breakdown asks what a node's memory is used for: the largest category first, in shares of what the process has.
func (c *call) breakdown(node string) ([]share, json.RawMessage, error) {
	var answer struct {
		Memory json.RawMessage `json:"memory"`
	}
	if err := c.client.Get(c.ctx, &answer, "nodes", node, "memory"); err != nil {
		return nil, nil, err
	}
	var parts map[string]json.RawMessage
	var total api.MemoryTotal
	if err := json.Unmarshal(answer.Memory, &parts); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(parts["total"], &total); err != nil {
		return nil, nil, err
	}
	var all []share
	whole := max(total.RSS, total.Allocated, 1) // the former is looked at less often
	for name, value := range parts {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			continue // the total, and how it was measured
		}
		percent := 100 * float64(n) / float64(whole)
		all = append(all, share{name, n, math.Round(100*percent) / 100})
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.name, b.name)) })
	return all, answer.Memory, nil
}

// memoryBreakdown shows what the memory is used for. Source: RabbitMQ rabbitmq-diagnostics memory_breakdown.
func memoryBreakdown(c *call) error {
	if _, err := c.inUnit(0); err != nil {
		return err
	}
	o, err := c.overview()
	if err != nil {
		return err
	}
	all, _, err := c.breakdown(o.Node)
	if err != nil {
		return err
	}
	c.banner("Reporting memory breakdown on node %s...", c.node)
	if strings.HasPrefix(c.formatter(), "json") {
		var fields []field
		for _, s := range all {
			value, err := json.Marshal(s)
			if err != nil {
				return err
			}
			fields = append(fields, field{s.name, value})
		}
		fmt.Fprintf(c.stdout, "%s\n", object(fields))
		return nil
	}
	for _, s := range all {
		amount, err := c.inUnit(s.Bytes)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "%s: %s (%v%%)\n", s.name, amount, s.Percent)
	}
	return nil
}

// listAttempts shows how often somebody logged in. Source: RabbitMQ rabbitmq-diagnostics list_node_auth_attempt_stats.
func listAttempts(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	path := []string{"auth", "attempts", o.Node}
	columns := same("protocol auth_attempts auth_attempts_failed auth_attempts_succeeded")
	if c.words.on("by-source") {
		path, columns = append(path, "source"), append(same("remote_address username"), columns...)
	}
	var rows []row
	if err := c.client.Get(c.ctx, &rows, path...); err != nil {
		return err
	}
	c.banner("Listing authentication attempts for node %q ...", c.node)
	return c.show(columns, rows)
}

// messageSizes shows how large the messages are that were published, as the metrics count them.
// Source: RabbitMQ rabbitmq-diagnostics message_size_stats.
func messageSizes(c *call) error {
	text, err := c.metrics()
	if err != nil {
		return err
	}
	defer text.Close()
	var rows [][]cell
	var before, total float64
	var counts []float64
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		labels, value, found := strings.Cut(strings.TrimPrefix(lines.Text(), "rabbitmq_message_size_bytes_bucket"), "} ")
		_, bound, bounded := strings.Cut(labels, `le="`)
		n, err := strconv.ParseFloat(value, 64)
		if !strings.Contains(labels, `protocol="amqp091"`) || !found || !bounded || err != nil || !strings.HasPrefix(lines.Text(), "rabbitmq_message_size_bytes_bucket") {
			continue
		}
		name := "more"
		if most, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"`), 64); err == nil && !math.IsInf(most, 0) {
			name = fmt.Sprintf("up to %.0f bytes", most)
		}
		rows, counts = append(rows, []cell{textCell(name)}), append(counts, n-before)
		before, total = n, n
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for i, n := range counts {
		percent := math.Round(10000*n/max(total, 1)) / 100
		rows[i] = append(rows[i], cell(strconv.FormatFloat(n, 'f', -1, 64)), cell(strconv.FormatFloat(percent, 'f', -1, 64)))
	}
	c.banner("Gathering message size statistics on node %s ...", c.node)
	return c.table([]string{"message_size", "count", "percentage"}, rows)
}

// metrics is the page of metrics at the address of the management API.
func (c *call) metrics() (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, c.client.Base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	if c.client.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.client.Token)
	} else {
		request.SetBasicAuth(c.client.User, c.client.Password)
	}
	response, err := c.client.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, failf(exitUnavailable, "cannot read the metrics of %s: %s", c.client.Base, response.Status)
	}
	return response.Body, nil
}
