#!/bin/sh
# Compares this working tree with another revision, in alternate runs on this machine.
#
#   compare.sh REVISION   builds both and calls turns.sh, whose settings apply: DURATION, RUNS, WORKS, BENCH_PORT
set -eu

[ $# -eq 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 64; }
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
source=$root/build/compare
rm -rf "$source"
mkdir -p "$source"
cd "$root"
git archive "$1" | tar -x -C "$source"
# build DIRECTORY BINARY
build() {
	(cd "$1" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$2" ./cmd/bartleby)
}
build "$source" "$root/build/bartleby-base"
build "$root" "$root/build/bartleby-new"
rm -rf "$source"
BASE=$root/build/bartleby-base exec bench/turns.sh build/bartleby-new
