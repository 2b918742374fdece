// Package fact is what the log of a virtual host consists of: facts, each true from the moment that it is applied, as
// values and as bytes; records, which are messages as they were published; and histories, which say where a message
// has died. It decides nothing. Source: docs/format/vhost.md.
package fact
