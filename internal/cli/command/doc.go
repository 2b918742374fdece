// Package command has what all commands share: a Command as a row of a table, and a Call, which is one command on its
// way: the options that were typed, the broker that is asked, columns, forms of output, and failures with their texts
// and exit codes. It knows no command.
package command
