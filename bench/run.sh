#!/bin/sh
# Compares Bartleby with rabbitmq-server on this machine, in one run.
#
#   run.sh BINARY   runs every workload of the table in README.md, with a new Bartleby and then with a new
#                   rabbitmq-server, stores the reports as JSON under build/bench, and prints the table
#
# DURATION (8s): measured time of a workload with a duration. RUNS (1): how often each runs; the table shows medians.
# WORKS selects workloads, by the names in lib.sh.
# BENCH_PORT (25780) is the first of seven consecutive ports: three for Bartleby, four for rabbitmq-server.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/bench
duration=${DURATION:-8s}
runs=${RUNS:-1}
port=${BENCH_PORT:-25780}
data=$out/data
serve=
. "$root/bench/lib.sh"
export RABBITMQ_PRIVATE_PORT=$((port + 3)) RABBITMQ_PRIVATE_DIR="$out/rabbitmq"
rabbitmq=$root/conformance/rabbitmq.sh

trap 'stop; "$rabbitmq" stop' EXIT
trap 'exit 130' INT TERM

# measure WORK RUN BROKER URL PID
measure() {
	# shellcheck disable=SC2046 # the flags are words
	perf "$out/$1.$3.$2.json" $(flags "$1") -url "$4" -pid "$5"
	echo "run.sh: $1 on $3 done ($2 of $runs)" >&2
}

mkdir -p "$out"
rm -f "$out"/*.json
for work in $works; do flags "$work" >/dev/null; done
run=1
while [ "$run" -le "$runs" ]; do
	for work in $works; do
		rm -rf "$data"
		start
		measure "$work" "$run" bartleby "$url" "$pid"
		stop
		"$rabbitmq" start >&2
		measure "$work" "$run" rabbitmq "$("$rabbitmq" url)" "$("$rabbitmq" pid)"
		"$rabbitmq" stop
	done
	run=$((run + 1))
done
cd "$root" && go run ./bench/table run "$out"
exit "$failed"
