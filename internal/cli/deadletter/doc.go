// Package deadletter has the commands about dead letters and lost letters: browse, search, groups, notes, redrive,
// edit, export, import.
package deadletter
