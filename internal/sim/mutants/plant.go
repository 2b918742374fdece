package main

import "github.com/bartleby-mq/bartleby/internal/sim"

// plant has a simulation commit a fault. The build of the faults has another one; in this one there are none.
func plant(*sim.Options, string) { panic("this is not the build of the faults") }
