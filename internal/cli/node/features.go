package node

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func flagColumns(*command.Call) []command.Column {
	return command.Same("name state stability provided_by desc doc_url")
}

func listFeatureFlags(c *command.Call) error {
	columns, err := c.Choose(flagColumns(c), "name state")
	if err != nil {
		return err
	}
	c.Banner("Listing feature flags ...")
	return c.List(columns, "feature-flags")
}

// enableFeatureFlag succeeds for flags that there are: all are enabled.
func enableFeatureFlag(c *command.Call) error {
	name := c.Args[0]
	if name == "all" {
		c.Banner("Enabling all feature flags ...")
	} else {
		c.Banner("Enabling feature flag \"%s\" ...", name)
	}
	var flags []api.FeatureFlag
	if err := c.Client.Get(c.Ctx, &flags, "feature-flags"); err != nil {
		return err
	}
	if name != "all" && !slices.ContainsFunc(flags, func(f api.FeatureFlag) bool { return f.Name == name }) {
		return command.Failf(command.ExitUsage, "Feature flag \"%s\" is not supported by this node", name)
	}
	return c.Done("", nil)
}

func listDeprecated(c *command.Call) error {
	path := []string{"deprecated-features"}
	if c.Options.On("used") {
		path = append(path, "used")
	}
	c.Banner("Listing deprecated features ...")
	return c.List(command.Same("name deprecation_phase provided_by desc doc_url")[:2], path...)
}
