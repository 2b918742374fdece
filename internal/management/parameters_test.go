package management

import (
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestParametersThatHaveEndpoints(t *testing.T) {
	// If this fails, set_parameter cannot set what RabbitMQ keeps as a parameter, or gives rights that nobody has.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/vhosts/v", "")
	d.want(204, "PUT", "/api/vhost-limits/v/max-connections", `{"value":7}`)
	d.want(204, "PUT", "/api/parameters/vhost-limits/v/limits", `{"value":{"max-queues":5}}`)
	if got := read[[]api.VHostLimits](d, "/api/vhost-limits/v"); len(got) != 1 || len(got[0].Value) != 1 || got[0].Value["max-queues"] != 5 {
		t.Errorf("limits are %+v", got)
	}
	d.want(201, "PUT", "/api/parameters/operator_policy/v/o", `{"value":{"pattern":"a","definition":{"max-length":5},"priority":0}}`)
	d.want(204, "PUT", "/api/parameters/operator_policy/v/o", `{"value":{"pattern":"b","definition":{"max-length":5},"priority":0}}`)
	if got := read[api.Policy](d, "/api/operator-policies/v/o"); got.Pattern != "b" {
		t.Errorf("the operator policy is %+v", got)
	}
	d.want(201, "PUT", "/api/policies/v/p", `{"pattern":"a","definition":{"max-length":5},"apply-to":"queues"}`)
	const policy = `{"vhost":"v","component":"policy","name":"p","value":{"pattern":"a","apply-to":"queues","definition":{"max-length":5},"priority":0}}`
	for path, want := range map[string]string{"/v/p": policy, "/v": "[" + policy + "]", "": "[" + policy + "]", "/%2F": "[]"} {
		if got := d.want(200, "GET", "/api/parameters/policy"+path, "").Body.String(); got != want {
			t.Errorf("parameters/policy%s is %s, want %s", path, got, want)
		}
	}
	if got := d.want(200, "GET", "/api/parameters", "").Body.String(); strings.Contains(got, `"policy"`) {
		t.Errorf("policies are among all parameters: %s", got)
	}
	d.refused(400, "bad_request", "may not be cleared using this method", "DELETE", "/api/parameters/policy/v/p", "")
	d.want(200, "GET", "/api/policies/v/p", "")
	for _, c := range []struct {
		status             int
		reason, path, body string
	}{
		{400, "policies may not be set using this method", "policy/v/p", `{"value":{}}`},
		{400, "component shovel not found", "shovel/v/s", `{"value":{}}`},
		{400, "component vhost-limits not found", "vhost-limits/v/other", `{"value":{}}`},
		{400, "in limits: max-connections", "vhost-limits/v/limits", `{"value":{"max-queues":6,"max-cats":1}}`},
		{400, "limits must be an object", "vhost-limits/v/limits", `{"value":5}`},
		{400, "{key_missing,definition}", "operator_policy/v/p", `{"value":{"pattern":"a"}}`},
		{400, "not recognised policy settings", "operator_policy/v/p", `{"value":{"pattern":"a","definition":{"dead-letter-exchange":"x"}}}`},
		{400, "{key_missing,value}", "operator_policy/v/p", `{}`},
	} {
		d.refused(c.status, "bad_request", c.reason, "PUT", "/api/parameters/"+c.path, c.body)
	}
	d.want(404, "PUT", "/api/parameters/vhost-limits/none/limits", `{"value":{}}`)
	d.want(201, "PUT", "/api/users/maker", `{"password":"p","tags":"policymaker"}`)
	d.want(201, "PUT", "/api/permissions/v/maker", `{"configure":"","write":"","read":""}`)
	maker := d.as("maker:p")
	maker.want(401, "PUT", "/api/parameters/vhost-limits/v/limits", `{"value":{}}`)
	maker.want(401, "DELETE", "/api/parameters/operator_policy/v/o", "")
	maker.want(201, "PUT", "/api/parameters/bartleby-options/v/options", `{"value":{"hops-max":4}}`)
	maker.want(404, "PUT", "/api/parameters/bartleby-options/%2F/options", `{"value":{"hops-max":4}}`)
	if got := read[[]api.VHostLimits](d, "/api/vhost-limits/v"); got[0].Value["max-queues"] != 5 {
		t.Errorf("a refused change left %+v", got)
	}
	for _, path := range []string{"vhost-limits/v/limits", "operator_policy/v/o", "bartleby-options/v/options"} {
		d.want(204, "DELETE", "/api/parameters/"+path, "")
		d.want(404, "DELETE", "/api/parameters/"+path, "")
	}
}
