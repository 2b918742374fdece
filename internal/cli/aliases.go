package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// expandAlias puts the words that stand for an unknown command in the file of aliases in its place: lines of
// 'alias = command arguments', # begins a comment. Source: RabbitMQ rabbitmqctl(8), --aliases-file.
func expandAlias(c *command.Call, typed []string) ([]string, error) {
	file := c.Options.Or("aliases-file", c.Env("RABBITMQ_CLI_ALIASES_FILE"))
	alias := c.Options.Args[0]
	if _, _, known := findTyped(c, c.Options.Args); file == "" || known || alias == "help" {
		return typed, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, command.Failf(command.ExitData, "cannot read the aliases: %v", err)
	}
	at := slices.Index(typed, alias)
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		name, meaning, _ := strings.Cut(line, "=")
		if words := strings.Fields(meaning); strings.TrimSpace(name) == alias && len(words) > 0 {
			return slices.Concat(typed[:at], words, typed[at+1:]), nil
		}
	}
	return typed, nil
}
