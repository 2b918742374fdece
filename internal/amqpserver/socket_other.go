//go:build !linux

package amqpserver

import "syscall"

// canAskKernel says that receive and send do not work here.
const canAskKernel = false

func receive(uintptr, []byte, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

func send(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

func acknowledged(uintptr) uint64 { return 0 }

func isHungUp(uintptr) bool { return false }
