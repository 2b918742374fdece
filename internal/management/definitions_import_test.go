package management

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/management/definitions"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// exported is what rabbitmq-server 3.10.8 and 4.0.5 exported of a shop: users with every kind of hash, limits, topic
// permissions, policies of both kinds, exchanges of all sorts, and a queue that they had named themselves.
var exported = []string{"testdata/rabbitmq-3.10-definitions.json", "testdata/rabbitmq-4.0-definitions.json"}

// tree reads JSON, with lists in an order that says nothing sorted, as RabbitMQ gives them in any.
func tree(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, value := range all {
		if list, ok := value.([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return all
}

// covers reports what of want is not in got; got may say more of each thing.
func covers(got, want any, path string) (missing []string) {
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for key, value := range want {
			missing = append(missing, covers(got[key], value, path+"."+key)...)
		}
	case []any:
		got, _ := got.([]any)
		for i, value := range want {
			if !slices.ContainsFunc(got, func(g any) bool { return covers(g, value, "") == nil }) {
				missing = append(missing, fmt.Sprintf("%s[%d]: %v", path, i, value))
			}
		}
		if len(got) != len(want) && path != "" {
			missing = append(missing, fmt.Sprintf("%s has %d elements, want %d", path, len(got), len(want)))
		}
	default:
		if !reflect.DeepEqual(got, want) {
			missing = append(missing, fmt.Sprintf("%s: %v, want %v", path, got, want))
		}
	}
	return missing
}

func TestDefinitionsOfRabbitMQ(t *testing.T) {
	// If this fails, a RabbitMQ cannot be taken over: something of its definitions is lost, changed or refused.
	t.Parallel()
	for _, file := range exported {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) { takeOver(t, text) })
	}
}

func takeOver(t *testing.T, text []byte) {
	d := open(t)
	d.want(201, "PUT", "/api/vhosts/shop", `{"description":"the shop"}`)
	d.want(204, "POST", "/api/definitions", string(text))
	want := list(t, text)
	got := d.want(200, "GET", "/api/definitions", "").Body.Bytes()
	for _, text := range covers(tree(t, got), want, "definitions") {
		t.Error(text)
	}
	v := d.engine.Accounts()
	for user, password := range map[string]string{"app": "s3cret", "strong": "s3cret", "sha512": "pässword", "md5": "md5pass", "guest": "guest"} {
		if in, reason := v.Authenticate(user, password); !in {
			t.Errorf("%s cannot log in: %s", user, reason)
		}
	}
	if h, _ := v.VHost("shop"); h.Description != "the shop" {
		t.Errorf("the description became %q", h.Description)
	}
	version := v.Version()
	d.want(204, "POST", "/api/definitions", string(text))
	if again := d.want(200, "GET", "/api/definitions", "").Body.Bytes(); !bytes.Equal(again, got) {
		t.Error("a second import changed something")
	}
	if now := d.engine.Accounts().Version(); now > version+3 {
		t.Errorf("the second import made %d changes", now-version)
	}
}

// list is what an export says that has to be taken over.
func list(t *testing.T, text []byte) map[string]any {
	want := tree(t, text)
	for _, key := range []string{"rabbit_version", "rabbitmq_version", "product_name", "product_version", "original_cluster_name", "explanation"} {
		delete(want, key)
	}
	serverNamed := func(x any) bool {
		of := x.(map[string]any)
		return strings.HasPrefix(fmt.Sprint(of["name"], of["destination"]), "amq.gen-") || strings.Contains(fmt.Sprint(of["destination"]), "amq.gen-")
	}
	want["queues"] = slices.DeleteFunc(want["queues"].([]any), serverNamed)
	want["bindings"] = slices.DeleteFunc(want["bindings"].([]any), serverNamed)
	return want
}

