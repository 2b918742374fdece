package management

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
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
	hosts := r.view.VHosts()
	for _, h := range hosts {
		d.VHosts = append(d.VHosts, defineVHost(h))
		if err := r.settings(h, h.Name, &d.VHostContents); err != nil {
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
	return r.download(d, hosts, func(h *access.VHost) string { return h.Name })
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
	if err := r.settings(h, "", &d.VHostContents); err != nil {
		return answer{}, err
	}
	return r.download(d, []*access.VHost{h}, func(*access.VHost) string { return "" })
}

// noContents is how definitions end that have no exchanges, queues and bindings.
const noContents = `"exchanges":[],"queues":[],"bindings":[]}`

// download answers with definitions: what is given, and all exchanges, queues and bindings of the virtual
// hosts, which are read while they are sent. A browser keeps the answer as the file that the query names.
func (r *request) download(given any, hosts []*access.VHost, name func(*access.VHost) string) (answer, error) {
	text, err := encode(given)
	if err != nil {
		return answer{}, err
	}
	head, ok := bytes.CutSuffix(text, []byte(noContents))
	if !ok {
		panic("management: definitions do not end with their contents")
	}
	if err := r.takeLarge(int64(cap(text))); err != nil {
		return answer{}, err
	}
	a := answer{status: http.StatusOK, stream: func(l *listing) error {
		if _, err := l.Write(head); err != nil {
			return err
		}
		return r.contents(l, hosts, name)
	}}
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

// settings adds the parameters and policies of a virtual host, under the name given.
func (r *request) settings(h *access.VHost, name string, to *api.VHostContents) error {
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
	return nil
}

// contents writes the exchanges, queues and bindings of virtual hosts, under the names given. What every
// virtual host is born with, and what goes with a connection, is left out.
//
// Others declare and delete meanwhile. What is exported can be imported all the same: a binding is told only
// if both its ends were.
func (r *request) contents(l *listing, hosts []*access.VHost, name func(*access.VHost) string) error {
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *access.VHost) bool { return r.down(h.Name) })
	all := make([]*hostContents, len(hosts))
	for i, h := range hosts {
		x := &hostContents{request: r, host: h, name: name(h)}
		err := r.look(h.Name, func(v *vhost.VHost) {
			x.newest, _ = v.QueueChanges()
			for e := range v.Topology().Exchanges() {
				x.exchanges = append(x.exchanges, e.Name)
			}
		})
		if err == nil {
			err = r.takeLarge(itemsBytes[string](len(x.exchanges)))
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
	for i, s := range sections {
		if err := l.text(`"` + s.name + `":`); err != nil {
			return err
		}
		err := l.list(func(row func(any) error) error {
			for _, x := range all {
				if err := s.rows(x, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil && i < len(sections)-1 {
			err = l.text(",")
		}
		if err != nil {
			return err
		}
	}
	return l.text("}")
}

// hostContents is a virtual host while its definitions are told.
type hostContents struct {
	request   *request
	host      *access.VHost
	name      string        // under which all is told
	newest    vhost.QueueID // queues with greater numbers were declared later
	exchanges []string      // by name: those that are there, and those that were told once all are
}

func (x *hostContents) defineExchanges(row func(any) error) error {
	var told []string
	for some := range slices.Chunk(x.exchanges, listPortion) {
		var rows []api.DefinedExchange
		err := x.request.look(x.host.Name, func(v *vhost.VHost) {
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
	return x.request.eachRows(x.host, listPortion, func(rows []queueRow) error {
		for _, q := range rows {
			if q.view.Exclusive || q.view.ID > x.newest {
				continue
			}
			err := row(&api.DefinedQueue{
				VHost: x.name, Name: q.view.Name, Type: q.view.Type, Durable: api.Flag(q.view.Durable),
				AutoDelete: api.Flag(q.view.AutoDelete), Arguments: api.Arguments(q.view.Arguments),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *hostContents) defineBindings(row func(any) error) error {
	told := func(v *vhost.VHost, b *vhost.Binding) bool {
		if b.ToQueue {
			q, there := v.Queue(b.Destination)
			return there && !q.Exclusive && q.ID <= x.newest
		}
		_, found := slices.BinarySearch(x.exchanges, b.Destination)
		return found
	}
	for _, source := range x.exchanges {
		err := x.request.eachBindingFrom(x.host, source, told, func(b *api.Binding) error {
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
