//go:build !linux

package bartleby

func filesMax() int { return filesUnknown }
