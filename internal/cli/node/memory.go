package node

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
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// A share is what one category has of the memory.
type share struct {
	name    string
	Bytes   int64   `json:"bytes"`
	Percent float64 `json:"percentage"`
}

// breakdown asks what a node's memory is used for: the largest category first, in shares of what the process has.
func breakdown(c *command.Call, node string) ([]share, json.RawMessage, error) {
	var answer struct {
		Memory json.RawMessage `json:"memory"`
	}
	if err := c.Client.Get(c.Ctx, &answer, "nodes", node, "memory"); err != nil {
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
func memoryBreakdown(c *command.Call) error {
	if _, err := inUnit(c, 0); err != nil {
		return err
	}
	o, err := overview(c)
	if err != nil {
		return err
	}
	all, _, err := breakdown(c, o.Node)
	if err != nil {
		return err
	}
	c.Banner("Reporting memory breakdown on node %s...", c.Node)
	if strings.HasPrefix(c.Formatter(), "json") {
		var fields []output.Field
		for _, s := range all {
			value, err := json.Marshal(s)
			if err != nil {
				return err
			}
			fields = append(fields, output.Field{Name: s.name, Value: value})
		}
		fmt.Fprintf(c.Stdout, "%s\n", output.Object(fields))
		return nil
	}
	for _, s := range all {
		amount, err := inUnit(c, s.Bytes)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "%s: %s (%v%%)\n", s.name, amount, s.Percent)
	}
	return nil
}

// listAttempts shows how often somebody logged in. Source: RabbitMQ rabbitmq-diagnostics list_node_auth_attempt_stats.
func listAttempts(c *command.Call) error {
	o, err := overview(c)
	if err != nil {
		return err
	}
	path := []string{"auth", "attempts", o.Node}
	columns := command.Same("protocol auth_attempts auth_attempts_failed auth_attempts_succeeded")
	if c.Options.On("by-source") {
		path, columns = append(path, "source"), append(command.Same("remote_address username"), columns...)
	}
	var rows []command.Row
	if err := c.Client.Get(c.Ctx, &rows, path...); err != nil {
		return err
	}
	c.Banner("Listing authentication attempts for node %q ...", c.Node)
	return c.Show(columns, rows)
}

// messageSizes shows how large the messages are that were published, as the metrics count them.
// Source: RabbitMQ rabbitmq-diagnostics message_size_stats.
func messageSizes(c *command.Call) error {
	text, err := metrics(c)
	if err != nil {
		return err
	}
	defer text.Close()
	var rows [][]output.Cell
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
		rows, counts = append(rows, []output.Cell{output.StringCell(name)}), append(counts, n-before)
		before, total = n, n
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for i, n := range counts {
		percent := math.Round(10000*n/max(total, 1)) / 100
		rows[i] = append(rows[i], output.Cell(strconv.FormatFloat(n, 'f', -1, 64)), output.Cell(strconv.FormatFloat(percent, 'f', -1, 64)))
	}
	c.Banner("Gathering message size statistics on node %s ...", c.Node)
	return c.Table([]string{"message_size", "count", "percentage"}, rows)
}

// metrics is the page of metrics at the address of the management API.
func metrics(c *command.Call) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(c.Ctx, http.MethodGet, c.Client.Base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	if c.Client.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Client.Token)
	} else {
		request.SetBasicAuth(c.Client.User, c.Client.Password)
	}
	response, err := c.Client.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, command.Failf(command.ExitUnavailable, "cannot read the metrics of %s: %s", c.Client.Base, response.Status)
	}
	return response.Body, nil
}
