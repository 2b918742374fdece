// Package resources has the endpoints of RabbitMQ's resources: virtual hosts, users, permissions, policies, parameters,
// queues, exchanges, bindings, messages, connections, channels and consumers.
package resources
