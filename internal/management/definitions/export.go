package definitions

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func (s *API) definitionExportEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET definitions", Tag: authz.Administrator, Serve: s.getDefinitions, Scope: web.AllNodes,
			Summary: "Definitions of the whole broker, without messages", Out: api.Definitions{},
		},
		{
			Pattern: "GET all-configuration", Tag: authz.Administrator, Serve: s.getDefinitions, Scope: web.AllNodes,
			Summary: "Same as definitions", Out: api.Definitions{},
		},
		{
			Pattern: "GET definitions/{vhost}", Tag: authz.Administrator, Serve: s.getVHostDefinitions, Scope: web.Leader,
			Summary: "Definitions of a virtual host", Out: api.VHostDefinitions{},
		},
	}
}

func (s *API) origin(r *web.Request, format string) api.DefinitionsOrigin {
	return api.DefinitionsOrigin{
		RabbitVersion: api.RabbitMQVersion, RabbitMQVersion: api.RabbitMQVersion, ProductName: s.product, ProductVersion: s.version,
		Format: format,
	}
}

// getDefinitions exports all that was declared. Source: RabbitMQ definitions.
func (s *API) getDefinitions(r *web.Request) (web.Answer, error) {
	d := api.Definitions{DefinitionsOrigin: s.origin(r, api.FormatCluster)}
	d.OriginalClusterName = r.ClusterName()
	d.Explanation = "Definitions of cluster '" + d.OriginalClusterName + "'"
	for _, u := range r.View.Users() {
		d.Users = append(d.Users, defineUser(u))
	}
	hosts := r.View.VHosts()
	for _, h := range hosts {
		d.VHosts = append(d.VHosts, defineVHost(h))
		if err := settings(r, h, h.Name, &d.VHostContents); err != nil {
			return web.Answer{}, err
		}
	}
	for _, p := range r.View.Permissions() {
		d.Permissions = append(d.Permissions, resources.ShowPermission(p))
	}
	for _, p := range r.View.TopicPermissions() {
		d.TopicPermissions = append(d.TopicPermissions, resources.ShowTopicPermission(p))
	}
	for _, g := range r.View.GlobalParameters() {
		d.GlobalParameters = append(d.GlobalParameters, resources.ShowGlobal(g))
	}
	return s.download(r, d, hosts, func(h *accounts.VHost) string { return h.Name })
}

// getVHostDefinitions exports what is in one virtual host.
func (s *API) getVHostDefinitions(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	d := api.VHostDefinitions{DefinitionsOrigin: s.origin(r, api.FormatVHost)}
	d.OriginalVHostName = h.Name
	d.Explanation = "Definitions of virtual host '" + h.Name + "'"
	if err := settings(r, h, "", &d.VHostContents); err != nil {
		return web.Answer{}, err
	}
	return s.download(r, d, []*accounts.VHost{h}, func(*accounts.VHost) string { return "" })
}

// noContents is how definitions end that have no exchanges, queues and bindings.
const noContents = `"exchanges":[],"queues":[],"bindings":[]}`

