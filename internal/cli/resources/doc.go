// Package resources has the commands about what RabbitMQ has too: users, permissions, virtual hosts, limits, queues,
// exchanges, bindings, connections, definitions.
package resources