func TestDefinitionsOfRabbitMQsCommandLine(t *testing.T) {
	// If this fails, what 'rabbitmqctl export_definitions' of 3.10.8 writes is refused, or something of it is lost: it
	// writes lists of pairs where the API writes objects.
	t.Parallel()
	text, err := os.ReadFile("testdata/rabbitmqctl-3.10-definitions.json")
	if err != nil {
		t.Fatal(err)
	}
	d := open(t)
	d.want(204, "DELETE", "/api/global-parameters/internal_cluster_id", "") // of which the export says nothing
	d.want(204, "POST", "/api/definitions", string(text))
	want := list(t, text)
	for _, of := range want["vhosts"].([]any) {
		of := of.(map[string]any)
		of["limits"] = unpaired(of["limits"])
	}
	internal := func(x any) bool {
		of := x.(map[string]any)
		return of["destination"] == "app.internal" || of["source"] == "app.internal"
	}
	if !slices.ContainsFunc(want["bindings"].([]any), internal) {
		t.Error("the export has no binding of the internal exchange that it leaves out")
	}
	want["bindings"] = slices.DeleteFunc(want["bindings"].([]any), internal)
	pairs := 0
	for _, of := range want["parameters"].([]any) {
		value := of.(map[string]any)["value"].(map[string]any)
		if _, paired := value["definition"].([]any); paired {
			value["definition"] = unpaired(value["definition"])
			pairs++
		}
	}
	if pairs == 0 {
		t.Error("no definition in the export is a list of pairs")
	}
	for _, text := range covers(tree(t, d.want(200, "GET", "/api/definitions", "").Body.Bytes()), want, "definitions") {
		t.Error(text)
	}
}

// unpaired makes an object of a list of pairs.
func unpaired(list any) map[string]any {
	object := map[string]any{}
	for _, pair := range list.([]any) {
		object[pair.([]any)[0].(string)] = pair.([]any)[1]
	}
	return object
}

func TestUnreadableDefinitionsAreNamed(t *testing.T) {
	// If this fails, somebody has to search ten thousand lines for the one that cannot be read.
	t.Parallel()
	d := open(t)
	for text, want := range map[string]string{
		`{"vhosts":[{"name":"a"},{"limits":[5],"name":"b"}]}`:                                "vhost 'b': limits must be an object of integers, or a list of pairs",
		`{"vhosts":[{"name":"b","limits":[["max-queues",1,2]]}]}`:                            "vhost 'b': limits must be",
		`{"vhosts":[{"name":"b","limits":{"max-queues":"x"}}]}`:                              "vhost 'b': Validation failed\\n\\nmax-queues should be a number, actually was <<\"x\">>",
		`{"users":[{"name":"u","tags":5}]}`:                                                  "user 'u': tags must be a list",
		`{"queues":[{"vhost":"/","name":"q","durable":"often"}]}`:                            `queue 'q' in vhost '/': "often" is not a boolean`,
		`{"queues":[{"vhost":"/","name":"q","arguments":[["x-max-length"]]}]}`:               "queue 'q' in vhost '/': a table of arguments must be a JSON object",
		`{"bindings":[{"vhost":"/","source":"s","destination":7}]}`:                          "binding 's' in vhost '/': the value of 'destination' must not be a JSON number",
		`{"parameters":[{"vhost":"/","component":"c","name":5}]}`:                            "parameter number 1 of component 'c' in vhost '/'",
		`{"topic_permissions":["x"]}`:                                                        "topic permission number 1: it must not be a JSON string",
		`{"policies":{"a":1}}`:                                                               "the definitions of each policy must be a list",
		`{"policies":[{"name":"p","vhost":"/","pattern":"","definition":[["max-length"]]}]}`: "policy 'p' in vhost '/'",
	} {
		if body := d.want(400, "POST", "/api/definitions", text).Body.String(); !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), want) {
			t.Errorf("%s: %s, want %s", text, body, want)
		}
	}
}

// restored is what Bartleby exported after an import of the second of those; rabbitmq-server 4.0.5 imported it and
// exported what it had exported in the first place, and so did 3.10.8 with the first.
const restored = "testdata/bartleby-definitions.json"

func TestExportStaysWhatRabbitMQTakes(t *testing.T) {
	// If this fails, the export has changed since a RabbitMQ was seen to import it.
	t.Parallel()
	want, err := os.ReadFile(restored)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t)
	d.want(204, "POST", "/api/definitions", string(want))
	got := tree(t, d.want(200, "GET", "/api/definitions", "").Body.Bytes())
	asked := tree(t, want)
	for _, key := range []string{"product_version", "original_cluster_name", "explanation"} {
		delete(got, key)
		delete(asked, key)
	}
	if !reflect.DeepEqual(got, asked) {
		t.Errorf("exported %v\nwant %v", got, asked)
	}
}

