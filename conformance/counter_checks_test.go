package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

var counterCases = []Case{
	{
		Topic: dead, Section: 14, Name: "expired-are-counted",
		Rule: "Messages that expire without a dead-letter exchange count in the metrics as expired with the strategy " +
			"disabled.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", ms(10))
			before := t.died("expired", "rabbit_classic_queue", "disabled")
			for range 5 {
				ch.put("", q, "m")
			}
			ch.awaitDepth(q, 0)
			t.eventually("five more", func() bool { return t.died("expired", "rabbit_classic_queue", "disabled") >= before+5 })
		},
	},
	{
		Topic: dead, Section: 14, Name: "confirmed-are-counted",
		Rule: "Dead letters that their targets have confirmed under at-least-once count in the metrics as confirmed.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", sure, to(dlq))
			before := t.died("confirmed", "rabbit_quorum_queue", "at_least_once")
			for _, m := range []string{"a", "b", "c"} {
				ch.put("", q, m)
				t.must(ch.get(q).Reject(false))
			}
			ch.take(dlq, 3)
			t.eventually("three more", func() bool { return t.died("confirmed", "rabbit_quorum_queue", "at_least_once") >= before+3 })
		},
	},
}

// died reads how many messages died for a reason in queues of that type and strategy, other cases' included.
func (t *T) died(reason, queueType, strategy string) int {
	t.Helper()
	client := http.Client{Timeout: patience}
	res, err := client.Get(t.metrics() + "/metrics")
	t.must(err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	t.must(err)
	name := fmt.Sprintf("rabbitmq_global_messages_dead_lettered_%s_total{queue_type=%q,dead_letter_strategy=%q} ", reason, queueType, strategy)
	_, rest, ok := strings.Cut(string(all), "\n"+name)
	if !ok {
		t.Fatalf("there is no metric %s", name)
	}
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(value, 64)
	t.must(err)
	return int(n)
}

// metrics is where the broker shows its metrics, as its management API says.
func (t *T) metrics() string {
	t.Helper()
	var overview struct {
		Listeners []struct {
			Protocol string `json:"protocol"`
			Port     int    `json:"port"`
		} `json:"listeners"`
	}
	t.must(json.Unmarshal(t.ask("GET", nil, "overview").body, &overview))
	for _, l := range overview.Listeners {
		if l.Protocol == "http/prometheus" {
			return fmt.Sprintf("http://%s:%d", t.broker.uri.Host, l.Port)
		}
	}
	t.Fatal("the broker shows no metrics")
	return ""
}
