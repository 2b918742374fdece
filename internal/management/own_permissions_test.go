package management

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestOwnPermissions(t *testing.T) {
	// If this fails, the console offers what the broker then refuses, or hides what a user may do.
	t.Parallel()
	d := open(t)
	reader := d.operator("reader", "management,office-redrive", "", "^a|b$", ".*")
	own := read[api.OwnPermissions](reader, "/api/x/permissions/%2F")
	all := map[string]bool{"office-payload": true, "office-redrive": true, "office-discard": true, "office-edit": true}
	if own.VHost != "/" || own.Configure != "" || own.Write != "^a|b$" || own.Read != ".*" ||
		!maps.Equal(own.DeadLetters, all) {
		t.Errorf("%+v", own)
	}
	strict := d.with(func(o *Options) { o.StrictOffice = true }).as("reader:p")
	only := map[string]bool{"office-payload": false, "office-redrive": true, "office-discard": false, "office-edit": false}
	if own = read[api.OwnPermissions](strict, "/api/x/permissions/%2F"); !maps.Equal(own.DeadLetters, only) {
		t.Errorf("where rights are strict: %+v", own)
	}
	d.want(201, "PUT", "/api/vhosts/other", "")
	reader.want(404, "GET", "/api/x/permissions/other", "")
	d.want(201, "PUT", "/api/users/watch", `{"password":"p","tags":"monitoring"}`)
	own = read[api.OwnPermissions](d.as("watch:p"), "/api/x/permissions/other")
	if own.Configure+own.Write+own.Read != "" {
		t.Errorf("of a user who sees the virtual host, without permissions there: %+v", own)
	}
	if own = read[api.OwnPermissions](d, "/api/x/permissions/%2F"); own.Configure != ".*" || own.Read != ".*" {
		t.Errorf("of an administrator: %+v", own)
	}
}

func TestRefusalsSayWhatIsMissing(t *testing.T) {
	// If this fails, the console shows a refusal in English only, or a program has to read the text for people.
	t.Parallel()
	d := withDeadLetters(t, 2)
	d.want(201, "PUT", "/api/exchanges/%2F/topics", `{"type":"topic"}`)
	rita := d.operator("rita", "management", "", "^topics$", "^dead$")
	d.want(201, "PUT", "/api/topic-permissions/%2F/rita", `{"exchange":"topics","write":"^a$","read":".*"}`)
	job := d.redrive(`{"source":{"queue":"dead"},"options":{"watch_ms":60000}}`)
	const message = `"payload":"x","payload_encoding":"string","properties":{}}`
	long := strings.Repeat("n", 250) // the text of a refusal is cut there
	for _, c := range []struct {
		method, path, body string
		want               amqp.Missing
	}{
		{"PUT", "/api/queues/%2F/it's", `{}`, amqp.Missing{What: "queue", Right: "configure", Name: "it's"}},
		{"PUT", "/api/queues/%2F/" + long, `{}`, amqp.Missing{What: "queue", Right: "configure", Name: long}},
		{"GET", "/api/x/queues/%2F/" + "work" + "/messages", "",
			amqp.Missing{What: "queue", Right: "read", Name: "work"}},
		{"POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"work",` + message,
			amqp.Missing{What: "exchange", Right: "write", Name: "amq.default"}},
		{"POST", "/api/exchanges/%2F/topics/publish", `{"routing_key":"b",` + message,
			amqp.Missing{What: "topic", Right: "write", Name: "b", Exchange: "topics"}},
		{"PUT", "/api/policies/%2F/p", `{"pattern":"","definition":{}}`, amqp.Missing{What: "tag", Tag: "policymaker"}},
		{"POST", fmt.Sprintf("%s/%d/cancel", redrives, job.ID), "", amqp.Missing{What: "owner", User: "guest"}},
	} {
		var refused api.Error
		answer := rita.want(401, c.method, c.path, c.body).Body.Bytes()
		if err := json.Unmarshal(answer, &refused); err != nil || refused.Missing == nil || *refused.Missing != c.want {
			t.Errorf("%s %s: %s, %v, want %+v", c.method, c.path, answer, err, c.want)
		}
	}
	var refused api.Error
	answer := rita.want(400, "POST", redrives, `{"source":{}}`).Body.Bytes()
	if err := json.Unmarshal(answer, &refused); err != nil || refused.Missing != nil {
		t.Errorf("a mistake: %s, %v", answer, err)
	}
}
