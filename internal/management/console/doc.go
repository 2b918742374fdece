// Package console serves the files of the web console, which is a client of the HTTP API and of nothing else. Its
// modules are in ui; ui/lib/README.md explains them.
package console
