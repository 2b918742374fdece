package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// postDefinitions imports definitions: users, permissions and policies are replaced, exchanges and queues that are
// there stay as they are, nothing is deleted. Source: RabbitMQ definitions; reference http-api 4.12.
func postDefinitions(r *request) (answer, error) {
	var d api.Definitions
	if err := r.readUpload(&d); err != nil {
		return answer{}, err
	}
	if d.Format == api.FormatVHost {
		return answer{}, badRequest("these are the definitions of one virtual host: import them at /api/definitions/{vhost}")
	}
	for _, p := range d.Parameters {
		if err := checkParameter(&p); err != nil {
			return answer{}, err
		}
	}
	commands, err := identityCommands(&d)
	if err != nil {
		return answer{}, err
	}
	if len(commands) > 0 {
		if _, err := r.change(commands...); err != nil {
			return answer{}, plainly(err)
		}
	}
	for name, contents := range r.byVHost(&d.VHostContents) {
		if err := r.fill(name, contents); err != nil {
			return answer{}, err
		}
	}
	return nothing()
}

// postVHostDefinitions imports the definitions of one virtual host, whatever virtual host they name.
func postVHostDefinitions(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	var d api.VHostDefinitions
	if err := r.readUpload(&d); err != nil {
		return answer{}, err
	}
	for _, p := range d.Parameters {
		if err := checkParameter(&p); err != nil {
			return answer{}, err
		}
	}
	if err := r.fill(r.names[0], &d.VHostContents); err != nil {
		return answer{}, err
	}
	return nothing()
}

// readUpload reads a body that is JSON, or a form with JSON in its part "file".
func (r *request) readUpload(into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return r.read(into)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, bodyBytesMax)
	file, _, err := r.FormFile("file")
	if err != nil {
		return badRequest("the upload has no part 'file': %v", err)
	}
	r.Body = file
	return errors.Join(r.read(into), file.Close())
}

// checkParameter refuses parameters of plug-ins that are not there, before anything is changed.
func checkParameter(p *api.DefinedParameter) error {
	if p.Component != operatorComponent && p.Component != limitsComponent && p.Component != optionsComponent {
		return badRequest("Validation failed\n\ncomponent %s of parameter %s not found\n", p.Component, p.Name)
	}
	return nil
}

// identityCommands make users, virtual hosts, permissions and global parameters.
func identityCommands(d *api.Definitions) ([]access.Command, error) {
	var all []access.Command
	for _, u := range d.Users {
		if u.Tags == nil {
			u.Tags = &api.Tags{}
		}
		c, err := userCommand(u.Name, &u.PutUser)
		if err != nil {
			return nil, fmt.Errorf("user '%s': %w", u.Name, err)
		}
		all = append(all, c)
		for _, limit := range slices.Sorted(maps.Keys(u.Limits)) {
			all = append(all, access.Command{Kind: access.SetUserLimit, User: u.Name, Name: limit, Limit: int64(u.Limits[limit])})
		}
	}
	for _, h := range d.VHosts {
		kind := h.Metadata.DefaultQueueType
		if kind == "undefined" {
			kind = ""
		}
		all = append(all, access.Command{
			Kind: access.PutVHost, VHost: h.Name, Description: h.Metadata.Description, Tags: h.Metadata.Tags,
			DefaultQueueType: kind, Protected: bool(h.ProtectedFromDeletion),
		})
		for _, limit := range slices.Sorted(maps.Keys(h.Limits)) {
			all = append(all, access.Command{Kind: access.SetVHostLimit, VHost: h.Name, Name: limit, Limit: int64(h.Limits[limit])})
		}
	}
	for _, p := range d.Permissions {
		all = append(all, access.Command{Kind: access.SetPermission, User: p.User, VHost: p.VHost, Configure: p.Configure, Write: p.Write, Read: p.Read})
	}
	for _, p := range d.TopicPermissions {
		all = append(all, access.Command{
			Kind: access.SetTopicPermission, User: p.User, VHost: p.VHost, Exchange: topicExchange(p.Exchange), Write: p.Write, Read: p.Read,
		})
	}
	for _, g := range d.GlobalParameters {
		all = append(all, access.Command{Kind: access.SetGlobalParameter, Name: g.Name, Value: g.Value})
	}
	return all, nil
}

