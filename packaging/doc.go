// Package packaging tests what Bartleby is shipped as: the Debian packages and the container image are made, installed
// or unpacked, started, used, and removed again. Everything lives in test files.
//
//	go test ./packaging -args -make
//
// Root is needed, and nothing of the machine is touched: the tests run in namespaces of their own (mounts, network,
// processes), where the packages are installed over the machine's root directory and into memory. Without -make they
// stand aside.
package packaging
