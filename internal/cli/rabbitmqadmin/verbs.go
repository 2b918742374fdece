package rabbitmqadmin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

type rawJSON = json.RawMessage

// An adminVerb does something to a thing. Its path is made of the values of its words; vhost is the virtual host, and
// what is in the body is not in the path.
type adminVerb struct {
	verb, thing string
	needs       string // the words that must be there
	may         string // and those that may, with their defaults behind a colon
	method      string
	path        string // values between blanks; a word in braces stands for its value
	done        string
}

var adminVerbs = []adminVerb{
	{"declare", "exchange", "name type", "auto_delete:false durable:true internal:false arguments:{}", "PUT", "exchanges {vhost} {name}", "exchange declared"},
	{"declare", "queue", "name", "auto_delete:false durable:true arguments:{} node: queue_type:", "PUT", "queues {vhost} {name}", "queue declared"},
	{"declare", "binding", "source destination", "destination_type:queue routing_key: arguments:{}", "POST", "bindings {vhost} e {source} {destination_type} {destination}", "binding declared"},
	{"declare", "vhost", "name", "tracing:", "PUT", "vhosts {name}", "vhost declared"},
	{"declare", "user", "name tags", "password: password_hash: hashing_algorithm:", "PUT", "users {name}", "user declared"},
	{"declare", "permission", "vhost user configure write read", "", "PUT", "permissions {vhost} {user}", "permission declared"},
	{"declare", "parameter", "component name value", "", "PUT", "parameters {component} {vhost} {name}", "parameter declared"},
	{"declare", "policy", "name pattern definition", "priority:0 apply-to:", "PUT", "policies {vhost} {name}", "policy declared"},
	{"declare", "operator_policy", "name pattern definition", "priority:0 apply-to:", "PUT", "operator-policies {vhost} {name}", "operator_policy declared"},
	{"declare", "vhost_limit", "vhost name value", "", "PUT", "vhost-limits {vhost} {name}", "vhost_limit declared"},
	{"delete", "exchange", "name", "", "DELETE", "exchanges {vhost} {name}", "exchange deleted"},
	{"delete", "queue", "name", "", "DELETE", "queues {vhost} {name}", "queue deleted"},
	{"delete", "binding", "source destination_type destination", "properties_key:~", "DELETE", "bindings {vhost} e {source} {destination_type} {destination} {properties_key}", "binding deleted"},
	{"delete", "vhost", "name", "", "DELETE", "vhosts {name}", "vhost deleted"},
	{"delete", "user", "name", "", "DELETE", "users {name}", "user deleted"},
	{"delete", "permission", "vhost user", "", "DELETE", "permissions {vhost} {user}", "permission deleted"},
	{"delete", "parameter", "component name", "", "DELETE", "parameters {component} {vhost} {name}", "parameter deleted"},
	{"delete", "policy", "name", "", "DELETE", "policies {vhost} {name}", "policy deleted"},
	{"delete", "operator_policy", "name", "", "DELETE", "operator-policies {vhost} {name}", "operator_policy deleted"},
	{"delete", "vhost_limit", "vhost name", "", "DELETE", "vhost-limits {vhost} {name}", "vhost_limit deleted"},
	{"close", "connection", "name", "", "DELETE", "connections {name}", "connection closed"},
	{"purge", "queue", "name", "", "DELETE", "queues {vhost} {name} contents", "queue purged"},
	{"publish", "", "routing_key", "payload: properties:{} exchange:amq.default payload_encoding:string", "POST", "exchanges {vhost} {exchange} publish", ""},
	{"get", "", "queue", "count: ackmode:ack_requeue_true payload_file: encoding:auto", "POST", "queues {vhost} {queue} get", ""},
}

// adminJSON are the words whose values are JSON.
var adminJSON = []string{"arguments", "definition", "value", "properties", "priority", "count"}

// adminSubcommands is the help that lists them.
func adminSubcommands() string {
	var b strings.Builder
	b.WriteString("Subcommands:\n")
	for _, l := range adminLists {
		verb := "list"
		if l.one {
			verb = "show"
		}
		fmt.Fprintf(&b, "  %s %s [<column>...]\n", verb, l.thing)
	}
	for _, v := range adminVerbs {
		usage := v.verb
		if v.thing != "" {
			usage += " " + v.thing
		}
		for name := range strings.FieldsSeq(v.needs) {
			usage += " " + name + "=..."
		}
		var may []string
		for word := range strings.FieldsSeq(v.may) {
			name, _, _ := strings.Cut(word, ":")
			may = append(may, name+"=...")
		}
		if may != nil {
			usage += " [" + strings.Join(may, " ") + "]"
		}
		fmt.Fprintf(&b, "  %s\n", usage)
	}
	b.WriteString("  export <file>\n  import <file>\n")
	return b.String()
}

// act does what a verb says to the thing that its words name.
func (a *admin) act(verb string, rest []string) error {
	if !slices.ContainsFunc(adminVerbs, func(v adminVerb) bool { return v.verb == verb }) {
		return mistake(fmt.Sprintf("Action %s not understood", verb))
	}
	thing := ""
	if verb != "publish" && verb != "get" {
		if len(rest) == 0 {
			return mistake(fmt.Sprintf("what to %s is not specified", verb))
		}
		thing, rest = rest[0], rest[1:]
	}
	i := slices.IndexFunc(adminVerbs, func(v adminVerb) bool { return v.verb == verb && v.thing == thing })
	if i < 0 {
		return mistake(fmt.Sprintf("Type %s not recognised", thing))
	}
	v := &adminVerbs[i]
	values, err := v.read(rest)
	if err != nil {
		return err
	}
	if _, ok := values["vhost"]; !ok {
		values["vhost"] = a.or("declare-vhost", a.or("vhost", "/"))
	}
	switch {
	case verb == "publish":
		return a.publish(v, values)
	case verb == "get":
		return a.get(v, values)
	}
	body, err := v.body(values)
	if err != nil {
		return err
	}
	var in any
	if body != nil {
		in = body
	}
	if err := a.ask(v.method, v.at(values), in, nil); err != nil {
		return err
	}
	a.say("%s", v.done)
	return nil
}

