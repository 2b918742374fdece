// Package node has the commands about the broker itself: start and stop, state, health checks, alarms and limits,
// clock, storage, backup, logs, plugins, the report for support; and RabbitMQ's commands for clusters and upgrades.
package node
