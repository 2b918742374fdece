package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// assignment is one "key = value" of a source.
type assignment struct {
	key, value string
	at         string // file:line, or what else it comes from
	joined     bool   // a # stands in the value without a blank before it, and without quotes
}

func assign(key, value, at string) assignment { return assignment{key: key, value: value, at: at} }

// parseFile reads the syntax of rabbitmq.conf:
//
//	# a comment
//	key.of.parts = value          # one more
//	quoted       = 'with # and blanks '
//	long         = begins \
//	               and goes on
//	secret       = $(NAME)        # the environment's, put in as text
//
// All mistakes are reported. Source: RabbitMQ configure, configuration file formats.
func parseFile(name, text string, env func(string) (string, bool)) (all []assignment, mistakes []error) {
	if !utf8.ValidString(text) {
		return nil, []error{fmt.Errorf("%s: not UTF-8 text", name)}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		at := fmt.Sprintf("%s:%d", name, i+1)
		line := lines[i]
		for i+1 < len(lines) && !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.HasSuffix(line, "\\") {
			i++
			line = strings.TrimRight(strings.TrimSuffix(line, "\\"), " \t") + " " + strings.TrimLeft(lines[i], " \t")
		}
		a, err := parseLine(line, env)
		switch {
		case err != nil:
			mistakes = append(mistakes, fmt.Errorf("%s: %w", at, err))
		case a.key != "":
			a.at = at
			all = append(all, a)
		}
	}
	return all, mistakes
}

// parseLine reads one line; nothing if there is nothing on it.
func parseLine(line string, env func(string) (string, bool)) (a assignment, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return a, nil
	}
	a.joined = joined(line)
	if line, err = expand(line, env); err != nil {
		return a, err
	}
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return a, fmt.Errorf("%q is not of the form 'key = value'", line)
	}
	a.key = strings.TrimSpace(key)
	if a.key == "" || strings.ContainsAny(a.key, " \t\"'") {
		return a, fmt.Errorf("%q is not a key", a.key)
	}
	if a.value, err = unquote(strings.TrimSpace(value)); err != nil {
		return a, fmt.Errorf("%s: %w", a.key, err)
	}
	return a, nil
}

// unquote takes comment and quotes off a value.
func unquote(value string) (string, error) {
	if value != "" && (value[0] == '\'' || value[0] == '"') {
		inside, after, closed := strings.Cut(value[1:], value[:1])
		after = strings.TrimSpace(after)
		if closed && (after == "" || after[0] == '#') {
			return inside, nil
		}
		if !closed {
			return "", fmt.Errorf("the quote %s is not closed", value[:1])
		}
	}
	for i := range len(value) {
		if value[i] == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t') {
			value = strings.TrimSpace(value[:i])
			break
		}
	}
	return value, nil
}

// joined reports whether a value has a # that begins no comment here, and does for RabbitMQ. What the environment puts
// in is not looked at.
func joined(line string) bool {
	_, value, _ := strings.Cut(line, "=")
	value = strings.TrimSpace(value)
	if value == "" || value[0] == '\'' || value[0] == '"' || value[0] == '#' {
		return false
	}
	at := strings.IndexByte(value, '#')
	return at > 0 && value[at-1] != ' ' && value[at-1] != '\t'
}

// expand puts the environment's values in the place of $(NAME).
func expand(line string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(line, "$(")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, ")")
		if !ok {
			return "", fmt.Errorf("$(%s: the parenthesis is not closed", rest)
		}
		value, set := env(name)
		if !set {
			return "", fmt.Errorf("$(%s): the environment variable is not set", name)
		}
		b.WriteString(value)
		line = after
	}
}
