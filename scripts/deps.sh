#!/bin/sh
# Says what the test suites need on this machine beyond Go and make, and installs what is missing.
#
#   deps.sh               for every suite
#   deps.sh unit lint     for these; -NAME leaves one out
#
# Debian packages need root, or sudo. Standard input is not read.
set -eu
exec </dev/null
cd "$(dirname -- "$0")/.."

# wants NAME... tells whether one of the suites is among those asked for. With no names, or only names to leave out,
# everything else is asked for.
asked=$*
wants() {
	for name; do
		case " $asked " in *" -$name "*) continue ;; esac
		case " $asked " in *" $name "*) return 0 ;; esac
		named=no
		for word in $asked; do
			case $word in -*) ;; *) named=yes ;; esac
		done
		[ $named = no ] && return 0
	done
	return 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# debian PACKAGE... installs those that dpkg does not know.
debian() {
	missing=
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
	done
	if [ -z "$missing" ]; then
		echo "deps: already there"
		return
	fi
	echo "deps: installing$missing"
	as_root apt-get update -qq
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

echo "deps: Go modules, as go.mod and go.sum pin them"
go mod download

if wants race && ! command -v "${CC:-gcc}" >/dev/null 2>&1; then
	echo "deps: for race: a C compiler, which Go's race detector needs: Debian packages gcc, libc6-dev"
	debian gcc libc6-dev
fi

if wants interop; then
	echo "deps: for interop: what interop/deps.sh says"
	interop/deps.sh
fi
