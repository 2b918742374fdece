// Package cli is the command line of an administrator: the commands of rabbitmqctl and its sisters under their names,
// arguments, output and exit codes, so that scripts, images and fingers that know them keep working.
//
// It asks the broker over the management API and owns no rule: what a policy may contain or who may do what is
// decided there, and its reasons are shown as they come. There are two exceptions: check_port_connectivity opens and
// closes a connection to each listener, because that is what it is for, and stop sends a signal to a broker of this
// machine that knows the secret of its data directory.
//
// The words are parsed by a table of its own instead of a library, since RabbitMQ's tools have habits that none has:
// options anywhere among the arguments, underscores and dashes alike, one set of global options for every command,
// and fixed texts and exit codes for each mistake.
//
// Invariants:
//   - Results go to stdout, errors to stderr; an exit code other than 0 comes with a text on stderr,
//     but for a failed check under --silent.
//   - With a machine-readable formatter, stdout holds nothing else.
//   - What is under the name of rabbitmqadmin keeps to that tool's ways instead, in the package of that name.
//   - The secret of a data directory is sent to this machine only.
//
// The packages below have the commands, by what they are about; each has its table in commands.go. They know package
// command, and not each other, but that stop_app of node closes connections as resources does.
//
// Begin with Main in main.go, then commands.go, which lists all commands.
package cli
