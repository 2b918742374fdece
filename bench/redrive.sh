#!/bin/sh
# Measures how fast jobs redrive dead letters.
#
#   redrive.sh BINARY   fills a queue of a fresh Bartleby and prints the table of redrives in README.md.
#
# COUNT (1000000) messages of SIZE (1024) bytes. DATA (build/redrive/data) is the broker's directory, SERVE are more
# arguments for `bartleby serve`. BENCH_PORT (25840) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/redrive
data=${DATA:-$out/data}
serve=${SERVE:-}
port=${BENCH_PORT:-25840}
. "$root/bench/lib.sh"
prepare redrive
start
"$out/redrive" -url "$url" -management "$management" -count "${COUNT:-1000000}" -size "${SIZE:-1024}"
