#!/bin/sh
# Measures how long a message takes through one queue while others purge, delete, close, commit and die.
#
#   stalls.sh BINARY   runs a fresh Bartleby and prints the table of stalls in README.md.
#
# BACKLOG (5000000), QUEUES (10000), COPIES (200000), UNACKED (200000) say how much. DATA (build/stalls/data) is the broker's
# directory, SERVE are more arguments for `bartleby serve`. BENCH_PORT (25860) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/stalls
data=${DATA:-$out/data}
serve=${SERVE:-}
port=${BENCH_PORT:-25860}
. "$root/bench/lib.sh"
prepare stalls
start
"$out/stalls" -url "$url" -backlog "${BACKLOG:-5000000}" -queues "${QUEUES:-10000}" -copies "${COPIES:-200000}" \
	-unacked "${UNACKED:-200000}"
