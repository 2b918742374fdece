package cli

import (
	"os"
	"slices"
	"strings"
)

// expandAlias puts the words that stand for an unknown command in the file of aliases in its place: lines of
// 'alias = command arguments', # begins a comment. Source: RabbitMQ rabbitmqctl(8), --aliases-file.
func (c *call) expandAlias(typed []string) ([]string, error) {
	file := c.words.or("aliases-file", c.env("RABBITMQ_CLI_ALIASES_FILE"))
	alias := c.words.args[0]
	if _, _, known := c.findTyped(c.words.args); file == "" || known || alias == "help" {
		return typed, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, failf(exitData, "cannot read the aliases: %v", err)
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
