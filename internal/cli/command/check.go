package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeoutMax is what a timeout of infinity, which RabbitMQ's tools take, comes to: ten years.
const timeoutMax = 10 * 366 * 24 * time.Hour

// Check refuses what is wrong with the words themselves.
func (c *Call) Check() error {
	c.Options.meant(c.Command.Takes)
	for _, name := range c.Options.order {
		if !IsGlobal(name) && !c.Command.Takes(name) {
			return c.Invalid("Invalid options for this command:\n--" + name + " : " + strings.TrimSuffix(c.Options.values[name], "true"))
		}
	}
	switch {
	case len(c.Args) < c.Command.Least:
		return c.TooFew()
	case c.Command.Most >= 0 && len(c.Args) > c.Command.Most:
		return c.tooMany()
	}
	if err := c.checkFormatter(); err != nil {
		return err
	}
	c.Timeout = c.Command.Patience
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if text, ok := c.Options.Get("timeout"); ok {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0) {
			return c.Invalid(fmt.Sprintf("the timeout '%s' is not a number of seconds", text))
		}
		c.Timeout = time.Duration(min(seconds, timeoutMax.Seconds()) * float64(time.Second))
	}
	return c.Connect()
}

// Run runs the command. What the broker refused becomes a Failure.
func (c *Call) Run() error {
	err := c.Command.Run(c)
	if errors.Is(err, context.DeadlineExceeded) {
		return c.timedOut()
	}
	return c.explain(err)
}

// TooFew refuses the arguments of a command that needs more of them.
func (c *Call) TooFew() error {
	hint := ""
	if c.Command.FewHint != nil {
		hint = c.Command.FewHint(c)
	}
	return c.Invalid("not enough arguments." + hint)
}

func (c *Call) tooMany() error {
	hint := ""
	if c.Command.ManyHint != nil {
		hint = c.Command.ManyHint(c)
	}
	return c.Invalid("too many arguments." + hint)
}
