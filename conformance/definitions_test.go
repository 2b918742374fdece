package conformance

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
)

// definitionsOfVHost is what a virtual host is exported as, by Bartleby and by RabbitMQ, but for where it came from.
func definitionsOfVHost() object {
	none := object{}
	return object{
		"parameters": []object{{"component": "operator_policy", "name": "cap", "value": object{
			"pattern": "^work", "apply-to": "queues", "definition": object{"max-length": 100}, "priority": 1,
		}}},
		"policies": []object{{"name": "dead", "pattern": "^work$", "apply-to": "queues", "priority": 3,
			"definition": object{"dead-letter-exchange": "dlx", "message-ttl": 60000}}},
		"exchanges": []object{
			{"name": "dlx", "type": "fanout", "durable": true, "auto_delete": false, "internal": false, "arguments": none},
			{"name": "in", "type": "topic", "durable": true, "auto_delete": false, "internal": false, "arguments": object{"alternate-exchange": "dlx"}},
		},
		"queues": []object{
			{"name": "grave", "durable": true, "auto_delete": false, "arguments": object{"x-queue-type": "classic", "x-max-length": 10}},
			{"name": "work", "durable": true, "auto_delete": false, "arguments": object{"x-queue-type": "quorum", "x-delivery-limit": 5}},
		},
		"bindings": []object{
			{"source": "dlx", "destination": "grave", "destination_type": "queue", "routing_key": "", "arguments": none},
			{"source": "in", "destination": "dlx", "destination_type": "exchange", "routing_key": "old.#", "arguments": none},
			{"source": "in", "destination": "work", "destination_type": "queue", "routing_key": "a.*", "arguments": object{"n": 5}},
		},
	}
}

// exportedBy reads what is exported of the case's vhost, as far as want says something of it, in the order of names.
func (t *T) exportedBy(want object) object {
	t.Helper()
	r := t.ask("GET", nil, "definitions", t.vhost)
	t.equal("status of the export", r.status, http.StatusOK)
	var all map[string]json.RawMessage
	t.must(json.Unmarshal(r.body, &all))
	got := object{}
	for key := range want {
		var list []map[string]any
		t.must(json.Unmarshal(all[key], &list))
		for _, x := range list {
			delete(x, "vhost") // RabbitMQ 3 says it of policies and parameters
			if key == "queues" {
				delete(x, "type") // Bartleby says it beside the arguments
			}
		}
		slices.SortFunc(list, func(a, b map[string]any) int { return slices.Compare(identity(a), identity(b)) })
		got[key] = list
	}
	return got
}

func identity(x map[string]any) []string {
	name, _ := x["name"].(string)
	source, _ := x["source"].(string)
	destination, _ := x["destination"].(string)
	return []string{name, source, destination}
}

// plainly is a value as JSON knows it.
func (t *T) plainly(v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	t.must(err)
	var plain any
	t.must(json.Unmarshal(text, &plain))
	return plain
}

var definitionCases = []Case{
	{
		Topic: policies, Section: 9, Name: "definitions-imported",
		Rule: "Definitions of a virtual host can be imported into another, apply there, and are exported unchanged.",
		Run: func(t *T) {
			t.ownVhost()
			want := definitionsOfVHost()
			t.manage("POST", want, "definitions", t.vhost)
			t.equal("export", t.plainly(t.exportedBy(want)), t.plainly(want))
			t.manage("POST", want, "definitions", t.vhost)
			t.equal("export after a second import", t.plainly(t.exportedBy(want)), t.plainly(want))
			ch := t.channel()
			ch.put("in", "a.b", "m")
			t.must(ch.get("work").Reject(false))
			ch.take("grave", 1)
		},
	},
	{
		Topic: policies, Section: 9, Name: "definitions-leave-what-is-there",
		Rule: "An import does not change existing queues, and replaces policies.",
		Run: func(t *T) {
			t.ownVhost()
			t.manage("PUT", object{"durable": true, "arguments": object{"x-queue-type": "classic"}}, "queues", t.vhost, "work")
			t.policy("dead", "^nothing$", 9, object{"max-length": 1})
			want := definitionsOfVHost()
			t.manage("POST", want, "definitions", t.vhost)
			want["queues"].([]object)[1]["arguments"] = object{"x-queue-type": "classic"}
			t.equal("export", t.plainly(t.exportedBy(want)), t.plainly(want))
		},
	},
	{
		Topic: policies, Section: 9, Name: "definitions-with-a-mistake",
		Rule:    "If a part of the definitions is invalid, the response is 400; the parts before it are imported.",
		Differs: "nothing is imported: all definitions are checked before the first change",
		Choice:  sense,
		Run: func(t *T) {
			t.ownVhost()
			wrong := definitionsOfVHost()
			wrong["queues"].([]object)[0]["arguments"] = object{"x-message-ttl": "long"}
			t.equal("status", t.ask("POST", wrong, "definitions", t.vhost).status, http.StatusBadRequest)
			got := t.exportedBy(object{"policies": nil})["policies"].([]map[string]any)
			if t.differs() {
				t.equal("policies", len(got), 0)
			} else {
				t.equal("policies", len(got), 1)
			}
		},
	},
	{
		Topic: policies, Section: 9, Name: "password-hashes",
		Rule: "A user can be created with a salted hash of SHA-256 or SHA-512 instead of a password, and logs in " +
			"with the password.",
		Run: func(t *T) {
			t.ownVhost()
			salted := append([]byte{1, 2, 3, 4}, "pässword"...)
			by256, by512 := sha256.Sum256(salted), sha512.Sum512(salted)
			for algorithm, digest := range map[string][]byte{"rabbit_password_hashing_sha256": by256[:], "rabbit_password_hashing_sha512": by512[:]} {
				user := t.name(algorithm)
				hash := base64.StdEncoding.EncodeToString(append([]byte{1, 2, 3, 4}, digest...))
				t.manage("PUT", object{"password_hash": hash, "hashing_algorithm": algorithm, "tags": ""}, "users", user)
				t.Cleanup(func() { t.manage("DELETE", nil, "users", user) })
				t.manage("PUT", object{"configure": "", "write": "", "read": ""}, "permissions", t.vhost, user)
				_, err := t.dial(user, "pässword", t.vhost)
				t.must(err)
				_, err = t.dial(user, "password", t.vhost)
				if err == nil {
					t.Errorf("%s: logged in with another password", algorithm)
				}
			}
		},
	},
}
