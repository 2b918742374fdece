package main

import (
	"context"
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A page says how the commands of a page of the documentation are run, one after the other, in one shell.
type page struct {
	clock   bool                          // the broker's clock is that of a test
	prepare func(t *testing.T, at *place) // makes what must be there first
	before  string                        // the same, in the shell
	each    string                        // runs in the shell before each command that has one of the words
	first   map[string]string             // the same before a command, by its beginning
	words   map[string]string             // placeholders of the page, and variables of the shell with what is meant
	not     map[string]string             // commands, by their beginning, that are not run, and why
	other   map[string]string             // commands, by their beginning, that print something else here, and why
}

const installs = "changes the system: packaging tests it"

var readme = page{
	before: "bartleby ctl -q declare_queue work.dead\nbartleby ctl -q publish_message work.dead x\n",
	not: map[string]string{
		"go run ./cmd/bartleby serve": "starts a broker",
		"cd interop/java":             "interop runs it",
		"make test":                   "runs this test",
	},
}

// ofRabbitMQ makes what a page about the migration from RabbitMQ begins with: its configuration and its definitions.
const ofRabbitMQ = `
	mkdir -p /etc/rabbitmq
	echo 'heartbeat = 10' | tee /etc/rabbitmq/rabbitmq.conf >rabbitmq.conf
	bartleby ctl -q export_definitions definitions.json
	bartleby ctl -q add_vhost VHOST
`

var pages = map[string]page{
	"README.md": readme, "README.zh-CN.md": readme,
	"docs/audit.md": {
		before: `
			curl -X PUT $http/policies/%2F/DLX \
				-d '{"pattern":".*","definition":{"dead-letter-exchange":"dlx"},"apply-to":"queues"}'
			after="after=0"
		`,
		words: map[string]string{"after=41": "after"},
	},
	"docs/backup.md": {
		before: "mkdir -p /backups/monday\n",
		first:  map[string]string{"mkdir data": "rm -rf data\n"},
	},
	"docs/cli.md": {
		before: `
			bartleby ctl -q declare_queue work --arguments '{"x-message-ttl":60000,"x-mesage-ttl":1}'
			bartleby ctl -q declare_queue orders.dlq
			echo '{"dead-letter-exchange":"my-dlx"}' >dlx.json
		`,
		first: map[string]string{
			"bartleby ctl declare_queue orders": "bartleby ctl -q declare_queue orders.dlq >/dev/null\n",
			`rabbitmqctl set_policy DLX ".*" '{"dead-letter-exchange":"my-dlx"}' --apply-to queues --dry-run`: `
				bartleby ctl -q clear_policy DLX
				for queue in work orders orders.dlq; do bartleby ctl -q delete_queue $queue >/dev/null; done
				bartleby ctl -q declare_queue work
				bartleby ctl -q declare_queue grave
				bartleby ctl -q declare_exchange my-dlx --type fanout
				bartleby ctl -q declare_binding my-dlx grave
			`,
			"rabbitmqctl explain_queue work": explained,
		},
		not: map[string]string{
			"export BARTLEBY_MANAGEMENT=https://broker.example": "another machine",
			`rabbitmqctl set_policy DLX ".*" "{\"`:              "for cmd.exe: internal/cli/command tests it",
		},
	},
	"docs/clock.md": {
		clock: true,
		not:   map[string]string{"bartleby ctl clock resync": "only without a test clock; internal/cli tests it"},
		other: map[string]string{"bartleby ctl clock": "the clock of the machine was not set back"},
	},
	"docs/configuration.md": {
		before: "echo 'heartbeat = 10' >rabbitmq.conf\n",
		not:    map[string]string{"bartleby ctl environment": "needs 'bartleby serve': internal/cli tests it"},
	},
	"docs/dead-letters.md": {
		before: `
			bartleby ctl -q add_vhost legacy
			bartleby ctl -q declare_queue work
			bartleby ctl -q declare_exchange lost
			bartleby ctl -q declare_queue from --arguments '{"x-dead-letter-exchange":"lost"}'
			bartleby ctl -q declare_queue inspect
			bartleby ctl -q declare_binding amq.direct inspect --routing-key inspect
		`,
		each: loses,
		first: map[string]string{
			"bartleby ctl republish_lost_letters 1 2": rebinds, "bartleby ctl republish_lost_letters --all": rebinds,
		},
		words: map[string]string{
			"show_lost_letter 1": "one", "republish_lost_letters 1 2": "two", "republish_lost_letters 3": "three",
			"purge_lost_letters 4": "four", "lost-letters/%2F/1": "path", "lost-letters/%2F/4": "path", "[1,2]": "ids",
		},
	},
	"docs/durability.md": {before: "bartleby ctl -q add_vhost metrics\n"},
	"docs/http-api.md":   {not: map[string]string{"curl -u guest:guest -N": "ends when it is interrupted"}},
	"docs/install.md": {not: map[string]string{
		"make": installs, "sudo": installs, "systemctl": installs, "podman": installs,
	}},
	"docs/kubernetes.md": {not: map[string]string{"make image": installs, "kubectl": "there is no cluster"}},
	"docs/lint.md": {
		before: `
			bartleby ctl -q declare_queue orders --arguments '{"x-dead-letter-exchange":"grave"}'
			to() { echo '"x-dead-letter-exchange":"","x-dead-letter-routing-key":"'$1'"'; }
			bartleby ctl -q declare_queue work --arguments "{$(to retry)}"
			bartleby ctl -q declare_queue retry --arguments "{\"x-message-ttl\":60000,$(to work)}"
		`,
	},
	"docs/repair.md": {
		each:  "copy=$PWD/copy$((++copies))\nbartleby ctl -q backup $copy >/dev/null\n",
		words: map[string]string{"bartleby-data": "copy"},
	},
	"docs/scheduled-messages.md": {
		before: `
			bartleby ctl -q declare_exchange orders.later --type x-delayed-message \
				--arguments '{"x-delayed-type":"fanout"}'
			bartleby ctl -q declare_queue orders \
				--arguments '{"x-delayed-retry-type":"all","x-delayed-retry-min":3600000}'
			bartleby ctl -q declare_binding orders.later orders
		`,
		each: `
			scheduled1=$(bartleby ctl -q -s scheduled put --key a --in 1d orders.later remind x)
			scheduled2=$(bartleby ctl -q -s scheduled put --key b --in 1d orders.later remind x)
			key=order-4711
			bartleby ctl -q -s scheduled put --key $key --in 1d orders.later remind x >/dev/null
		`,
		first: map[string]string{
			"bartleby ctl waiting": waits, `curl "$api/x/waiting`: waits,
		},
		words: map[string]string{
			"12-345": "scheduled1", "12-346": "scheduled2", "order-4711": "key", "7-12": "waiting1",
		},
	},
	"docs/search.md": {before: `
		bartleby ctl -q add_vhost orders
		bartleby ctl -q set_permissions -p orders guest '.*' '.*' '.*'
	`},
	"docs/takeover.md": {
		before: "mkdir -p /etc/bartleby" + ofRabbitMQ,
		not: map[string]string{
			"curl":                    "of RabbitMQ on another machine",
			"sudo install":            installs,
			"sudo systemctl":          installs,
			"rabbitmq-plugins enable": "for RabbitMQ",
			"rabbitmqctl":             "for RabbitMQ",
		},
	},
	"docs/zh-CN.md": {
		before: "mkdir -p /backups/monday" + ofRabbitMQ,
		each: `
			copy=$PWD/copy$((++copies)) check="check $copy" repair="repair $copy" dry="--dry-run $copy"
			bartleby ctl -q backup $copy >/dev/null
		`,
		first: map[string]string{"mkdir data": "rm -rf data\n"},
		words: map[string]string{
			"check bartleby-data": "check", "repair bartleby-data": "repair", "--dry-run bartleby-data": "dry",
		},
		not: map[string]string{
			"curl": "of RabbitMQ on another machine", "go mod": "changes a module of the user",
			"make": installs, "sudo": installs, "systemctl": installs, "podman": installs,
		},
	},
	"docs/zh-CN/policies.md": {
		before: `
			for queue in work grave; do bartleby ctl -q declare_queue $queue; done
			bartleby ctl -q declare_exchange my-dlx --type fanout
			bartleby ctl -q declare_binding my-dlx grave
			echo '{"dead-letter-exchange":"my-dlx"}' >dlx.json
		`,
		first: map[string]string{
			`bartleby ctl set_policy DLX ".*" '{"dead-letter-exchange":"my-dlx"}' --apply-to queues --dry-run`: `
				bartleby ctl -q clear_policy DLX
			`,
			"bartleby ctl explain_queue work": explained,
		},
		not: map[string]string{
			`bartleby ctl set_policy DLX ".*" "{\"`: "for cmd.exe: internal/cli/command tests it",
		},
	},
	"docs/handling-dead-letters.md": {
		prepare: sixtyDeadLetters,
		first: map[string]string{
			"bartleby ctl redrive pause": `
				bartleby ctl -q declare_queue slow
				for i in 1 2 3; do bartleby ctl -q publish_message slow x; done
				bartleby ctl -q dlq redrive slow --to queue:slow --force --rate 1 >/dev/null
				job=$(bartleby ctl -q -s redrive list id | head -n 1)
				pause="pause $job" rate="rate $job" resume="resume $job"
			`,
			"bartleby ctl dlq show":   `until curl $http/x/index | grep -q '"letters":60,"behind":0'; do :; done` + "\n",
			"bartleby ctl dlq import": "bartleby ctl -q declare_queue copy >/dev/null\n",
		},
		words: map[string]string{"pause 1": "pause", "rate 1": "rate", "resume 1": "resume"},
	},
}

// loses makes two lost letters, and rebinds removes the cause.
const (
	loses = `
		curl -X DELETE $http/x/options/%2F/lost-letters-max-bytes >/dev/null 2>&1
		curl -X DELETE $http/bindings/%2F/e/lost/q/inspect/from >/dev/null 2>&1
		die from; die from
		set -- $(curl $http/x/lost-letters/%2F?limit=2 | grep -o '"id":"*[0-9]*' | grep -o '[0-9]*$')
		one="show_lost_letter $1" two="republish_lost_letters $1 $2" three="republish_lost_letters $1"
		four="purge_lost_letters $1" path="lost-letters/%2F/$1" ids="[$1,$2]"
	`
	rebinds = "curl $http/bindings/%2F/e/lost/q/inspect -d '{\"routing_key\":\"from\"}' >/dev/null\n"
)

// explained makes what the pages about policies explain: each source sets something, and one argument is misspelt.
const explained = `
	bartleby ctl -q delete_queue work >/dev/null
	bartleby ctl -q declare_queue work --arguments '{"x-message-ttl":60000,"x-mesage-ttl":1}'
	bartleby ctl -q set_policy low '^work$' '{"message-ttl":1000,"max-length":2}' --priority 3 --apply-to queues
	bartleby ctl -q set_policy DLX '.*' '{"max-length":5}' --apply-to queues
	bartleby ctl -q set_operator_policy op '.*' '{"max-length":1}' --apply-to queues
`

// waits makes a message of the queue orders wait for its retry.
const waits = `
	bartleby ctl -q publish_message orders x
	bartleby ctl -q get_messages orders >/dev/null
	waiting1=$(bartleby ctl -q -s waiting list orders id | tail -n 1)
`

// sixtyDeadLetters are what the page about dead letters shows: sixty orders were rejected.
func sixtyDeadLetters(t *testing.T, at *place) {
	t.Helper()
	conn, err := amqp.Dial(at.broker.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	declare := func(name string, args amqp.Table) {
		t.Helper()
		if _, err := ch.QueueDeclare(name, true, false, false, false, args); err != nil {
			t.Fatal(err)
		}
	}
	declare("orders.dlq", nil)
	declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dlq"})
	declare("payments", amqp.Table{"x-message-ttl": 0})
	for i := 1; i <= 60; i++ {
		headers := amqp.Table{"tenant": "globex", "exception-fqcn": "java.net.SocketTimeoutException",
			"error-message": fmt.Sprintf("Read timed out after %d ms", 1000+i)}
		if i%3 == 0 {
			headers["tenant"] = "acme"
		}
		if i%4 == 0 {
			headers["exception-fqcn"] = "java.lang.IllegalStateException"
			headers["error-message"] = fmt.Sprintf("no stock for item %d", i)
		}
		m := amqp.Publishing{DeliveryMode: amqp.Persistent, MessageId: fmt.Sprintf("m%d", i), Headers: headers,
			Body: fmt.Appendf(nil, `{"order":{"id":%d}}`, i)}
		if err := ch.PublishWithContext(context.Background(), "", "orders", true, false, m); err != nil {
			t.Fatal(err)
		}
		d, ok, err := ch.Get("orders", false)
		if !ok || err != nil {
			t.Fatal("no message", err)
		}
		if err := d.Reject(false); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		m := amqp.Publishing{}
		if err := ch.PublishWithContext(context.Background(), "", "payments", false, false, m); err != nil {
			t.Fatal(err)
		}
	}
	declare("orders.dlq", nil) // it has an answer: what was rejected is there
}
