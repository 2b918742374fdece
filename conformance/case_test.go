package conformance

import (
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A Case is one rule that a client may rely on, and how it shows.
type Case struct {
	Topic   string // one of topics
	Section int    // of that topic
	Name    string // unique, words joined by hyphens
	Rule    string // the rule, as a sentence that needs no other text

	// Since is the series of RabbitMQ from which on the rule holds, Before what the earlier ones do. Run asks
	// T.since which of the two to expect. Bartleby counts as series 4.2.
	Since, Before string

	// Newer says that Bartleby has the rule already, though it is of a later series than the one it counts as.
	Newer bool

	// Differs says what Bartleby does otherwise, and why; Choice is what that follows from. Run asks T.differs which
	// of the two to expect.
	Differs string
	Choice  choice

	// Alone says that only Bartleby has what the rule is about, or that RabbitMQ has it as a plugin which is not at
	// hand. The case is not run on RabbitMQ, and counted there.
	Alone bool

	Run func(t *T)
}

// The topics: what the client sees of the protocol, dead letters, expiry and limits, delayed messages, quorum queues
// and retries, policies and permissions.
const (
	surface  = "amqp-surface"
	dead     = "dead-lettering"
	expiry   = "expiry-and-limits"
	delayed  = "delayed-exchange"
	retry    = "quorum-and-retry"
	policies = "policies-and-permissions"
)

var topics = []string{surface, dead, expiry, delayed, retry, policies}

// suites is every case, in the order of the topics, but that the longest begin first.
var suites = [][]Case{
	delayedExampleCases,
	handshakeCases, loginCases, handshakeLimitCases, connectionLimitCases, frameCases, channelCases,
	exchangeCases, queueCases, queueArgumentCases, argumentCases, foreignArgumentCases, routingCases, headersCases, exchangeTypeCases, recentCases,
	declarationCases, orderCases, publishCases, publishCheckCases, replyCases, deliveryCases, settleCases, consumerCases, prefetchCases, confirmCases, transactionCases,
	triggerCases, deadLetterCases, deathCases, cycleCases, targetCases, topologyCases,
	deadLetterCheckCases, holdCases, lostLetterCases, counterCases, aloneCases,
	ttlCases, leaseCases, limitCases,
	limitCheckCases, priorityCases,
	delayedDeclareCases, delayHeaderCases, delayedRoutingCases, delayedPublishCases, delayedStoreCases, deliveryTimeCases, scheduleKeyCases, scheduledCases, scheduledHTTPCases,
	deliveryLimitCases, countCases, retryCases, ladderCases, timeoutCases, singleActiveCases,
	policyCases, policyMergeCases, validationCases, policyValueCases, permissionCases, topicPermissionCases, accessCases, definitionCases, shownCases,
}

// A version is a series of RabbitMQ.
type version struct{ major, minor int }

func parseSeries(s string) (version, error) {
	var v version
	if _, err := fmt.Sscanf(s, "%d.%d", &v.major, &v.minor); err != nil {
		return v, fmt.Errorf("%q is not a series such as 3.10: %w", s, err)
	}
	return v, nil
}

func (v version) less(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// A broker is what the cases talk to.
type broker struct {
	uri      amqp.URI
	http     string // of the management API, without a slash at the end
	series   version
	bartleby bool
}

// bartlebySeries is the series that Bartleby reports and follows.
var bartlebySeries = version{4, 2}

func parseBroker(amqpURL, httpURL, series string) (broker, error) {
	uri, err := amqp.ParseURI(amqpURL)
	if err != nil {
		return broker{}, fmt.Errorf("-amqp: %w", err)
	}
	b := broker{uri: uri, http: strings.TrimSuffix(httpURL, "/")}
	if b.http == "" {
		b.http = fmt.Sprintf("http://%s:15672", uri.Host)
	}
	if series == "bartleby" {
		b.bartleby, b.series = true, bartlebySeries
		return b, nil
	}
	b.series, err = parseSeries(series)
	return b, err
}

// since reports whether the broker is of a series in which the case's rule holds.
func (t *T) since() bool {
	t.Helper()
	v, err := parseSeries(t.Since)
	if err != nil {
		t.Fatalf("the case does not say since when: %v", err)
	}
	t.asked.since = true
	return t.Newer && t.broker.bartleby || !t.broker.series.less(v)
}

// differs reports whether the broker is Bartleby, which differs here as the case says.
func (t *T) differs() bool {
	t.Helper()
	if t.Differs == "" {
		t.Fatal("the case does not say what differs")
	}
	t.asked.differs = true
	return t.broker.bartleby
}
