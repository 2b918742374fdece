package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
)

// readConfig sets the flags that a configuration file names and the command line did not: lines of
// 'key = value', # begins a comment. Source: reference configuration 2.
func readConfig(path string, flags *flag.FlagSet) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[setting(f.Name)] = true })
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		if !ok || flags.Lookup(key) == nil || key == "config" {
			return fmt.Errorf("configuration: %s:%d: unknown key %q", path, n, key)
		}
		if given[setting(key)] {
			continue
		}
		if err := flags.Set(key, value); err != nil {
			return fmt.Errorf("configuration: %s:%d: %s: %w", path, n, key, err)
		}
	}
	return lines.Err()
}
