package perf

import (
	"flag"
	"time"

	"github.com/bartleby-mq/bartleby/internal/duration"
)

// lasting is a duration as a flag, with the units that durations have everywhere.
type lasting time.Duration

func (d *lasting) String() string { return time.Duration(*d).String() }

func (d *lasting) Set(text string) error {
	n, err := duration.Nanoseconds(text)
	if err == nil {
		*d = lasting(n)
	}
	return err
}

// durationVar declares a flag that is a duration.
func durationVar(f *flag.FlagSet, to *time.Duration, name string, normal time.Duration, usage string) {
	*to = normal
	f.Var((*lasting)(to), name, usage)
}
