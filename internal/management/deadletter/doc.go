// Package deadletter has the endpoints of dead letters: looking at queues, search and groups, notes, redrive and
// discard jobs with their dry runs, editing, export and import, and the lost letters that no queue took.
package deadletter