// byVHost sorts definitions by the virtual host that they name. What names none, or one that is not there, is passed
// over and logged.
func (r *request) byVHost(all *api.VHostContents) map[string]*api.VHostContents {
	sorted := map[string]*api.VHostContents{}
	of := func(vhost, what, name string) *api.VHostContents {
		if _, known := r.view.VHost(vhost); !known {
			r.server.options.Log.Warn("definition of an unknown virtual host passed over", "vhost", vhost, "kind", what, "name", name)
			return &api.VHostContents{}
		}
		if sorted[vhost] == nil {
			sorted[vhost] = &api.VHostContents{}
		}
		return sorted[vhost]
	}
	for _, p := range all.Parameters {
		to := of(p.VHost, "parameter", p.Name)
		to.Parameters = append(to.Parameters, p)
	}
	for _, p := range all.Policies {
		to := of(p.VHost, "policy", p.Name)
		to.Policies = append(to.Policies, p)
	}
	for _, x := range all.Exchanges {
		to := of(x.VHost, "exchange", x.Name)
		to.Exchanges = append(to.Exchanges, x)
	}
	for _, q := range all.Queues {
		to := of(q.VHost, "queue", q.Name)
		to.Queues = append(to.Queues, q)
	}
	for _, b := range all.Bindings {
		to := of(b.VHost, "binding", b.Source)
		to.Bindings = append(to.Bindings, b)
	}
	return sorted
}

// fill makes the contents of one virtual host, as the broker itself: policies first, so that queues are under them
// from the beginning.
func (r *request) fill(name string, d *api.VHostContents) error {
	var commands []vhost.Command
	for _, p := range d.Parameters {
		switch p.Component {
		case limitsComponent:
			if err := r.importLimits(name, p.Value); err != nil {
				return err
			}
			continue
		case optionsComponent:
			c, err := replaceOptions(p.Value)
			if err != nil {
				return err
			}
			commands = append([]vhost.Command{c}, commands...)
			continue
		}
		var body api.PutPolicy
		if err := json.Unmarshal(p.Value, &body); err != nil {
			return badRequest("operator policy '%s': %v", p.Name, err)
		}
		policy, err := readPolicy(p.Name, true, &body)
		if err != nil {
			return err
		}
		commands = append(commands, vhost.Command{Kind: vhost.SetPolicy, Policy: policy})
	}
	for _, p := range d.Policies {
		policy, err := readPolicy(p.Name, false, &p.PutPolicy)
		if err != nil {
			return err
		}
		commands = append(commands, vhost.Command{Kind: vhost.SetPolicy, Policy: policy})
	}
	declarations, err := r.declarations(name, d)
	if err != nil {
		return err
	}
	commands = append(commands, declarations...)
	if len(commands) == 0 {
		return nil
	}
	if _, err = r.doAs("", name, commands...); codeOf(err) == amqp.CodeNotFound || codeOf(err) == amqp.CodeAccessRefused {
		var refused *amqp.Error
		errors.As(err, &refused)
		return badRequest("%s", refused.Text)
	}
	return plainly(err)
}

func (r *request) importLimits(name string, value json.RawMessage) error {
	var limits api.Limits
	if err := json.Unmarshal(value, &limits); err != nil {
		return badRequest("limits of virtual host '%s': %v", name, err)
	}
	for _, limit := range slices.Sorted(maps.Keys(limits)) {
		_, err := r.change(access.Command{Kind: access.SetVHostLimit, VHost: name, Name: limit, Limit: int64(limits[limit])})
		if err != nil {
			return plainly(err)
		}
	}
	return nil
}

// declarations make the exchanges and queues that are not there yet, and the bindings.
func (r *request) declarations(name string, d *api.VHostContents) ([]vhost.Command, error) {
	var commands []vhost.Command
	err := r.look(name, func(v *vhost.VHost) {
		for _, x := range d.Exchanges {
			if predeclared(x.Name) || v.Topology().Exchange(x.Name) != nil {
				continue
			}
			commands = append(commands, vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{
				Name: x.Name, Type: x.Type, Durable: bool(x.Durable), AutoDelete: bool(x.AutoDelete), Internal: bool(x.Internal),
				Arguments: amqp.Table(x.Arguments),
			}})
		}
		for _, q := range d.Queues {
			if _, exists := v.Topology().Queue(q.Name); exists || predeclared(q.Name) {
				continue
			}
			commands = append(commands, vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
				Name: q.Name, Durable: bool(q.Durable), AutoDelete: bool(q.AutoDelete), Arguments: typed(&q),
			}})
		}
	})
	for _, b := range d.Bindings {
		kind := vhost.BindQueue
		if b.DestinationType == toExchange {
			kind = vhost.BindExchange
		}
		commands = append(commands, vhost.Command{Kind: kind, Definition: &vhost.Definition{
			Source: b.Source, Name: b.Destination, RoutingKey: b.RoutingKey, Arguments: amqp.Table(b.Arguments),
		}})
	}
	return commands, err
}

// typed are a queue's arguments, with its type if that is another than the arguments, or their absence, say.
func typed(q *api.DefinedQueue) amqp.Table {
	arguments := amqp.Table(q.Arguments)
	if _, said := arguments.Get("x-queue-type"); said || q.Type == "" || q.Type == "classic" {
		return arguments
	}
	return append(slices.Clone(arguments), amqp.Field{Name: "x-queue-type", Value: amqp.String(q.Type)})
}
