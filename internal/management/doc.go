// Package management is the server of the HTTP API: RabbitMQ's management API, our own additions under /api/x, the page
// that Prometheus reads, and the web console.
//
// It routes requests, signs users in, keeps the audit log and serves what concerns the node; the other endpoints are in
// the packages below it. It keeps RabbitMQ's status codes, error bodies and field types exactly, since strict clients
// decode them. It decides nothing: a change is a command to the engine with the caller's permissions, so that HTTP and
// AMQP have the same rules. The JSON shapes are those of package api.
//
// Invariants:
//   - a name in a path is one segment, percent-encoded, and may contain any character, '/' included;
//   - insufficient rights are 401, never 403, and an object that the caller may not see is 404;
//   - a response that reveals a change is sent when the change is safe, because the engine answers no earlier;
//   - no response waits for a slow client inside a virtual host's loop.
//
// Begin reading at Server.ServeHTTP, then web.Endpoint: what an endpoint declares, beside its handler.
package management
