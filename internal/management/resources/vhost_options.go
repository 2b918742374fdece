package resources

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func vhostOptionEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/options/{vhost}", Tag: authz.Management, Serve: getVHostOptions, Scope: web.Leader,
			Summary: "Options of a virtual host that were set; effective=true includes defaults", Out: api.Arguments{},
		},
		{
			Pattern: "PUT x/options/{vhost}", Tag: authz.Policymaker, Serve: putVHostOptions, Scope: web.Leader,
			Summary: "Sets options of a virtual host", In: api.Arguments{},
		},
		{
			Pattern: "DELETE x/options/{vhost}/{option}", Tag: authz.Policymaker, Serve: deleteVHostOption, Scope: web.Leader,
			Summary: "Resets an option to its default",
		},
	}
}

// optionsOf is what was set in a virtual host; all of what is in force in it, if asked for. One that is down has none
// to show.
func optionsOf(r *web.Request, h *accounts.VHost, all bool) (api.Arguments, error) {
	var options amqp.Table
	if r.IsDown(h.Name) {
		return nil, nil
	}
	err := r.Look(h.Name, func(v vhost.Reader) {
		if _, options = v.Options(); all {
			options = v.OptionValues()
		}
	})
	return api.Arguments(options), err
}

// getVHostOptions shows the options that were set, or with effective=true all.
func getVHostOptions(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	options, err := optionsOf(r, h, r.Flag("effective"))
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(options)
}

// setOptions changes the options of a virtual host. The tags were checked with the route; there is no other
// permission for it, as there is none for policies.
func putOptions(r *web.Request, options amqp.Table) (web.Answer, error) {
	_, err := r.DoAs(authz.Broker(), r.PathValue("vhost"), SetOptions(options))
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.NoContent()
}

func SetOptions(options amqp.Table) vhost.Command {
	return vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{Arguments: options}}
}

// putVHostOptions changes the options that the body names; null takes one back.
func putVHostOptions(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	var body api.Arguments
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	for _, f := range body {
		if err := knownOption(f.Name); err != nil {
			return web.Answer{}, err
		}
	}
	return putOptions(r, amqp.Table(body))
}

// knownOption refuses a name that no option has.
func knownOption(name string) error {
	if names := settings.OptionNames(); !slices.Contains(names, name) {
		return web.BadRequest("'%s' is not an option of a virtual host: %s", name, strings.Join(names, ", "))
	}
	return nil
}

func deleteVHostOption(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	if err := knownOption(r.PathValue("option")); err != nil {
		return web.Answer{}, err
	}
	options, err := optionsOf(r, h, false)
	if err != nil {
		return web.Answer{}, err
	}
	if _, set := amqp.Table(options).Get(r.PathValue("option")); !set {
		return web.Answer{}, web.ErrNotFound
	}
	return putOptions(r, amqp.Table{{Name: r.PathValue("option"), Value: amqp.Void()}})
}

// ReplaceOptions is the command that sets options and takes all others back, as an import does with parameters.
func ReplaceOptions(value json.RawMessage) (vhost.Command, error) {
	var given api.Arguments
	if err := json.Unmarshal(value, &given); err != nil {
		return vhost.Command{}, web.BadRequest("options of a virtual host: %v", err)
	}
	var options amqp.Table
	for _, name := range settings.OptionNames() { // of an option with several entries, the old ones go first
		options = append(options, amqp.Field{Name: name, Value: amqp.Void()})
	}
	return SetOptions(append(options, given...)), nil
}
