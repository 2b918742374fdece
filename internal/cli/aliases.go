package cli

import (
	"os"
	"slices"
	"strings"
)

// expandAlias puts the words that stand for the command in the file of aliases in its place: lines of
// 'alias = command arguments', # begins a comment. Source: RabbitMQ rabbitmqctl(8), --aliases-file.
func (c *call) expandAlias(typed []string) (expanded []string, ok bool, err error) {
	file := c.words.or("aliases-file", c.env("RABBITMQ_CLI_ALIASES_FILE"))
	if file == "" {
		return nil, false, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, false, failf(exitData, "the aliases could not be read: %v", err)
	}
	at := slices.Index(typed, c.words.args[0])
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		name, meaning, _ := strings.Cut(line, "=")
		if words := strings.Fields(meaning); strings.TrimSpace(name) == c.words.args[0] && len(words) > 0 {
			return slices.Concat(typed[:at], words, typed[at+1:]), true, nil
		}
	}
	return nil, false, nil
}
