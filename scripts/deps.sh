#!/bin/sh
# Lists the dependencies of the test suites besides Go and make, and installs missing ones.
#
#   deps.sh               for every suite
#   deps.sh unit lint     for these
#
# Debian packages need root, or sudo. Standard input is not read.
set -eu
exec </dev/null
cd "$(dirname -- "$0")/.."

# wants NAME tells whether a suite is among those asked for.
asked=$*
wants() {
	case " $asked " in "  " | *" $1 "*) return 0 ;; esac
	return 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

echo "deps: Go modules, as go.mod and go.sum pin them"
go mod download

if wants lint; then
	echo "deps: for lint: the modules that go mod tidy looks at, and what browser/deps.sh modules says"
	go mod tidy -diff >/dev/null || true # what it finds, the suite says
	browser/deps.sh modules
fi

if wants race; then
	echo "deps: for race: a C compiler, which Go's race detector needs: Debian packages gcc, libc6-dev"
	if command -v "${CC:-gcc}" >/dev/null 2>&1; then
		echo "deps: a C compiler is there"
	else
		as_root apt-get update -qq
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null
	fi
fi

if wants packages; then
	echo "deps: for packages: Kubernetes' types, as packaging/kubernetes/go.mod pins them"
	go -C packaging/kubernetes mod download
	echo "deps: for packages: dpkg-deb, unshare, and adduser, which the package depends on: Debian packages dpkg, util-linux, adduser"
	if command -v dpkg-deb >/dev/null && command -v unshare >/dev/null && [ -x /usr/sbin/adduser ]; then
		echo "deps: all of them are there"
	else
		as_root apt-get update -qq
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends dpkg util-linux adduser >/dev/null
	fi
fi

if wants interop; then
	echo "deps: for interop: what interop/deps.sh says"
	interop/deps.sh
fi

if wants interop-suites && [ -n "$asked" ]; then
	echo "deps: for interop-suites: what interop/deps.sh says of client-tests, Rust 1.94 or later with cargo, libssl-dev and pkg-config, which have to be there"
	interop/deps.sh client-tests
fi

if wants browser; then
	echo "deps: for browser: what browser/deps.sh says"
	browser/deps.sh
fi
