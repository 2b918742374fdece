// Package memory makes memory that is not cleared.
package memory

import (
	"strings"
	"unsafe"
)

// Uncleared returns n octets, at least 1, that may have any values: for memory of which each octet is written before it
// is read. Clearing 1 MiB takes as long as receiving it from a socket.
func Uncleared(n int) []byte {
	var b strings.Builder
	b.Grow(n) // the only way in the standard library to such memory
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)[:n:n]
}
