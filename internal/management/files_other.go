//go:build !linux

package management

func readFiles() files { return files{} }

func contextSwitches() int64 { return 0 }

func processorSeconds() float64 { return 0 }
