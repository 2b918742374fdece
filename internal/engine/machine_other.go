//go:build !linux

package engine

func residentBytes() int64 { return 0 }

func memoryMax() int64 { return 0 }

func freeBytes(string) int64 { return -1 }
