//go:build !linux

package resource

func residentBytes() int64 { return 0 }

func memoryMax() int64 { return 0 }

func diskBytes(string) (free, size int64) { return -1, 0 }