func TestHalfWrongDefinitions(t *testing.T) {
	// If this fails, definitions with a mistake are taken over in part, or the mistake is not named.
	t.Parallel()
	d := open(t)
	before := d.want(200, "GET", "/api/definitions", "").Body.String()
	good := `"users":[{"name":"u","password":"p","tags":[]}],"vhosts":[{"name":"v"}],"policies":[{"vhost":"v","name":"p","pattern":"a","definition":{"max-length":5}}]`
	for wrong, reason := range map[string]string{
		`"users":[{"name":"z","password":"p","password_hash":""}]`:                                                                                "user 'z': both_password_and_password_hash_are_provided",
		`"users":[{"name":"z","password_hash":"!!"}]`:                                                                                             "user 'z': password_hash is not base64",
		`"users":[{"name":"z","hashing_algorithm":"rot13"}]`:                                                                                      "unknown hashing_algorithm",
		`"users":[{"name":"z","limits":{"max-cats":1}}]`:                                                                                          "in user-limits: max-connections",
		`"users":[{"name":""}]`:                                                                                                                   "the user name must not be empty",
		`"vhosts":[{"nam":"z"}]`:                                                                                                                  "the virtual host name must not be empty",
		`"vhosts":[{"name":"z","default_queue_type":"stream"}]`:                                                                                   "vhost 'z': unsupported default queue type",
		`"permissions":[{"user":"u","vhost":"z","configure":"","write":"","read":""}]`:                                                            "permissions of user 'u' in vhost 'z': no vhost 'z'",
		`"permissions":[{"user":"z","vhost":"v","configure":"","write":"","read":""}]`:                                                            "no user 'z'",
		`"permissions":[{"user":"u","vhost":"v","configure":"(?!a)","write":"","read":""}]`:                                                       "look-around",
		`"topic_permissions":[{"user":"u","vhost":"v","exchange":"x","write":"[","read":""}]`:                                                     "topic permissions of user 'u'",
		`"policies":[{"vhost":"v","name":"p","pattern":"[","definition":{"max-length":5}}]`:                                                       "policy 'p' in vhost 'v': Validation failed",
		`"policies":[{"vhost":"v","name":"p","pattern":"a","definition":{"nope":5}}]`:                                                             `[{<<"nope">>,5}] are not recognised policy settings`,
		`"policies":[{"vhost":"v","name":"p","definition":{"expires":5}}]`:                                                                        "{key_missing,pattern}",
		`"policies":[{"vhost":"z","name":"p","pattern":"a","definition":{"max-length":5}}]`:                                                       "no vhost 'z'",
		`"parameters":[{"vhost":"v","component":"shovel","name":"s","value":{}}]`:                                                                 "component shovel not found",
		`"parameters":[{"vhost":"v","component":"operator_policy","name":"o","value":{"pattern":"a","definition":{"dead-letter-exchange":"x"}}}]`: "not recognised policy settings",
		`"parameters":[{"vhost":"v","component":"vhost-limits","name":"limits","value":{"max-cats":1}}]`:                                          "limits of vhost 'v': Unrecognised terms",
		`"exchanges":[{"vhost":"v","name":"x","type":"nope"}]`:                                                                                    "exchange 'x' in vhost 'v'",
		`"queues":[{"vhost":"v","name":"q","arguments":{"x-message-ttl":"a"}}]`:                                                                   "queue 'q' in vhost 'v': invalid arg 'x-message-ttl'",
		`"queues":[{"vhost":"v","name":"q","durable":false,"type":"quorum"}]`:                                                                     "invalid property 'non-durable'",
		`"bindings":[{"vhost":"v","source":"amq.direct","destination":"q","destination_type":"bucket"}]`:                                          "destination_type must be",
		`"vhosts":[{"name":"v","limits":{"max-queues":1}}],"queues":[{"vhost":"v","name":"a"},{"vhost":"v","name":"b"}]`:                          "2 queues, 2 of them new, exceed its limit of 1",
		`"bindings":[{"vhost":"v","source":"hash","destination":"q","destination_type":"queue","routing_key":"x"}],` +
			`"exchanges":[{"vhost":"v","name":"hash","type":"x-consistent-hash"}],"queues":[{"vhost":"v","name":"q"}]`: "binding of queue 'q' to exchange 'hash' in vhost 'v'",
	} {
		body := merge(t, "{"+good+"}", "{"+wrong+"}")
		d.refused(400, "bad_request", reason, "POST", "/api/definitions?dry_run=true", body)
		d.refused(400, "bad_request", reason, "POST", "/api/definitions", body)
		if after := d.want(200, "GET", "/api/definitions", "").Body.String(); after != before {
			t.Fatalf("%s changed the definitions to %s", wrong, after)
		}
	}
	d.want(204, "POST", "/api/definitions?dry_run=true", "{"+good+"}")
	if after := d.want(200, "GET", "/api/definitions", "").Body.String(); after != before {
		t.Fatalf("a dry run changed the definitions to %s", after)
	}
	d.want(204, "POST", "/api/definitions", "{"+good+"}")

	d.refused(400, "bad_request", "back references\npolicy 'z' in vhost 'v'", "POST", "/api/definitions",
		`{"policies":[{"vhost":"v","name":"y","pattern":"(?=a)","definition":{"max-length":5}},{"vhost":"v","name":"z","pattern":"a"}]}`)
	d.refused(400, "bad_request", "queue 's' in vhost 'v': queue type 'stream' of queue 's' in vhost 'v' is not supported", "POST", "/api/definitions",
		`{"queues":[{"vhost":"v","name":"s","durable":true,"type":"stream"}]}`)
	many := `{"users":[` + strings.Repeat(`{"name":"z","password":"p","password_hash":""},`, web.ProblemsMax+5) + `{"name":"y"}]}`
	d.refused(400, "bad_request", "and 5 more", "POST", "/api/definitions", many)
	d.refused(400, "bad_request", "/api/definitions/{vhost}", "POST", "/api/definitions", `{"queues":[{"name":"q"}]}`)
	d.refused(404, "not_found", "vhost_not_found", "POST", "/api/definitions/none", `{}`)
	if i := d.engine.Accounts().Import(); i != nil {
		t.Error("an import has not ended")
	}
}

