package management

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
)

func (r *request) origin(format string) api.DefinitionsOrigin {
	o := r.server.options
	return api.DefinitionsOrigin{
		RabbitVersion: api.RabbitMQVersion, RabbitMQVersion: api.RabbitMQVersion, ProductName: o.Product, ProductVersion: o.Version,
		Format: format,
	}
}

// getDefinitions exports all that was declared. Source: RabbitMQ definitions.
func getDefinitions(r *request) (answer, error) {
	d := api.Definitions{DefinitionsOrigin: r.origin(api.FormatCluster)}
	d.OriginalClusterName = r.clusterName()
	d.Explanation = "Definitions of cluster '" + d.OriginalClusterName + "'"
	for _, u := range r.view.Users() {
		d.Users = append(d.Users, defineUser(u))
	}
	for _, h := range r.view.VHosts() {
		d.VHosts = append(d.VHosts, defineVHost(h))
		if err := r.contents(h, h.Name, &d.VHostContents); err != nil {
			return answer{}, err
		}
	}
	for _, p := range r.view.Permissions() {
		d.Permissions = append(d.Permissions, showPermission(p))
	}
	for _, p := range r.view.TopicPermissions() {
		d.TopicPermissions = append(d.TopicPermissions, showTopicPermission(p))
	}
	for _, g := range r.view.GlobalParameters() {
		d.GlobalParameters = append(d.GlobalParameters, showGlobal(g))
	}
	return r.download(d)
}

// getVHostDefinitions exports what is in one virtual host.
func getVHostDefinitions(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	d := api.VHostDefinitions{DefinitionsOrigin: r.origin(api.FormatVHost)}
	d.OriginalVHostName = h.Name
	d.Explanation = "Definitions of virtual host '" + h.Name + "'"
	if err := r.contents(h, "", &d.VHostContents); err != nil {
		return answer{}, err
	}
	return r.download(d)
}

// download makes a browser keep the answer as the file that the query names.
func (r *request) download(body any) (answer, error) {
	a := answer{status: http.StatusOK, body: body}
	if name := r.URL.Query().Get("download"); name != "" {
		name = strings.NewReplacer(`"`, "", `\`, "", "\r", "", "\n", "").Replace(name)
		a.header = http.Header{"Content-Disposition": {`attachment; filename="` + name + `"`}}
	}
	return a, nil
}

func defineUser(u *access.User) api.DefinedUser {
	hash, tags := base64.StdEncoding.EncodeToString(u.Hash), api.Tags(u.Tags)
	return api.DefinedUser{
		Name: u.Name, PutUser: api.PutUser{PasswordHash: &hash, HashingAlgorithm: u.Algorithm.String(), Tags: &tags},
		Limits: defineLimits(u.Limits),
	}
}

func defineVHost(h *access.VHost) api.DefinedVHost {
	tags := api.Tags(h.Tags)
	d := api.DefinedVHost{
		Name: h.Name, Limits: defineLimits(h.Limits), Description: &h.Description, Tags: &tags,
		Metadata: &api.VHostMetadata{Description: h.Description, Tags: h.Tags, DefaultQueueType: h.DefaultQueueType},
	}
	if h.DefaultQueueType != "" {
		d.DefaultQueueType = &h.DefaultQueueType
	}
	on := api.Flag(true)
	if h.Protected {
		d.ProtectedFromDeletion = &on
	}
	if h.Tracing {
		d.Tracing = &on
	}
	return d
}

func defineLimits(limits []access.Limit) api.Limits {
	defined := api.Limits{}
	for _, l := range limits {
		defined[l.Name] = api.Number(l.Value)
	}
	return defined
}

// contents adds what is in a virtual host, under the name given. What every virtual host is born with, and what goes
// with a connection, is left out.
func (r *request) contents(h *access.VHost, name string, to *api.VHostContents) error {
	parameters, err := r.parameters([]*access.VHost{h})
	if err != nil {
		return err
	}
	for _, p := range parameters {
		to.Parameters = append(to.Parameters, api.DefinedParameter{VHost: name, Component: p.Component, Name: p.Name, Value: p.Value})
	}
	policies, err := r.policiesOf(h, false)
	if err != nil {
		return err
	}
	for _, p := range policies {
		priority, pattern := api.Priority(p.Priority), api.Pattern(p.Pattern)
		to.Policies = append(to.Policies, api.DefinedPolicy{VHost: name, Name: p.Name, PutPolicy: api.PutPolicy{
			Pattern: &pattern, ApplyTo: &p.ApplyTo, Definition: &p.Definition, Priority: &priority,
		}})
	}
	exchanges, err := r.exchangesOf(h, nil)
	if err != nil {
		return err
	}
	for _, x := range exchanges {
		if !predeclared(x.Name) {
			to.Exchanges = append(to.Exchanges, api.DefinedExchange{
				VHost: name, Name: x.Name, Type: x.Type, Durable: api.Flag(x.Durable), AutoDelete: api.Flag(x.AutoDelete),
				Internal: api.Flag(x.Internal), Arguments: x.Arguments,
			})
		}
	}
	queues, err := r.queuesOf(h)
	if err != nil {
		return err
	}
	exclusive := map[string]bool{}
	for _, q := range queues {
		if exclusive[q.Name] = q.Exclusive; !q.Exclusive {
			to.Queues = append(to.Queues, api.DefinedQueue{
				VHost: name, Name: q.Name, Type: q.Type, Durable: api.Flag(q.Durable), AutoDelete: api.Flag(q.AutoDelete), Arguments: q.Arguments,
			})
		}
	}
	bindings, err := r.bindingsIn(h.Name, scope{})
	for _, b := range bindings {
		if b.Source == "" || b.DestinationType == toQueue && exclusive[b.Destination] {
			continue
		}
		to.Bindings = append(to.Bindings, api.DefinedBinding{
			VHost: name, Source: b.Source, Destination: b.Destination, DestinationType: b.DestinationType,
			RoutingKey: b.RoutingKey, Arguments: b.Arguments,
		})
	}
	return err
}

// predeclared reports whether an exchange is there without a declaration, or a name is the broker's to give.
func predeclared(name string) bool { return name == "" || strings.HasPrefix(name, "amq.") }
