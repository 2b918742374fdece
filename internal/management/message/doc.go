// Package message is how messages look in JSON: properties, payloads, and what a request publishes.
package message
