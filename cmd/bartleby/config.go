package main

import (
	"fmt"
	"io"
	"os"

	"github.com/bartleby-mq/bartleby/internal/config"
	"github.com/bartleby-mq/bartleby/internal/logging"
)

const configUsage = `Usage:
  bartleby config check FILE…       check configuration files and list keys without effect
  bartleby config show [options]    print the effective configuration of 'bartleby serve' with these options, and its sources
`

// configCommand looks at the configuration without a broker.
func configCommand(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) > 1 && args[0] == "check":
		return checkConfig(args[1:], stdout, stderr)
	case len(args) > 0 && args[0] == "show":
		settings, code := configure("", args[1:], stderr)
		if settings != nil {
			tellNotes(settings, stderr)
			fmt.Fprint(stdout, settings.Text())
		}
		return code
	case len(args) > 0 && (args[0] == "--help" || args[0] == "help" || args[0] == "-h"):
		fmt.Fprint(stdout, configUsage)
		return 0
	}
	fmt.Fprint(stderr, configUsage)
	return exitUsage
}

func checkConfig(files []string, stdout, stderr io.Writer) (code int) {
	for _, file := range files {
		settings, err := config.Check(file, os.Environ())
		if err != nil {
			complain(stderr, err)
			code = exitConfig
			continue
		}
		tellNotes(settings, stderr)
		fmt.Fprintf(stdout, "%s is valid\n", file)
	}
	return code
}

func tellNotes(s *config.Settings, to io.Writer) {
	for _, n := range s.Notes {
		fmt.Fprintf(to, "%s: %s\n", logging.LevelName(n.Level), n.Text)
	}
}
