package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"github.com/bartleby-mq/bartleby"
)

// Exit codes of check and repair; exitUsage stands beside them. Source: docs/repair.md.
const (
	exitSound   = 0 // sound, or repaired, and nothing is lost
	exitDamaged = 1 // check: damaged; repair: repaired, and something is lost
	exitBlind   = 2 // could not look, or could not repair
)

// check says what is in a stopped data directory, and what of it is damaged.
func check(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bartleby check", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print the report as JSON")
	data, code := directory(flags, args, stderr, "checks the data directory of a stopped broker for damage, without changing it")
	if data == "" {
		return code
	}
	return report(bartleby.Check, data, *asJSON, stdout, stderr)
}

// repair makes a sound data directory of a damaged one.
func repair(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bartleby repair", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print the report as JSON")
	dry := flags.Bool("dry-run", false, "show what would be done and lost, without changing anything")
	data, code := directory(flags, args, stderr, "repairs the damaged data directory of a stopped broker, and lists what is lost")
	if data == "" {
		return code
	}
	if *dry {
		return report(bartleby.Check, data, *asJSON, stdout, stderr)
	}
	return report(bartleby.Repair, data, *asJSON, stdout, stderr)
}

// directory parses the arguments of check and repair; without a directory the exit code counts.
func directory(flags *flag.FlagSet, args []string, stderr io.Writer, what string) (data string, code int) {
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "%s [options] DIR %s.\n", flags.Name(), what)
		flags.PrintDefaults()
		fmt.Fprintf(stderr, "Exit codes: %d no damage, or repaired without loss; %d damaged, or repaired with loss; %d failed.\n",
			exitSound, exitDamaged, exitBlind)
	}
	return oneDirectory(flags, args, stderr)
}

// report prints what look reports, and gives the exit code that it means.
func report(look func(string) (*bartleby.Report, error), data string, asJSON bool, stdout, stderr io.Writer) int {
	r, err := look(data)
	if err != nil {
		fmt.Fprintf(stderr, "bartleby: %v\n", err)
		return exitBlind
	}
	if asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.Print(stdout, data)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "bartleby: %v\n", err)
		return exitBlind
	case r.State == bartleby.Sound, r.State == bartleby.Repaired && r.Before.Losses() == 0:
		return exitSound
	case r.State == bartleby.Damaged && r.Before != nil:
		fmt.Fprintln(stderr, "bartleby: the data is still damaged after the repair; the original data is in the directory named above")
		return exitBlind
	}
	return exitDamaged
}
