#!/bin/sh
# Measures how the cost of a message grows with its size, with queues, connections, waiting messages.
#
#   curves.sh BINARY   runs every point of the curves in docs/performance.md with a new Bartleby, stores the reports as
#                      JSON under build/curves, and prints a table of each curve
#
# DURATION (3s): measured time of a point. RUNS (1): how often each point runs; the tables show medians.
# CURVES selects curves: size, persistent-size, queues, pairs, own-queues, waiting, expired, rejected.
# BENCH_PORT (25850) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/curves
duration=${DURATION:-3s}
runs=${RUNS:-1}
curves=${CURVES:-size persistent-size queues pairs own-queues waiting expired rejected}
port=${BENCH_PORT:-25850}
data=$out/data
serve=
. "$root/bench/lib.sh"

trap stop EXIT
trap 'exit 130' INT TERM

# points prints the values of a curve.
points() {
	case $1 in
	size) echo 16 128 1024 16384 262144 1048576 ;;
	persistent-size) echo 128 1024 16384 262144 ;;
	queues) echo 1 10 100 1000 ;;
	pairs | own-queues) echo 1 2 4 8 ;;
	waiting) echo 0 100000 1000000 ;;
	expired | rejected) echo 10000 100000 500000 ;;
	*)
		echo "curves.sh: no curve is called $1" >&2
		return 1
		;;
	esac
}

# point CURVE VALUE prints what `bartleby perf` is called with.
point() {
	case $1 in
	size) echo throughput -duration "$duration" -size "$2" -ack 100 ;;
	persistent-size) echo throughput -duration "$duration" -size "$2" -persistent -confirms 1000 -ack 100 ;;
	queues) echo throughput -duration "$duration" -size 128 -queues "$2" -ack 100 ;;
	pairs) echo throughput -duration "$duration" -size 128 -publishers "$2" -consumers "$2" -ack 100 ;;
	own-queues) echo throughput -duration "$duration" -size 128 -queues "$2" -publishers "$2" -consumers "$2" -ack 100 ;;
	waiting)
		others="-waiting $2 -management $management"
		[ "$2" -gt 0 ] || others=
		echo delay -rate 10000 -count 50000 -delay-min 1s -delay-max 3s -size 128 "$others"
		;;
	expired) echo expire -count "$2" -size 1024 -persistent -ttl 6s -stored ;;
	rejected) echo dead-letter -count "$2" -size 1024 -persistent -full -reject 100 ;;
	esac
}

mkdir -p "$out"
rm -f "$out"/*.json
for curve in $curves; do points "$curve" >/dev/null; done
run=1
while [ "$run" -le "$runs" ]; do
	for curve in $curves; do
		for value in $(points "$curve"); do
			rm -rf "$data"
			start
			# shellcheck disable=SC2046 # the flags are words
			perf "$out/$curve.$value.$run.json" $(point "$curve" "$value") -url "$url" -pid "$pid"
			stop
		done
		echo "curves.sh: $curve done ($run of $runs)" >&2
	done
	run=$((run + 1))
done
cd "$root" && go run ./bench/table curves "$out"
exit "$failed"
