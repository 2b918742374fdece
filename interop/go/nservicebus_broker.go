package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// What NServiceBus asks of the management API before an endpoint starts: that the broker is recent, has the feature
// flag of streams, and that no quorum queue it uses will drop a message that was given back too often. If one would, it
// lifts the limit by a policy of its own.

// A nservicebusQueue is what the transport reads of /api/queues/VHOST/NAME.
type nservicebusQueue struct {
	DeliveryLimit *json.RawMessage `json:"delivery_limit"` // a number, or "unlimited"; RabbitMQ 3 does not say
	Policy        string           `json:"policy"`
	Effective     *struct{}        `json:"effective_policy_definition"`
}

// manage makes a request of the management API, decodes the answer into result, unless that is nil, and reports whether
// the object was found.
func manage(method, path string, body, result any) (found bool, err error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return false, err
		}
		content = bytes.NewReader(encoded)
	}
	url := cmp.Or(os.Getenv("MANAGEMENT_URL"), "http://127.0.0.1:15672")
	request, err := http.NewRequest(method, url+path, content)
	if err != nil {
		return false, err
	}
	request.SetBasicAuth("guest", "guest")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return false, nil
	case response.StatusCode >= 300:
		text, _ := io.ReadAll(response.Body)
		return false, fmt.Errorf("%s %s: %s %s", method, path, response.Status, text)
	case result == nil:
		return true, nil
	}
	if err := json.NewDecoder(response.Body).Decode(result); err != nil {
		return false, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return true, nil
}

// nservicebusBroker reports the broker's major version and fails unless it is recent enough for the transport.
func nservicebusBroker() (major int, err error) {
	var overview struct {
		Version      string `json:"rabbitmq_version"`
		DisableStats *bool  `json:"disable_stats"`
	}
	if _, err := manage(http.MethodGet, "/api/overview", nil, &overview); err != nil {
		return 0, err
	}
	numbers := strings.SplitN(overview.Version, ".", 3)
	if len(numbers) != 3 {
		return 0, fmt.Errorf("rabbitmq_version is %q", overview.Version)
	}
	major, _ = strconv.Atoi(numbers[0])
	minor, _ := strconv.Atoi(numbers[1])
	if major < 3 || major == 3 && minor < 10 || overview.DisableStats == nil {
		return 0, fmt.Errorf("unsupported broker: %+v", overview)
	}
	return major, nil
}

// nservicebusSees asks for a queue until the API shows a policy and a limit: RabbitMQ's is some seconds behind.
func nservicebusSees(name, policy, limit string) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	var q nservicebusQueue
	for end := time.Now().Add(waitMax); time.Now().Before(end); <-look.C {
		q = nservicebusQueue{}
		if found, err := manage(http.MethodGet, "/api/queues/%2F/"+name, nil, &q); err != nil || !found {
			return errors.Join(err, fmt.Errorf("queue %s: found %v", name, found))
		}
		if q.Effective != nil && q.Policy == policy && raw(q.DeliveryLimit) == limit {
			return nil
		}
	}
	return fmt.Errorf("%s shows the policy %q and delivery_limit %s after %v, want %q and %s",
		name, q.Policy, raw(q.DeliveryLimit), waitMax, policy, limit)
}

// nservicebusLiftsLimit does what the transport does with RabbitMQ 4: it finds the default limit of the queue, and sets
// a policy with a higher one, which the API then shows.
func nservicebusLiftsLimit(name, policy string) error {
	if err := nservicebusSees(name, "", "20"); err != nil {
		return err
	}
	_, err := manage(http.MethodPut, "/api/policies/%2F/"+policy, map[string]any{
		"name": policy, "vhost": "/", "pattern": "^" + strings.ReplaceAll(name, ".", `\.`) + "$",
		"apply-to": "quorum_queues", "priority": 100, "definition": map[string]any{"delivery-limit": 100_000},
	}, nil)
	if err != nil {
		return err
	}
	return nservicebusSees(name, policy, "100000")
}

func raw(m *json.RawMessage) string {
	if m == nil {
		return "nowhere"
	}
	return string(*m)
}

// Broken if NServiceBus refused to start with the broker.
func nservicebusVerifiesBroker(*session) error {
	var flags []struct{ Name, State string }
	if _, err := manage(http.MethodGet, "/api/feature-flags", nil, &flags); err != nil {
		return err
	}
	if !slices.Contains(flags, struct{ Name, State string }{"stream_queue", "enabled"}) {
		return fmt.Errorf("the feature flag stream_queue is not among the enabled of %d", len(flags))
	}
	_, err := nservicebusBroker()
	return err
}

// Broken if NServiceBus took a queue that has a delivery limit for one without, or could not lift it: a message that it
// gives back more often than that would be dropped.
func nservicebusLiftsDeliveryLimit(s *session) error {
	const queue, policy = "Interop.Verified", "nsb.Interop.Verified.delivery-limit"
	major, err := nservicebusBroker()
	if err != nil {
		return err
	}
	if err := s.durableQueue(queue, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		return err
	}
	if major >= 4 {
		err = nservicebusLiftsLimit(queue, policy)
		defer manage(http.MethodDelete, "/api/policies/%2F/"+policy, nil, nil)
	}
	if err != nil {
		return err
	}
	endpoint, err := s.consume(queue, false)
	if err != nil {
		return err
	}
	if _, err := s.send("", queue, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("immediate retries")}); err != nil {
		return err
	}
	for range 25 {
		l, err := endpoint.take()
		if err != nil {
			return err
		}
		if err := l.Nack(false, true); err != nil {
			return err
		}
	}
	l, err := endpoint.take()
	if err != nil {
		return err
	}
	return l.Ack(false)
}
