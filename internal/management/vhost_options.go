package management

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// optionsOf is what was set in a virtual host; all of what is in force in it, if asked for. One that is down has none
// to show.
func (r *request) optionsOf(h *access.VHost, all bool) (api.Arguments, error) {
	var options amqp.Table
	if r.down(h.Name) {
		return nil, nil
	}
	err := r.look(h.Name, func(v *vhost.VHost) {
		if _, options = v.Options(); all {
			options = v.OptionValues()
		}
	})
	return api.Arguments(options), err
}

// getVHostOptions shows the options that were set, or with effective=true all.
func getVHostOptions(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	options, err := r.optionsOf(h, r.flag("effective"))
	if err != nil {
		return answer{}, err
	}
	return ok(options)
}

// setOptions changes the options of a virtual host. The tags were checked with the route; there is no other
// permission for it, as there is none for policies.
func (r *request) setOptions(options amqp.Table) (answer, error) {
	_, err := r.doAs(authz.Broker(), r.names[0], setOptions(options))
	if err != nil {
		return answer{}, plainly(err)
	}
	return nothing()
}

func setOptions(options amqp.Table) vhost.Command {
	return vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{Arguments: options}}
}

// putVHostOptions changes the options that the body names; null takes one back.
func putVHostOptions(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	var body api.Arguments
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	for _, f := range body {
		if err := knownOption(f.Name); err != nil {
			return answer{}, err
		}
	}
	return r.setOptions(amqp.Table(body))
}

// knownOption refuses a name that no option has.
func knownOption(name string) error {
	if names := vhost.OptionNames(); !slices.Contains(names, name) {
		return badRequest("'%s' is not an option of a virtual host: %s", name, strings.Join(names, ", "))
	}
	return nil
}

func deleteVHostOption(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	if err := knownOption(r.names[1]); err != nil {
		return answer{}, err
	}
	options, err := r.optionsOf(h, false)
	if err != nil {
		return answer{}, err
	}
	if _, set := amqp.Table(options).Get(r.names[1]); !set {
		return answer{}, errNotFound
	}
	return r.setOptions(amqp.Table{{Name: r.names[1], Value: amqp.Void()}})
}

// replaceOptions is the command that sets options and takes all others back, as an import does with parameters.
func replaceOptions(value json.RawMessage) (vhost.Command, error) {
	var given api.Arguments
	if err := json.Unmarshal(value, &given); err != nil {
		return vhost.Command{}, badRequest("options of a virtual host: %v", err)
	}
	options := amqp.Table(given)
	for _, name := range vhost.OptionNames() {
		if _, set := options.Get(name); !set {
			options = append(options, amqp.Field{Name: name, Value: amqp.Void()})
		}
	}
	return setOptions(options), nil
}
