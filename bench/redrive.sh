#!/bin/sh
# Measures how fast jobs send letters back.
#
#   redrive.sh BINARY   fills a queue of a fresh Bartleby and prints the table of redrives in README.md.
#
# COUNT (1000000) messages of SIZE (1024) octets. DATA (build/redrive/data) is the broker's directory, SERVE are more
# arguments for `bartleby serve`. BENCH_PORT (25840) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
[ $# -eq 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 64; }
binary=$(CDPATH= cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
out=$root/build/redrive
data=${DATA:-$out/data}
serve=${SERVE:-}
port=${BENCH_PORT:-25840}
. "$root/bench/lib.sh"
trap stop EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$data"
mkdir -p "$data"
cd "$root"
go build -o "$out/redrive" ./bench/redrive
start
"$out/redrive" -url "$url" -management "$management" -count "${COUNT:-1000000}" -size "${SIZE:-1024}"
