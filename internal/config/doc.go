// Package config turns what operators write, files in rabbitmq.conf's syntax, environment variables, options of the
// command line, into what the broker and its log are told.
//
// It promises that every mistake is found before anything is started, all of them at once, each with its place and, for
// a name that does not exist, with the nearest that does; that what RabbitMQ knows and this broker does not need is
// accepted and mentioned; that what would silently not be done is refused or warned of; and that each setting can be
// shown with where it comes from. It leaves to package bartleby what the settings do.
//
// Later sources win:
//
//	defaults < main file < conf.d/*.conf < environment < command line
//
// Invariants:
//   - A setting that is read is in the table of keys, and nowhere else.
//   - Secrets are never shown.
//
// Begin reading at Load. Source: RabbitMQ configure.
package config
