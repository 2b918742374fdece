package management

import (
	"encoding/json"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestCreateQueue(t *testing.T) {
	// If this fails, a script that made queues at ApsaraMQ makes other ones here, or ones without their dead-letter
	// exchange.
	t.Parallel()
	d := open(t)
	const path = "/api/x/queues/%2F/"
	body := `{"InstanceId":"amqp-cn-1","VirtualHost":"/","QueueName":"work","DeadLetterExchange":"dlx","DeadLetterRoutingKey":"dead",
		"MessageTTL":"60000","AutoExpireState":1800000,"MaxLength":"100","MaximumPriority":10,"AutoDeleteState":"false","ExclusiveState":false}`
	d.want(201, "PUT", path+"work", body)
	d.want(204, "PUT", path+"work", body)
	q := read[api.Queue](d, "/api/queues/%2F/work")
	got, err := json.Marshal(q.Arguments)
	want := `{"x-dead-letter-exchange":"dlx","x-dead-letter-routing-key":"dead","x-message-ttl":60000,"x-expires":1800000,"x-max-length":100,"x-max-priority":10}`
	if err != nil || string(got) != want || !q.Durable || q.AutoDelete {
		t.Errorf("%s %+v", got, q)
	}
	// The same queue under RabbitMQ's names is the same queue.
	d.want(204, "PUT", "/api/queues/%2F/work", `{"durable":true,"arguments":`+want+`}`)
	d.want(201, "PUT", path+"plain", "")
	d.want(201, "PUT", path+"mixed", `{"durable":false,"auto_delete":true,"MessageTTL":5,"DeadLetterExchange":"","arguments":{"x-message-ttl":5,"x-max-length":3}}`)
	if q := read[api.Queue](d, "/api/queues/%2F/mixed"); q.Durable || !q.AutoDelete || len(q.Arguments) != 2 {
		t.Errorf("%+v", q)
	}
	for body, reason := range map[string]string{
		`{"DeadLetterExchnge":"dlx"}`:                      `unknown field "DeadLetterExchnge"`,
		`{"MessageTTL":"soon"}`:                            "not an integer",
		`{"MessageTTL":-1}`:                                "x-message-ttl",
		`{"MessageTTL":5,"arguments":{"x-message-ttl":6}}`: "MessageTTL and the argument x-message-ttl differ",
		`{"ExclusiveState":true}`:                          "exclusive",
		`{"VirtualHost":"other"}`:                          "the path names '/'",
		`{"QueueName":"other"}`:                            "the path names 'bad'",
		`{"DeadLetterRoutingKey":"dead"}`:                  "dead-letter-routing-key",
		`{"durable":"perhaps"}`:                            "boolean",
	} {
		d.refused(400, "bad_request", reason, "PUT", path+"bad", body)
	}
	d.refused(404, "not_found", "vhost_not_found", "PUT", "/api/x/queues/none/q", "{}")
	d.refused(405, "method_not_allowed", "", "GET", path+"work", "")
}
