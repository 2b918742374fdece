package conformance

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var (
	amqpURL = flag.String("amqp", os.Getenv("CONFORMANCE_AMQP"), "URL of the broker under test; without it only the case table is checked")
	httpURL = flag.String("http", os.Getenv("CONFORMANCE_HTTP"), "URL of its management API")
	series  = flag.String("series", either(os.Getenv("CONFORMANCE_SERIES"), "bartleby"), "what answers there: bartleby, or a series of RabbitMQ such as 3.10")
)

// outcome counts the cases that ran.
var outcome struct {
	passed, failed, alone atomic.Int64
	names                 sync.Map // of the cases that passed
}

// parallelCases is how many cases run at once: most of them wait for a TTL, not for a processor.
const parallelCases = "12"

// either is s, or otherwise if that is empty.
func either(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", parallelCases); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	begun := time.Now()
	code := m.Run()
	if *amqpURL != "" {
		fmt.Printf("conformance (%s): %d passed, %d failed, %d not run (only Bartleby has these) in %.1f s\n",
			*series, outcome.passed.Load(), outcome.failed.Load(), outcome.alone.Load(), time.Since(begun).Seconds())
	}
	os.Exit(code)
}

// written reports whether the page of a topic in docs/compat has that section.
func written(t *testing.T, topic string, section int) bool {
	t.Helper()
	page, err := os.ReadFile("../docs/compat/" + topic + ".md")
	if err != nil {
		t.Error(err)
	}
	return strings.Contains(string(page), fmt.Sprintf("<a id=%q></a>\n", fmt.Sprint(section)))
}

// If this fails, a case cannot be told from another or cannot be understood without its code.
func TestCaseTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(suites...) {
		switch {
		case seen[c.Name]:
			t.Errorf("two cases are called %q", c.Name)
		case c.Name == "" || strings.ContainsAny(c.Name, " /"):
			t.Errorf("the name %q must be words joined by hyphens", c.Name)
		case !slices.Contains(topics, c.Topic) || !written(t, c.Topic, c.Section):
			t.Errorf("%s: docs/compat has no page %s with a section %d", c.Name, c.Topic, c.Section)
		case len(strings.Fields(c.Rule)) < 5 || !strings.HasSuffix(c.Rule, "."):
			t.Errorf("%s: the rule %q is not a sentence", c.Name, c.Rule)
		case c.Run == nil:
			t.Errorf("%s: has nothing to run", c.Name)
		}
		if _, err := parseSeries(c.Since); c.Since != "" && err != nil {
			t.Errorf("%s: Since: %v", c.Name, err)
		}
		if (c.Since == "") != (c.Before == "") {
			t.Errorf("%s: Since and Before go together", c.Name)
		}
		if (c.Differs == "") != (c.Choice == "") || c.Choice != "" && !slices.Contains(choices, c.Choice) {
			t.Errorf("%s: Differs goes together with one of the choices", c.Name)
		}
		if c.Newer && c.Since == "" || c.Alone && (c.Since != "" || c.Differs != "") {
			t.Errorf("%s: Newer needs Since; Alone needs nothing else, because there is only one side", c.Name)
		}
		seen[c.Name] = true
	}
}

// If a case fails, the broker under test does not do what its rule says.
func TestConformance(t *testing.T) {
	if *amqpURL == "" {
		t.Log("no -amqp: nothing but the case table was checked")
		return
	}
	b, err := parseBroker(*amqpURL, *httpURL, *series)
	if err != nil {
		t.Fatal(err)
	}
	probe, err := amqp.Dial(*amqpURL)
	if err != nil {
		outcome.failed.Add(1)
		t.Fatalf("no broker to test: %v", err) // once, instead of in every case
	}
	version, _ := probe.Properties["version"].(string)
	probe.Close()
	if *update && !b.bartleby {
		t.Cleanup(func() { keepRecord(t, version) }) // when all cases have ended
	}
	for i, c := range slices.Concat(suites...) {
		if c.Alone && !b.bartleby {
			outcome.alone.Add(1)
			continue
		}
		t.Run(fmt.Sprintf("%s-%d/%s", c.Topic, c.Section, c.Name), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					outcome.failed.Add(1)
					t.Logf("the rule: %s", c.Rule)
				} else {
					outcome.passed.Add(1)
					outcome.names.Store(c.Name, true)
				}
			})
			ct := &T{T: t, broker: b, Case: c, number: i, vhost: b.uri.Vhost}
			late := time.AfterFunc(caseLimit, ct.lifeline.cut)
			t.Cleanup(func() { late.Stop() })
			c.Run(ct)
			ct.sides()
		})
	}
}