func TestDryRunOfDefinitionsListsAllMistakes(t *testing.T) {
	// If this fails, who tries an import learns of one mistake after the other, or the trial changes something.
	t.Parallel()
	d := open(t)
	before := d.want(200, "GET", "/api/definitions", "").Body.String()
	version := d.engine.Accounts().Version()
	contents := `"queues":[{"name":"s","type":"stream"},{"name":"q","arguments":{"x-message-ttl":"a"}}],` +
		`"parameters":[{"component":"shovel","name":"move","value":{}}],` +
		`"policies":[{"name":"ahead","pattern":"(?=a)","definition":{"max-length":5}}]`
	ofAll := strings.ReplaceAll(contents, `{"name"`, `{"vhost":"/","name"`)
	ofAll = strings.ReplaceAll(ofAll, `{"component"`, `{"vhost":"/","component"`)
	for path, body := range map[string]string{"": ofAll, "/%2F": contents} {
		w := d.want(400, "POST", "/api/definitions"+path+"?dry_run=true", "{"+body+"}")
		lines := strings.Split(decoded[api.Error](d, w.Body.Bytes()).Reason, "\n")
		if len(lines) != 4 {
			t.Errorf("%d mistakes, want 4:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		for _, object := range []string{
			"queue 's'", "queue 'q'", "parameter 'move' of component 'shovel'", "policy 'ahead'",
		} {
			named := func(line string) bool { return strings.HasPrefix(line, object+" in vhost '/': ") }
			if !slices.ContainsFunc(lines, named) {
				t.Errorf("no line names %s:\n%s", object, strings.Join(lines, "\n"))
			}
		}
	}
	users := strings.Repeat(`{"name":"z","password":"p","password_hash":""},`, web.ProblemsMax+4)
	users += `{"name":"z","password":"p","password_hash":""}`
	w := d.want(400, "POST", "/api/definitions?dry_run=true", `{"users":[`+users+`]}`)
	reason := decoded[api.Error](d, w.Body.Bytes()).Reason
	if n := strings.Count(reason, "\n") + 1; n != web.ProblemsMax+5 || strings.Contains(reason, "more") {
		t.Errorf("%d of %d mistakes are listed: %s", n, web.ProblemsMax+5, reason)
	}
	after := d.want(200, "GET", "/api/definitions", "").Body.String()
	if after != before || d.engine.Accounts().Version() != version {
		t.Errorf("a dry run changed the definitions to %s", after)
	}
}

// merge adds the lists of two JSON objects.
func merge(t *testing.T, texts ...string) string {
	t.Helper()
	all := map[string][]json.RawMessage{}
	for _, text := range texts {
		var some map[string][]json.RawMessage
		if err := json.Unmarshal([]byte(text), &some); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for key, list := range some {
			all[key] = append(all[key], list...)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNamesThatNoFrameCarries(t *testing.T) {
	// If this fails, something can be made that no client of AMQP can name or that leads messages where none arrives.
	t.Parallel()
	d := open(t)
	long := strings.Repeat("n", 256)
	for what, c := range map[string][3]string{
		"queues":    {"PUT", "/api/queues/%2F/" + long, ""},
		"exchanges": {"PUT", "/api/exchanges/%2F/" + long, `"type":"fanout"`},
		"policies":  {"PUT", "/api/policies/%2F/" + long, `"pattern":"a","definition":{"max-length":5}`},
	} {
		d.refused(400, "bad_request", "the name of", c[0], c[1], "{"+c[2]+"}")
		d.refused(400, "bad_request", "nn…' in vhost '/': the name of", "POST", "/api/definitions",
			merge(t, `{"`+what+`":[{"vhost":"/","name":"`+long+`"`+strings.TrimSuffix(","+c[2], ",")+`}]}`))
	}
	for what, c := range map[string][2]string{
		"queues":    {"/api/queues/%2F/a", `"arguments":{"x-dead-letter-exchange":"","x-dead-letter-routing-key":"` + long + `"}`},
		"exchanges": {"/api/exchanges/%2F/a", `"type":"fanout","arguments":{"alternate-exchange":"` + long + `"}`},
		"policies":  {"/api/policies/%2F/a", `"pattern":"a","definition":{"dead-letter-routing-key":"` + long + `"}`},
	} {
		d.refused(400, "bad_request", "must not exceed 255 bytes", "PUT", c[0], "{"+c[1]+"}")
		d.refused(400, "bad_request", "must not exceed 255 bytes", "POST", "/api/definitions", `{"`+what+`":[{"vhost":"/","name":"a",`+c[1]+`}]}`)
	}
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	d.refused(400, "bad_request", "binding of queue 'q' to exchange 'amq.direct' in vhost '/': the routing key must not exceed", "POST", "/api/definitions",
		`{"bindings":[{"vhost":"/","source":"amq.direct","destination":"q","destination_type":"queue","routing_key":"`+long+`"}]}`)
}

func TestPassedOverIsLogged(t *testing.T) {
	// If this fails, an import leaves something out, and nobody learns of it.
	t.Parallel()
	var log bytes.Buffer
	d := open(t).with(func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	d.want(204, "POST", "/api/definitions", `{"exchanges":[{"vhost":"/","name":"amq.foo","type":"direct"},{"vhost":"/","name":"amq.direct","type":"direct"}],
		"queues":[{"vhost":"/","name":"amq.gen-1"}]}`)
	for _, want := range []string{"exchange 'amq.foo'", "queue 'amq.gen-1'"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log says nothing of %s: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "amq.direct") {
		t.Errorf("the log tells of what is there: %s", log.String())
	}
}

func TestDefinitionsReferToWhatIsThere(t *testing.T) {
	// If this fails, what is there already makes definitions invalid, or is changed by them.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/exchanges/%2F/hash", `{"type":"x-consistent-hash"}`)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true,"arguments":{"x-message-ttl":5}}`)
	d.want(201, "PUT", "/api/vhosts/quorum", `{"default_queue_type":"quorum"}`)
	d.want(204, "POST", "/api/definitions", `{
		"exchanges":[{"vhost":"/","name":"hash","type":"fanout"}],
		"queues":[{"vhost":"/","name":"q","arguments":{"x-message-ttl":6}},
			{"vhost":"quorum","name":"a","durable":true,"type":"classic"},{"vhost":"quorum","name":"b","durable":true}],
		"bindings":[{"vhost":"/","source":"hash","destination":"q","destination_type":"queue","routing_key":"3"}]}`)
	if got := read[[]api.Binding](d, "/api/bindings/%2F/e/hash/q/q"); len(got) != 1 {
		t.Errorf("bindings are %+v", got)
	}
	for name, kind := range map[string]string{"a": "classic", "b": "quorum"} {
		if got := read[api.Queue](d, "/api/queues/quorum/"+name); got.Type != kind {
			t.Errorf("queue %s is of type %s, want %s", name, got.Type, kind)
		}
	}
	d.refused(400, "bad_request", "no exchange 'none'", "POST", "/api/definitions",
		`{"bindings":[{"vhost":"/","source":"none","destination":"q","destination_type":"queue"}]}`)
	d.refused(400, "bad_request", "no queue 'r'", "POST", "/api/definitions",
		`{"bindings":[{"vhost":"/","source":"hash","destination":"r","destination_type":"queue"}]}`)
	d.refused(400, "bad_request", "exchange 'hash'", "POST", "/api/definitions",
		`{"bindings":[{"vhost":"/","source":"hash","destination":"q","destination_type":"queue","routing_key":"x"}]}`)
}

// disk is an engine on a disk that outlives it.
func disk(t *testing.T, fs vfs.FS) *engine.Engine {
	t.Helper()
	e, err := engine.Open(engine.Options{
		FS: fs, Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Machine: machine{}, Log: quiet(),
		Clock: engine.NewTestClock(time.Unix(1_700_000_000, 0)), Defaults: &accounts.Defaults{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestLoadDefinitions(t *testing.T) {
	// If this fails, a broker starts without the definitions it was told to load, or with a default user that nobody
	// wants.
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1.json", `{"vhosts":[{"name":"v"}]}`)
	write("2.json", `{"users":[{"name":"u","password":"p","tags":["administrator"]}],"permissions":[{"user":"u","vhost":"v","configure":"","write":"","read":""}]}`)
	write("3.txt", `nothing`)
	e := disk(t, vfs.NewMem(1))
	load := func(path string) error {
		return definitions.LoadFile(t.Context(), e, quiet(), definitions.Load{Path: path, SkipIfUnchanged: true})
	}
	if err := load(dir); err != nil {
		t.Fatal(err)
	}
	v := e.Accounts()
	if len(v.Users()) != 1 || len(v.VHosts()) != 1 || !v.HasAccess("u", "v") {
		t.Errorf("users %v, vhosts %v", v.Users(), v.VHosts())
	}
	if deeds := v.Deeds(); len(deeds) != 2 || deeds[1].User != accounts.LocalBroker ||
		string(deeds[1].Detail) != `{"permissions":1,"users":1}` {
		t.Errorf("the audit log is %+v", deeds)
	}
	if err := load(dir); err != nil || len(e.Accounts().Deeds()) != 2 {
		t.Errorf("unchanged definitions are loaded again: %v", err)
	}
	write("2.json", `{"users":[{"name":"w","tags":[]}],"permissions":[{"user":"x","vhost":"v","configure":"","write":"","read":""}]}`)
	if err := load(dir); err == nil || !strings.Contains(err.Error(), "2.json") || !strings.Contains(err.Error(), "no user 'x'") {
		t.Errorf("wrong definitions: %v", err)
	}
	if _, there := e.Accounts().User("w"); there {
		t.Error("half of a wrong file was imported")
	}
	write("2.json", `{`)
	if err := load(dir); err == nil {
		t.Error("what is no JSON was loaded")
	}
	if err := load(filepath.Join(dir, "none")); err == nil {
		t.Error("what is not there was loaded")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
