// Package schedule has the endpoints of scheduled messages, and of messages that wait in queues for their retry or
// delivery time: lists with filters, counts by due time, cancelling, rescheduling and sending at once.
package schedule
