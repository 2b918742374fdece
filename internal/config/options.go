package config

import (
	"flag"
	"strings"
)

// Options defines the options of the command line that set keys; what is given is appended to given. Beside them any
// key can be set: --set 'key=value'.
func Options(flags *flag.FlagSet, given *[]Option) {
	for i := range keys {
		k := &keys[i]
		if k.usage == "" {
			continue
		}
		take := func(value string) error {
			*given = append(*given, Option{k.name, value, k.name})
			return nil
		}
		if k.name == "test-clock" {
			flags.BoolFunc(k.name, k.usage, take)
			continue
		}
		flags.Func(k.name, k.usage, take)
	}
	flags.Func("set", "any `key=value` of the configuration file", func(text string) error {
		key, value, _ := strings.Cut(text, "=")
		*given = append(*given, Option{strings.TrimSpace(key), strings.TrimSpace(value), "set"})
		return nil
	})
}
