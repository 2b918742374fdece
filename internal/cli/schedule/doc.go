// Package schedule has the commands about scheduled messages, and about messages that wait in queues.
package schedule
