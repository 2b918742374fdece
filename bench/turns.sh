#!/bin/sh
# Compares two builds of Bartleby in alternate runs on this machine: the effect of a change.
#
#   BASE=FILE turns.sh BINARY   runs every workload of the table in README.md alternately with BASE and BINARY, stores the
#                               reports as JSON under build/turns, and prints the figures of BINARY divided by those of
#                               BASE, with the least and the largest ratio of two runs. BINARY makes the load of both
#
# DURATION (3s): measured time of a workload with a duration. RUNS (5): how often each runs; the table shows medians.
# WORKS selects workloads, by the names in lib.sh.
# BENCH_PORT (25880) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/turns
duration=${DURATION:-3s}
runs=${RUNS:-5}
port=${BENCH_PORT:-25880}
data=$out/data
serve=
. "$root/bench/lib.sh"
base=$(CDPATH= cd -- "$(dirname -- "${BASE:?is the binary to compare with}")" && pwd)/$(basename -- "$BASE")
new=$binary
generator=$new

trap stop EXIT
trap 'exit 130' INT TERM

# measure WORK RUN SIDE BINARY
measure() {
	binary=$4
	rm -rf "$data"
	start
	# shellcheck disable=SC2046 # the flags are words
	perf "$out/$1.$3.$2.json" $(flags "$1") -url "$url" -pid "$pid"
	stop
}

mkdir -p "$out"
rm -f "$out"/*.json
for work in $works; do flags "$work" >/dev/null; done
run=1
while [ "$run" -le "$runs" ]; do
	for work in $works; do
		measure "$work" "$run" base "$base"
		measure "$work" "$run" new "$new"
		echo "turns.sh: $work done ($run of $runs)" >&2
	done
	run=$((run + 1))
done
cd "$root" && go run ./bench/table turns "$out"
exit "$failed"
