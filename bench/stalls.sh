#!/bin/sh
# Measures the latency of messages in one queue while other clients purge, delete, close, commit, dead-letter, end and
# redrive.
#
#   stalls.sh BINARY   runs a fresh Bartleby, twice, and prints the tables of stalls in README.md.
#
# BACKLOG (5000000), QUEUES (10000), COPIES (200000), UNACKED (200000), ENDS (1000) and LETTERS (256, of 15 MB) are the
# sizes of these operations. DATA (build/stalls/data) is the broker's directory, SERVE are more arguments for
# `bartleby serve`. BENCH_PORT (25860) is the first of three consecutive ports.
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
	-queues "${QUEUES:-10000}" -copies "${COPIES:-200000}" -unacked "${UNACKED:-200000}" || failed=1
stop
rm -rf "$data"
mkdir -p "$data"
serve="$serve -vm_memory_high_watermark.absolute 512MB"
start
"$out/stalls" -large -url "$url" -management "$management" -metrics "http://127.0.0.1:$((port + 2))" -pid "$pid" \
	-letters "${LETTERS:-256}" || failed=1
exit "$failed"