// download answers with definitions: what is given, and all exchanges, queues and bindings of the virtual
// hosts, which are read while they are sent. A browser keeps the answer as the file that the query names.
func (s *API) download(r *web.Request, given any, hosts []*accounts.VHost,
	name func(*accounts.VHost) string) (web.Answer, error) {
	text, err := web.Encode(given)
	if err != nil {
		return web.Answer{}, err
	}
	head, ok := bytes.CutSuffix(text, []byte(noContents))
	if !ok {
		panic("management: definitions do not end with their contents")
	}
	if err := r.TakeLarge(int64(cap(text))); err != nil {
		return web.Answer{}, err
	}
	a := web.Answer{Status: http.StatusOK, Stream: func(l *web.Stream) error {
		if _, err := l.Write(head); err != nil {
			return err
		}
		return s.writeContents(r, l, hosts, name)
	}}
	if name := r.URL.Query().Get("download"); name != "" {
		name = strings.NewReplacer(`"`, "", `\`, "", "\r", "", "\n", "").Replace(name)
		a.Header = http.Header{"Content-Disposition": {`attachment; filename="` + name + `"`}}
	}
	return a, nil
}

func defineUser(u *accounts.User) api.DefinedUser {
	hash, tags := base64.StdEncoding.EncodeToString(u.Hash), api.Tags(u.Tags)
	return api.DefinedUser{
		Name: u.Name, PutUser: api.PutUser{PasswordHash: &hash, HashingAlgorithm: u.Algorithm.String(), Tags: &tags},
		Limits: defineLimits(u.Limits),
	}
}

func defineVHost(h *accounts.VHost) api.DefinedVHost {
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

func defineLimits(limits []accounts.Limit) api.Limits {
	defined := api.Limits{}
	for _, l := range limits {
		defined[l.Name] = api.Number(l.Value)
	}
	return defined
}

// settings adds the parameters and policies of a virtual host, under the name given.
func settings(r *web.Request, h *accounts.VHost, name string, to *api.VHostContents) error {
	parameters, err := resources.Parameters(r, []*accounts.VHost{h})
	if err != nil {
		return err
	}
	for _, p := range parameters {
		to.Parameters = append(to.Parameters, api.DefinedParameter{VHost: name, Component: p.Component, Name: p.Name, Value: p.Value})
	}
	policies, err := resources.PoliciesOf(r, h, false)
	if err != nil {
		return err
	}
	for _, p := range policies {
		priority, pattern := api.Priority(p.Priority), api.Pattern(p.Pattern)
		to.Policies = append(to.Policies, api.DefinedPolicy{VHost: name, Name: p.Name, PutPolicy: api.PutPolicy{
			Pattern: &pattern, ApplyTo: &p.ApplyTo, Definition: &p.Definition, Priority: &priority,
		}})
	}
	return nil
}

// contents writes the exchanges, queues and bindings of virtual hosts, under the names given. What every
// virtual host is born with, and what goes with a connection, is left out.
//
// Others declare and delete meanwhile. What is exported can be imported all the same: a binding is told only
// if both its ends were.
func (s *API) writeContents(r *web.Request, l *web.Stream, hosts []*accounts.VHost,
	name func(*accounts.VHost) string) error {
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *accounts.VHost) bool { return r.IsDown(h.Name) })
	all := make([]*hostContents, len(hosts))
	for i, h := range hosts {
		x := &hostContents{resources: s.resources, request: r, host: h, name: name(h)}
		err := r.Look(h.Name, func(v vhost.Reader) {
			x.newest, _ = v.QueueChanges()
			for e := range v.Topology().Exchanges() {
				x.exchanges = append(x.exchanges, e.Name)
			}
		})
		if err == nil {
			err = r.TakeLarge(web.ItemsBytes[string](len(x.exchanges)))
		}
		if err != nil {
			return err
		}
		all[i] = x
	}
	sections := []struct {
		name string
		rows func(x *hostContents, row func(any) error) error
	}{{"exchanges", (*hostContents).defineExchanges}, {"queues", (*hostContents).defineQueues}, {"bindings", (*hostContents).defineBindings}}
	for i, section := range sections {
		if err := l.Text(`"` + section.name + `":`); err != nil {
			return err
		}
		err := l.List(func(row func(any) error) error {
			for _, x := range all {
				if err := section.rows(x, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil && i < len(sections)-1 {
			err = l.Text(",")
		}
		if err != nil {
			return err
		}
	}
	return l.Text("}")
}

// hostContents is a virtual host while its definitions are told.
type hostContents struct {
	resources *resources.API
	request   *web.Request
	host      *accounts.VHost
	name      string       // under which all is told
	newest    fact.QueueID // queues with greater numbers were declared later
	exchanges []string     // by name: those that are there, and those that were told once all are
}

func (x *hostContents) defineExchanges(row func(any) error) error {
	var told []string
	for some := range slices.Chunk(x.exchanges, resources.ListPortion) {
		var rows []api.DefinedExchange
		err := x.request.Look(x.host.Name, func(v vhost.Reader) {
			for _, name := range some {
				e := v.Topology().Exchange(name)
				if e == nil {
					continue
				}
				told = append(told, name)
				if !predeclared(name) {
					rows = append(rows, api.DefinedExchange{
						VHost: x.name, Name: name, Type: e.Type(), Durable: api.Flag(e.Durable), AutoDelete: api.Flag(e.AutoDelete),
						Internal: api.Flag(e.Internal), Arguments: api.Arguments(e.Arguments),
					})
				}
			}
		})
		if err != nil {
			return err
		}
		for i := range rows {
			if err := row(&rows[i]); err != nil {
				return err
			}
		}
	}
	x.exchanges = told
	return nil
}

func (x *hostContents) defineQueues(row func(any) error) error {
	return x.resources.EachRows(x.request, x.host, resources.ListPortion, func(rows []resources.QueueRow) error {
		for _, q := range rows {
			if q.View.Exclusive || q.View.ID > x.newest {
				continue
			}
			err := row(&api.DefinedQueue{
				VHost: x.name, Name: q.View.Name, Type: q.View.Type, Durable: api.Flag(q.View.Durable),
				AutoDelete: api.Flag(q.View.AutoDelete), Arguments: api.Arguments(q.View.Arguments),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *hostContents) defineBindings(row func(any) error) error {
	told := func(v vhost.Reader, b *vhost.Binding) bool {
		if b.ToQueue {
			q, there := v.Queue(b.Destination)
			return there && !q.Exclusive && q.ID <= x.newest
		}
		_, found := slices.BinarySearch(x.exchanges, b.Destination)
		return found
	}
	for _, source := range x.exchanges {
		err := resources.EachBindingFrom(x.request, x.host, source, told, func(b *api.Binding) error {
			return row(&api.DefinedBinding{
				VHost: x.name, Source: b.Source, Destination: b.Destination, DestinationType: b.DestinationType,
				RoutingKey: b.RoutingKey, Arguments: b.Arguments,
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// predeclared reports whether an exchange is there without a declaration, or a name is the broker's to give.
func predeclared(name string) bool { return name == "" || strings.HasPrefix(name, "amq.") }
