#!/bin/sh
# Measures backlogs, disk space, restart, writes, declarations, and idle connections.
#
#   storage.sh BINARY   runs every workload of the storage table in README.md with a new Bartleby, stores the reports as
#                       JSON under build/storage, and prints the table; its first row is the disk itself
#
# Sizes: MESSAGES (20000000) of a backlog, KEPT (10000000) over a restart, LIVE (1000000) messages settled at random,
# HALVED (2000000), DURATION (60s) of workloads with a duration, RATE (20000) per second of workloads with a rate.
# RUNS (1): how often each workload runs; the table shows medians. WORKS selects workloads, by the names in flags below.
# DATA (build/storage/data) is the broker's directory: its disk is the one that is measured. SERVE are more arguments for
# `bartleby serve`. BENCH_PORT (25790) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/storage
data=${DATA:-$out/data}
messages=${MESSAGES:-20000000}
kept=${KEPT:-10000000}
live=${LIVE:-1000000}
halved=${HALVED:-2000000}
duration=${DURATION:-60s}
rate=${RATE:-20000}
runs=${RUNS:-1}
works=${WORKS:-disk write-1k write-128 backlog backlog-queues backlog-transient backlog-priorities backlog-ttl backlog-max settle settle-paced paced halve restart restart-cold declare idle idle-bare idle-burst}
serve=${SERVE:-}
port=${BENCH_PORT:-25790}
. "$root/bench/lib.sh"

# flags prints what `bartleby perf` is called with for a work.
flags() {
	fill="backlog -size 128 -count $messages -confirms 1000 -short 10s -drain 1m"
	case $1 in
	disk) echo disk -data "$data" ;;
	write-1k) echo throughput -persistent -size 1024 -confirms 1000 -ack 100 -duration "$duration" ;;
	write-128) echo throughput -persistent -size 128 -confirms 1000 -ack 100 -duration "$duration" ;;
	backlog) echo "$fill" -persistent ;;
	backlog-queues) echo "$fill" -persistent -queues 1000 -publishers 2 -consumers 2 -prefetch 20 -ack 10 ;; # 20 for each of 1,000 consumers
	backlog-transient) echo "$fill" ;;
	backlog-priorities) echo "$fill" -persistent -priorities 9 ;;
	backlog-ttl) echo "$fill" -persistent -ttl 24h -window 240h ;;
	backlog-max) echo "$fill" -persistent -max-length $((messages / 10)) ;;
	settle) echo settle -persistent -data "$data" -live "$live" -duration "$duration" -drain 1m ;;
	settle-paced) echo settle -persistent -data "$data" -live "$live" -duration "$duration" -rate "$rate" -drain 1m ;;
	paced) echo latency -persistent -size 1024 -confirms 1000 -ack 1 -duration "$duration" -rate "$rate" ;;
	halve) echo halve -persistent -data "$data" -live "$halved" -calm 2m -drain 1m ;;
	restart) echo restart -data "$data" -count "$kept" -runs 5 -drain 1m ;;
	restart-cold) echo restart -data "$data" -count "$kept" -runs 5 -drain 1m -cold ;;
	declare) echo declare ;;
	idle) echo idle ;;
	idle-bare) echo idle -channels 0 ;;
	idle-burst) echo idle -burst 1000 ;;
	*)
		echo "storage.sh: no work is called $1" >&2
		return 1
		;;
	esac
}

# measure WORK RUN, with a broker of its own, except for works that start theirs or need none
measure() {
	rm -rf "$data"
	mkdir -p "$data"
	case $1 in
	disk) set -- "$1" "$2" ;;
	restart | restart-cold) set -- "$1" "$2" -binary "$binary" -serve "$serve" ;;
	*)
		start
		set -- "$1" "$2" -url "$url" -pid "$pid"
		;;
	esac
	work=$1 run=$2
	shift 2
	# shellcheck disable=SC2046 # the flags are words
	perf "$out/$work.bartleby.$run.json" $(flags "$work") "$@"
	stop
	echo "storage.sh: $work done ($run of $runs)" >&2
}

mkdir -p "$out"
rm -f "$out"/*.json
for work in $works; do flags "$work" >/dev/null; done
if [ -e "$data" ] && [ -n "$(ls -A "$data")" ]; then
	echo "storage.sh: $data is not empty, and would be removed" >&2
	exit 64
fi
trap 'stop; rm -rf "$data"' EXIT
trap 'exit 130' INT TERM
round=1
while [ "$round" -le "$runs" ]; do
	for one in $works; do
		measure "$one" "$round"
	done
	round=$((round + 1))
done
cd "$root" && go run ./bench/table storage "$out"
exit "$failed"
