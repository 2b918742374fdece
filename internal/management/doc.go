// Package management is the HTTP door: RabbitMQ's management API, our own additions under /api/x, and the page
// that Prometheus scrapes.
//
// It owns routes, logins, tags, and how live state becomes JSON. It promises RabbitMQ's status codes, error bodies
// and field types to the letter, since strict clients decode them. It decides nothing: what changes goes to the
// engine as commands, with the caller's own permissions, so that HTTP and AMQP cannot disagree; the shapes are those
// of package api.
//
// Invariants:
//   - a name in a path is one segment, percent-encoded, and may hold anything, '/' included;
//   - insufficient rights are 401, never 403, and what a caller may not see is 404;
//   - an answer that reveals a change is sent when the change is safe, because the engine answers no earlier;
//   - no answer waits for a slow client inside a virtual host's loop.
//
// Begin reading at Server.ServeHTTP, then routes.go.
package management
