package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/sim"
)

// hunt says how faults are looked for.
type hunt struct {
	seeds   uint64
	verbose bool
	built   string // the directory of what was built with faults
}

// testLimit ends a test that goes on for ever with a fault: then it has not noticed it.
const testLimit = 3 * time.Minute

// run has a check look for a fault.
func (h *hunt) run(name string, c *check) (line string, caught bool) {
	if c.pkg != "" {
		return h.fail(name, c)
	}
	return h.simulate(name, c)
}

// simulate runs simulations with the fault planted, a seed each, until the checker notices it.
func (h *hunt) simulate(name string, c *check) (line string, caught bool) {
	others, panics := map[sim.Checker]int{}, 0
	for seed := range h.seeds {
		o := c.options
		o.Seed += seed
		plant(&o, name)
		err := live(o)
		var v *sim.Violation
		if !errors.As(err, &v) {
			if err != nil {
				panics++
			}
			continue
		}
		if v.Checker == c.checker {
			line = fmt.Sprintf("caught    %-58s by %s, seed %d", name, v.Checker, o.Seed)
			if h.verbose {
				line += ", step " + fmt.Sprint(v.Step) + ": " + v.What
			}
			return line, true
		}
		others[v.Checker]++
	}
	line = fmt.Sprintf("SURVIVED  %-58s %s noticed nothing in %d seeds; others did: %v; %d panics",
		name, c.checker, h.seeds, others, panics)
	return line, false
}

// live lives a life. With a fault the machine may panic: then the life has ended, and no checker has noticed it.
func live(o sim.Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = sim.Run(o)
	return err
}

// fail runs the test with the fault in everything that it makes: it must fail for the reason that is expected.
func (h *hunt) fail(name string, c *check) (line string, caught bool) {
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	run := exec.CommandContext(ctx, testOf(h.built, c.pkg), append([]string{"-test.run", "^" + c.test + "$"}, c.args...)...)
	run.Dir = c.pkg
	run.Env = append(os.Environ(), variable+"="+name, "GOMAXPROCS=1")
	out, err := run.CombinedOutput()
	_, said, failed := strings.Cut(string(out), "--- FAIL: "+c.test+" ")
	if !failed || ctx.Err() != nil || !strings.Contains(said, c.says) {
		return fmt.Sprintf("SURVIVED  %-58s %s did not fail with %q: %v %s", name, c.test, c.says, err, said), false
	}
	line = fmt.Sprintf("caught    %-58s by %s", name, c.test)
	if h.verbose {
		line += ": " + said
	}
	return line, true
}
