#!/bin/sh
# Measures the memory and time that many idle queues take.
#
#   crowd.sh BINARY   declares queues in a fresh Bartleby and prints the table of crowds in README.md.
#
# COUNT (100000): number of durable queues. DATA (build/crowd/data) is the broker's directory, SERVE are more arguments for
# `bartleby serve`. BENCH_PORT (25860) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/crowd
data=${DATA:-$out/data}
serve=${SERVE:-}
port=${BENCH_PORT:-25860}
. "$root/bench/lib.sh"
prepare crowd

# crowd STEPS  does those steps with the broker that runs.
crowd() {
	"$out/crowd" -url "$url" -management "$management" -metrics "http://127.0.0.1:$((port + 2))" -pid "$pid" \
		-queues "${COUNT:-100000}" -do "$1"
}

# ms  the time, in ms.
ms() { echo $(($(date +%s%N) / 1000000)); }

start
crowd declare,ask,bind
stop
began=$(ms)
start
echo "| start again | $(($(ms) - began)) ms | $(awk '/VmRSS/ { print $2 }' "/proc/$pid/status") KiB resident |"
crowd ask,policy
stop
serve="$serve -vm_memory_high_watermark.absolute 512MB"
start
crowd consume,unread
stop
start
crowd consume,mixed
stop
start
crowd delete