// read takes name=value words, and adds the defaults of those that are missing; without a default one stays away.
func (v *adminVerb) read(typed []string) (map[string]string, error) {
	values := map[string]string{}
	for word := range strings.FieldsSeq(v.may) {
		if name, value, _ := strings.Cut(word, ":"); value != "" {
			values[name] = value
		}
	}
	for _, word := range typed {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, mistake(fmt.Sprintf("Argument \"%s\" not in the name=value format", word))
		}
		if !slices.Contains(strings.Fields(v.needs), name) && !slices.ContainsFunc(strings.Fields(v.may), func(w string) bool { return strings.HasPrefix(w, name+":") }) {
			return nil, mistake(fmt.Sprintf("Argument \"%s\" is not recognised", name))
		}
		values[name] = value
	}
	for name := range strings.FieldsSeq(v.needs) {
		if _, ok := values[name]; !ok {
			return nil, mistake(fmt.Sprintf("mandatory argument \"%s\" is required", name))
		}
	}
	return values, nil
}

// at is the path with the values in it.
func (v *adminVerb) at(values map[string]string) string {
	var segments []string
	for word := range strings.FieldsSeq(v.path) {
		if !strings.HasPrefix(word, "{") {
			segments = append(segments, word)
			continue
		}
		value := values[strings.Trim(word, "{}")]
		switch {
		case word == "{destination_type}" && value == "queue":
			value = "q"
		case word == "{destination_type}":
			value = "e"
		case value == "" && (word == "{source}" || word == "{exchange}" || v.thing == "exchange" && word == "{name}"):
			value = "amq.default"
		}
		segments = append(segments, value)
	}
	return api.Path(segments...)
}

// body is what is sent: what is not in the path.
func (v *adminVerb) body(values map[string]string) (map[string]rawJSON, error) {
	if v.method == http.MethodDelete {
		return nil, nil
	}
	body := map[string]rawJSON{}
	for name, value := range values {
		if strings.Contains(v.path, "{"+name+"}") || name == "payload_file" || name == "vhost" {
			continue
		}
		switch {
		case slices.Contains(adminJSON, name):
			if !json.Valid([]byte(value)) {
				return nil, mistake("Could not parse JSON:\n  " + value)
			}
			body[name] = rawJSON(value)
		case value == "true" || value == "false":
			body[name] = rawJSON(value)
		default:
			body[name] = output.StringCell(value)
		}
	}
	if kind, ok := values["queue_type"]; ok {
		delete(body, "queue_type")
		var arguments map[string]rawJSON
		if err := json.Unmarshal(body["arguments"], &arguments); err != nil {
			return nil, fmt.Errorf("the arguments are not a JSON object: %s", values["arguments"])
		}
		arguments["x-queue-type"] = output.StringCell(kind)
		b, err := json.Marshal(arguments)
		if err != nil {
			return nil, err
		}
		body["arguments"] = b
	}
	return body, nil
}

func (a *admin) publish(v *adminVerb, values map[string]string) error {
	if _, ok := values["payload"]; !ok {
		payload, err := io.ReadAll(a.Stdin)
		if err != nil {
			return err
		}
		values["payload"] = string(payload)
	}
	body, err := v.body(values)
	if err != nil {
		return err
	}
	body["payload"] = output.StringCell(values["payload"]) // true is a word here
	var result struct{ Routed bool }
	if err := a.ask(v.method, v.at(values), body, &result); err != nil {
		return err
	}
	if result.Routed {
		a.say("Message published")
	} else {
		a.say("Message published but NOT routed")
	}
	return nil
}

// withoutPayloads are messages as they are shown when their payloads go to a file.
func withoutPayloads(messages rawJSON) (rawJSON, error) {
	var all []map[string]rawJSON
	if err := json.Unmarshal(messages, &all); err != nil {
		return nil, err
	}
	for _, m := range all {
		delete(m, "payload")
		delete(m, "payload_encoding")
	}
	return json.Marshal(all)
}

// get takes messages, or looks at them. Source: RabbitMQ rabbitmqadmin get.
func (a *admin) get(v *adminVerb, values map[string]string) error {
	file, toFile := values["payload_file"]
	if _, counted := values["count"]; toFile && counted {
		return mistake("count must not be set with payload_file")
	} else if !counted {
		values["count"] = "1"
	}
	body, err := v.body(values)
	if err != nil {
		return err
	}
	var messages rawJSON
	if err := a.ask(v.method, v.at(values), body, &messages); err != nil {
		return err
	}
	var got []struct {
		Payload  string
		Encoding string `json:"payload_encoding"`
	}
	if err := json.Unmarshal(messages, &got); err != nil {
		return err
	}
	if toFile && len(got) > 0 {
		payload := []byte(got[0].Payload)
		if got[0].Encoding == "base64" {
			if payload, err = base64.StdEncoding.DecodeString(got[0].Payload); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, payload, 0o600); err != nil {
			return err
		}
	}
	if toFile {
		if messages, err = withoutPayloads(messages); err != nil {
			return err
		}
	}
	return a.print(messages, nil, &adminList{})
}
