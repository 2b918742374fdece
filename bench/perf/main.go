// Command perf is `bartleby perf` alone, for work on the load generator while the broker does not build.
package main

import (
	"os"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

func main() { os.Exit(perf.Main(os.Args[1:], os.Stdout, os.Stderr)) }
