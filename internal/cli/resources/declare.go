package resources

import (
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// argumentsOption reads the option --arguments.
func argumentsOption(c *command.Call) (arguments api.Arguments, err error) {
	text, ok := c.Options.Get("arguments")
	if !ok {
		return nil, nil
	}
	if err := api.Decode([]byte(text), &arguments); err != nil {
		return nil, command.Failf(command.ExitData, "the arguments are not a JSON object: %v%s", err, c.RepairHint(text))
	}
	return arguments, nil
}

// declare puts an object that is called as the first argument says.
func declare(c *command.Call, what, kind string, body any) error {
	name := c.Args[0]
	if plain, ok := strings.CutPrefix(name, "name="); ok {
		typed := c.Program + " " + c.Command.Name + " " + command.Quote(plain, c.Windows)
		return c.Invalid("'name=…' is the form of rabbitmqadmin. Type:\n  " + typed)
	}
	c.Banner("Declaring "+what+" '%s' in vhost '%s' ...", name, c.VHost())
	created, err := c.Client.Put(c.Ctx, body, kind, c.VHost(), name)
	switch {
	case command.Status(err) == http.StatusNotFound:
		return c.NoVHost(c.VHost())
	case err != nil:
		return err
	case !created:
		return c.Done("It exists already, with the same properties", nil)
	}
	return c.Done("", nil)
}

func declareQueue(c *command.Call) error {
	arguments, err := argumentsOption(c)
	if err != nil {
		return err
	}
	if kind, ok := c.Options.Get("type"); ok {
		arguments = arguments.With("x-queue-type", kind)
	}
	put := api.PutQueue{Durable: true, AutoDelete: api.Flag(c.Options.On("auto-delete")), Arguments: arguments}
	return declare(c, "queue", "queues", put)
}

func declareExchange(c *command.Call) error {
	arguments, err := argumentsOption(c)
	if err != nil {
		return err
	}
	kind := c.Options.Or("type", "direct")
	put := api.PutExchange{Type: &kind, Durable: true, AutoDelete: api.Flag(c.Options.On("auto-delete")), Arguments: arguments}
	put.Internal = api.Flag(c.Options.On("internal"))
	return declare(c, "exchange", "exchanges", put)
}

func declareBinding(c *command.Call) error {
	source, target := c.Args[0], c.Args[1]
	arguments, err := argumentsOption(c)
	if err != nil {
		return err
	}
	kind, code := "queue", "q"
	if c.Options.On("to-exchange") {
		kind, code = "exchange", "e"
	}
	c.Banner("Binding %s '%s' to exchange '%s' in vhost '%s' ...", kind, target, source, c.VHost())
	post := api.PostBinding{RoutingKey: c.Options.Or("routing-key", ""), Arguments: arguments}
	err = c.Client.Post(c.Ctx, post, nil, "bindings", c.VHost(), "e", source, code, target)
	if command.Status(err) == http.StatusNotFound {
		if command.Status(c.Client.Get(c.Ctx, nil, "exchanges", c.VHost(), source)) == http.StatusNotFound {
			target = source
		}
		return c.NoObject(target)
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}
