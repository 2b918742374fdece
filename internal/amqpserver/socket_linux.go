package amqpserver

import (
	"syscall"
	"unsafe"
)

// canAskKernel says that receive and send work here.
const canAskKernel = true

// receive reads what is there; EAGAIN if that is nothing. p is not empty.
func receive(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// send writes what the kernel takes; EAGAIN if that is nothing. p is not empty.
func send(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// acknowledged reads tcpi_bytes_acked of struct tcp_info (Linux 4.1); 0 if the kernel has none.
func acknowledged(fd uintptr) uint64 {
	const end = 128 // of tcpi_bytes_acked
	var info [end / 8]uint64
	size := uint32(end)
	_, _, errno := syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < end {
		return 0
	}
	return info[end/8-1]
}
