package command

import "fmt"

// Refuse says why there is no such thing here.
func Refuse(why string) func(*Call) error {
	return func(c *Call) error { return Failf(ExitUnavailable, "%s: %s", c.Command.Name, why) }
}

// Already succeeds: what is wanted is so.
func Already(message string) func(*Call) error {
	return func(c *Call) error { return c.Done(message, nil) }
}

// PrintTrue is for what is always so.
func PrintTrue(c *Call) error {
	fmt.Fprintln(c.Stdout, "true")
	return nil
}
