package bartleby_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/rabbitmq/amqp091-go"
)

func TestTLSIsShown(t *testing.T) {
	// If this fails, the API does not show which connections use TLS, or does not warn before a certificate expires.
	t.Parallel()
	s := newSigner(t)
	b := startTLS(t, s, "common_name")
	c, err := amqp091.DialConfig("amqps://"+addressOf(t, b, "amqp/ssl")+"/", amqp091.Config{
		SASL: []amqp091.Authentication{&amqp091.PlainAuth{Username: "alice", Password: "guest"}}, TLSClientConfig: s.client(""),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: s.client("")}}
	defer client.CloseIdleConnections()
	get := func(path string, status int, into any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addressOf(t, b, "https")+"/api/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("alice", "guest")
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(into); err != nil || response.StatusCode != status {
			t.Fatalf("%s: %d %+v %v", path, response.StatusCode, into, err)
		}
	}
	var connections []struct {
		SSL      bool   `json:"ssl"`
		Protocol string `json:"ssl_protocol"`
	}
	get("connections", http.StatusOK, &connections)
	if len(connections) != 1 || !connections[0].SSL || connections[0].Protocol != "tlsv1.3" {
		t.Errorf("connections %+v", connections)
	}
	var health struct {
		Status  string `json:"status"`
		Expired []struct {
			File string `json:"certfile"`
			Port int    `json:"port"`
		} `json:"expired"`
	}
	get("health/checks/certificate-expiration/1/days", http.StatusServiceUnavailable, &health) // they are valid for an hour
	if health.Status != "failed" || len(health.Expired) != 2 || health.Expired[0].File != s.path("server.pem") || health.Expired[0].Port == 0 {
		t.Errorf("certificates %+v", health)
	}
}
