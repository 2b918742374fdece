package command

import (
	"context"
	"io"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A Call is one command on its way: what was typed, where the broker is, where the output goes.
type Call struct {
	Program  string // the name it was called under
	Tool     Tool
	Command  Command
	Commands []Command // all there are
	Options  Options   // the options
	Typed    []string  // all of it
	Args     []string  // behind the command
	Timeout  time.Duration
	Windows  bool

	Ctx    context.Context
	Client *api.Client
	Node   string // as messages call it

	DataDirs []string // where a secret may lie if no data directory is named
	unread   error    // why one could not be read that is there, or nil
	kept     string   // the file that said where the broker is, "" if none did

	Stdin          io.Reader
	Stdout, Stderr io.Writer // that escape what controls a terminal
	Data           io.Writer // standard output as it is, for files that are written to it
	Env            func(string) string
}

// VHost is the virtual host that --vhost names, else the default one.
func (c *Call) VHost() string { return c.Options.Or("vhost", "/") }
