package management

import (
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestEveryUserSeesThePortsOfClients(t *testing.T) {
	// If this fails, users without the tag monitoring copy samples that connect to a port where nothing listens, or
	// see listeners and addresses that are not for them.
	t.Parallel()
	d := open(t).with(func(o *Options) {
		o.Listeners = func() []Listener {
			return []Listener{
				{Protocol: "amqp", Address: "10.0.0.1", Port: 5673},
				{Protocol: "amqp", Address: "::1", Port: 5673},
				{Protocol: "amqp/ssl", Address: "::", Port: 5671, TLS: true},
				{Protocol: "http", Address: "::", Port: 15672},
				{Protocol: "http/prometheus", Address: "::", Port: 15692},
			}
		}
	})
	rita := d.operator("rita", "management", "", "", "")
	want := []api.ClientPort{{Protocol: "amqp", Port: 5673}, {Protocol: "amqp/ssl", Port: 5671}}
	if got := read[api.List[api.ClientPort]](rita, "/api/x/ports"); !slices.Equal(got, want) {
		t.Errorf("ports: %v, want %v", got, want)
	}
	if o := read[api.Overview](rita, "/api/overview"); o.Listeners != nil {
		t.Errorf("the overview shows %v", o.Listeners)
	}
	d.with(func(o *Options) { o.Listeners = nil }).want(200, "GET", "/api/x/ports", "")
}
