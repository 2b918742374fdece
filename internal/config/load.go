package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sources say where to look.
type Sources struct {
	File string // the main file, which must be there; empty: the environment's, or the usual one
	// directories with NAME.conf, conf.d and advanced.config, if they are there; the last that is there counts
	Usual   []string
	Environ []string // NAME=value
	Options []Option // of the command line
}

// Option is a setting of the command line.
type Option struct{ Key, Value, Name string }

// Load reads all sources. The error lists every mistake, one on a line.
func Load(from Sources) (*Settings, error) {
	s := newSettings()
	env := newEnvironment(from.Environ)
	var all []assignment
	var mistakes []error
	s.readEnvFile(env, from.Usual)
	for _, name := range s.files(&from, env) {
		text, err := os.ReadFile(name.path)
		if errors.Is(err, fs.ErrNotExist) && !name.needed {
			s.note(slog.LevelWarn, "%s: file not found: %s", name.from, name.path)
			continue
		}
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		s.Files = append(s.Files, name.path)
		if filepath.Ext(name.path) == ".config" {
			mistakes = append(mistakes, refuseTerms(name.path, string(text)))
			continue
		}
		some, wrong := parseFile(name.path, string(text), env.look)
		all, mistakes = append(all, absoluteLast(some)...), append(mistakes, wrong...)
	}
	mistakes = append(mistakes, s.readAdvanced(env, from.Usual))
	some, wrong := env.assignments()
	all, mistakes = append(all, some...), append(mistakes, wrong...)
	s.Notes = append(s.Notes, env.notes...)
	var options []assignment
	for _, o := range from.Options {
		options = append(options, assign(o.Key, o.Value, "option --"+o.Name))
	}
	all = append(all, absoluteLast(options)...)
	err := errors.Join(append(mistakes, s.apply(all))...)
	if err = errors.Join(err, s.finish()); err != nil {
		return nil, err
	}
	s.complete()
	s.readPlugins(env, from.Usual)
	return s, nil
}

// Check reads one file alone, with the environment for what it names, and looks for the files that a broker would read
// when it starts.
func Check(path string, environ []string) (*Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := newSettings()
	s.Files = []string{path}
	env := newEnvironment(environ)
	all, wrong := parseFile(path, string(text), env.look)
	err = errors.Join(append(wrong, s.apply(absoluteLast(all)))...)
	if err = errors.Join(err, s.finish(), s.checkFiles()); err != nil {
		return nil, err
	}
	s.complete()
	return s, nil
}

// absoluteLast moves the absolute ones of thresholds behind the relative ones of the same source: they count.
// Source: RabbitMQ configure, vm_memory_high_watermark.
func absoluteLast(all []assignment) []assignment {
	rank := func(a assignment) int {
		if strings.HasSuffix(a.key, ".absolute") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b assignment) int { return rank(a) - rank(b) })
	return all
}

// source is a file to read.
type source struct {
	path, from string
	needed     bool
}

// files lists those to read, in the order in which they count.
func (s *Settings) files(from *Sources, env *environment) (all []source) {
	dir := usualDir(from.Usual)
	switch name, ok := env.look("RABBITMQ_CONFIG_FILE"); {
	case from.File != "":
		all = append(all, source{from.File, "option --config", true})
	case ok && name != "":
		if filepath.Ext(name) == "" {
			name += ".conf"
		}
		all = append(all, source{name, "environment RABBITMQ_CONFIG_FILE", false})
	case dir != "":
		all = append(all, existing(mainFile(dir))...)
	}
	parts, ok := env.look("RABBITMQ_CONFIG_FILES")
	switch {
	case ok && parts != "":
	case dir != "" && (from.File == "" || from.File == mainFile(dir)):
		parts = filepath.Join(dir, "conf.d")
	default:
		return all
	}
	if info, err := os.Stat(parts); err == nil && info.IsDir() {
		parts = filepath.Join(parts, "*.conf")
	}
	names, err := filepath.Glob(parts)
	if err != nil {
		s.note(slog.LevelWarn, "environment RABBITMQ_CONFIG_FILES: %q is not a file name pattern", parts)
	}
	slices.Sort(names)
	for _, name := range names {
		all = append(all, source{name, "conf.d", true})
	}
	return all
}

// usualDir is the last of the usual directories that is there, empty if none is.
func usualDir(dirs []string) string {
	for _, dir := range slices.Backward(dirs) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// mainFile is NAME.conf in the directory NAME.
func mainFile(dir string) string { return filepath.Join(dir, filepath.Base(dir)+".conf") }

func existing(path string) []source {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []source{{path, "default location", true}}
}

// readAdvanced refuses a file in Erlang's terms, unless there is nothing in it, and names the keys to write instead.
func (s *Settings) readAdvanced(env *environment, usual []string) error {
	path, ok := env.look("RABBITMQ_ADVANCED_CONFIG_FILE")
	if !ok || path == "" {
		dir := usualDir(usual)
		if dir == "" {
			return nil
		}
		path = filepath.Join(dir, "advanced.config")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		if ok && filepath.Ext(path) == "" {
			text, err = os.ReadFile(path + ".config")
		}
		if err != nil {
			return nil // as RabbitMQ does
		}
	}
	return refuseTerms(path, string(text))
}

// refuseTerms refuses Erlang's terms, unless there is nothing in them.
func refuseTerms(path, text string) error {
	var meaning strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "%")
		meaning.WriteString(line)
	}
	bare := strings.Join(strings.Fields(meaning.String()), "")
	if bare == "" || bare == "[]." {
		return nil
	}
	message := fmt.Sprintf("%s: Erlang terms are not supported: set the keys in the configuration file instead", path)
	if known := advancedKeys(bare); len(known) > 0 {
		message += " (" + strings.Join(known, "; ") + ")"
	}
	return errors.New(message)
}

// advancedNames are settings of advanced.config whose key has another name.
var advancedNames = map[string]string{
	"tcp_listeners": "listeners.tcp.default", "ssl_listeners": "listeners.ssl.default", "auth_mechanisms": "auth_mechanisms.1",
	"disk_free_limit": "disk_free_limit.absolute", "vm_memory_high_watermark": "vm_memory_high_watermark.relative",
	"ssl_options": "ssl_options.certfile", "loopback_users": "loopback_users.NAME", "max_message_size": "max_message_size",
}

// advancedKeys says how to write what is in the file.
func advancedKeys(bare string) (known []string) {
	for part := range strings.SplitSeq(bare, "{") {
		name, _, ok := strings.Cut(part, ",")
		if !ok {
			continue
		}
		key := advancedNames[name]
		if k, _ := find(name); key == "" && k != nil {
			key = name
		}
		if key != "" && !slices.Contains(known, name+": "+key) {
			known = append(known, name+": "+key)
		}
	}
	return known
}
