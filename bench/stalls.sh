#!/bin/sh
# Measures the latency of messages in one queue while other clients purge, delete, close, commit, dead-letter and end.
#
#   stalls.sh BINARY   runs a fresh Bartleby and prints the table of stalls in README.md.
#
# BACKLOG (5000000), QUEUES (10000), COPIES (200000), UNACKED (200000) and ENDS (1000) are the sizes of these operations.
# DATA (build/stalls/data) is the broker's directory, SERVE are more arguments for `bartleby serve`.
# BENCH_PORT (25860) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/stalls
data=${DATA:-$out/data}
serve=${SERVE:-}
port=${BENCH_PORT:-25860}
. "$root/bench/lib.sh"
prepare stalls
start
"$out/stalls" -url "$url" -management "$management" -ends "${ENDS:-1000}" -backlog "${BACKLOG:-5000000}" \
	-queues "${QUEUES:-10000}" -copies "${COPIES:-200000}" -unacked "${UNACKED:-200000}"
