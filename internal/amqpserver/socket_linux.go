package amqpserver

import (
	"syscall"
	"unsafe"
)

// canAskKernel says that receive and send work here.
const canAskKernel = true

// receive reads what is there, into p and then into q; EAGAIN if that is nothing. p is not empty.
func receive(fd uintptr, p, q []byte) (int, syscall.Errno) {
	if len(q) > 0 {
		return receiveInto(fd, [2][]byte{p, q})
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// receiveInto is receive of p and q. The socket does not block.
func receiveInto(fd uintptr, parts [2][]byte) (int, syscall.Errno) {
	var iov [2]syscall.Iovec
	for i, p := range parts {
		iov[i].Base = unsafe.SliceData(p)
		iov[i].SetLen(len(p))
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_READV, fd, uintptr(unsafe.Pointer(&iov)), uintptr(len(iov)))
	return int(n), errno
}

// send writes what the kernel takes; EAGAIN if that is nothing. p is not empty.
func send(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// tcpInfo is the beginning of struct tcp_info.
type tcpInfo struct {
	state      uint8 // tcpi_state
	_          [119]byte
	bytesAcked uint64 // tcpi_bytes_acked, Linux 4.1
}

// States of a connection that the other side has closed. Source: Linux, net/tcp_states.h.
const (
	tcpClose     = 7
	tcpCloseWait = 8
)

// read reports ok if the kernel tells all of it.
func (i *tcpInfo) read(fd uintptr) (ok bool) {
	size := uint32(unsafe.Sizeof(*i))
	_, _, errno := syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
		uintptr(unsafe.Pointer(i)), uintptr(unsafe.Pointer(&size)), 0)
	return errno == 0 && uintptr(size) >= unsafe.Sizeof(*i)
}

// acknowledged is how much the other side has confirmed; 0 if the kernel does not tell.
func acknowledged(fd uintptr) uint64 {
	var info tcpInfo
	if !info.read(fd) {
		return 0
	}
	return info.bytesAcked
}

// isHungUp reports whether the other side has closed, or reset, the connection.
func isHungUp(fd uintptr) bool {
	var info tcpInfo
	return info.read(fd) && (info.state == tcpClose || info.state == tcpCloseWait)
}
