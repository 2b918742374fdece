// Package definitions exports and imports definitions. An import is checked as a whole before it changes anything, and
// goes on after a crash; see importer.
package definitions
