#!/bin/sh
# Measures Bartleby beside rabbitmq-server, on this machine, in one run.
#
#   run.sh BINARY   runs every work of the table in README.md against a fresh Bartleby and a fresh rabbitmq-server in
#                   turn, keeps the reports as JSON under build/bench, and prints the table
#
# DURATION (8s) is the measured part of a work that goes on for a time, RUNS (1) how often each is done; the table shows medians.
# WORKS picks some, by the names in flags below.
# BENCH_PORT (25780) is the first of seven consecutive ports: three for Bartleby, four for rabbitmq-server.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/bench
duration=${DURATION:-8s}
runs=${RUNS:-1}
works=${WORKS:-16b 1k persistent dead-letter latency latency-persistent expire expire-window backlog}
port=${BENCH_PORT:-25780}
data=$out/data
serve=
. "$root/bench/lib.sh"
export RABBITMQ_PRIVATE_PORT=$((port + 3)) RABBITMQ_PRIVATE_DIR="$out/rabbitmq"
rabbitmq=$root/conformance/rabbitmq.sh

# flags prints what `bartleby perf` is called with for a work.
flags() {
	case $1 in
	16b) echo throughput -duration "$duration" -size 16 -ack auto ;;
	1k) echo throughput -duration "$duration" -size 1024 -ack 100 ;;
	persistent) echo throughput -duration "$duration" -size 1024 -persistent -confirms 1000 -ack 100 ;;
	dead-letter) echo dead-letter -duration "$duration" -size 1024 -reject 100 -ack 100 ;;
	latency) echo latency -duration "$duration" -rate 5000 -size 128 -ack auto ;;
	latency-persistent) echo latency -duration "$duration" -rate 5000 -size 1024 -persistent -confirms 1000 -ack 100 ;;
	expire) echo expire -count 100000 -size 128 -ttl 10s ;;
	expire-window) echo expire -count 50000 -size 128 -ttl 5s -window 10s ;;
	backlog) echo backlog -count 300000 -size 1024 ;;
	*)
		echo "run.sh: no work is called $1" >&2
		return 1
		;;
	esac
}

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
