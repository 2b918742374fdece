// Package resource watches the memory and the disk of the machine that the broker runs on. A Monitor checks them from
// time to time and sets an alarm while one of them is short; publishers are blocked then. The package also keeps the
// garbage collector within the memory limit (collector.go).
package resource
