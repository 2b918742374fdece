#!/bin/sh
# Measures the lateness of expiry and of delayed exchanges, and the cost of many waiting messages.
#
#   time.sh BINARY   runs every workload of the table Time in README.md with a new Bartleby, those of expiry also with a
#                    new rabbitmq-server, stores the reports as JSON under build/time, and prints the table.
#                    rabbitmq-server needs a plugin for delayed exchanges that no distribution ships.
#
# Sizes: EXPIRING (500000) messages that expire at once, DELAYED (100000) at random at RATE (20000) a second, DUE (1000000)
# within some time or one second, WAITING (10000000) all the while.
# RUNS (1): how often each workload runs; the table shows medians. WORKS selects workloads, by the names in flags below.
# DATA (build/time/data) is the broker's directory, and SERVE are more arguments for `bartleby serve`.
# BENCH_PORT (25800) is the first of eight consecutive ports: three for Bartleby, five for rabbitmq-server.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/time
data=${DATA:-$out/data}
expiring=${EXPIRING:-500000}
delayed=${DELAYED:-100000}
rate=${RATE:-20000}
due=${DUE:-1000000}
waiting=${WAITING:-10000000}
runs=${RUNS:-1}
works=${WORKS:-head expire-once delay-random delay-due delay-second waiting first-fire}
serve=${SERVE:-}
port=${BENCH_PORT:-25800}
. "$root/bench/lib.sh"
export RABBITMQ_PRIVATE_PORT=$((port + 3)) RABBITMQ_PRIVATE_DIR="$out/rabbitmq"
rabbitmq=$root/conformance/rabbitmq.sh

# flags prints what `bartleby perf` is called with for a work. What is loaded before it is due is loaded at a rate, or has
# so much time, that the slowest broker here is done by then.
flags() {
	case $1 in
	head) echo expire -persistent -count 1001 -ttl 1s -head 30s ;;
	expire-once) echo expire -persistent -count "$expiring" -ttl "$((expiring / 10000 + 10))s" -drain 1m ;;
	delay-random) echo delay -persistent -count "$delayed" -rate "$rate" -delay-min 1s -delay-max 10s ;;
	delay-due) echo delay -persistent -count "$due" -rate 40000 -delays same -delay-max "$((due / 40000 + 5))s" -window "$((due / 10000))s" ;;
	delay-second) echo delay -persistent -count "$due" -delays same -delay-max "$((due / 50000 + 5))s" -window 1s -bystander 1000 -drain 1m ;;
	waiting) echo delay -persistent -waiting "$waiting" -management "$management" -count "$delayed" -rate 10000 -delay-min 100ms -delay-max 5s -drain 1m ;;
	first-fire) echo restart -data "$data" -waiting "$waiting" -queues 1 -count 1000 -bindings 0 -runs 5 -drain 1m ;;
	*)
		echo "time.sh: no work is called $1" >&2
		return 1
		;;
	esac
}

# measure WORK RUN, with a Bartleby of its own, except for the work that starts its own
measure() {
	rm -rf "$data"
	mkdir -p "$data"
	work=$1 run=$2
	if [ "$work" = first-fire ]; then
		set -- -binary "$binary" -serve "$serve"
	else
		start
		set -- -url "$url" -pid "$pid"
	fi
	# shellcheck disable=SC2046 # the flags are words
	perf "$out/$work.bartleby.$run.json" $(flags "$work") "$@"
	stop
	echo "time.sh: $work done ($run of $runs)" >&2
}

# compare WORK RUN, with a rabbitmq-server, if it can do the work
compare() {
	case $1 in
	head | expire-once) ;;
	*) return 0 ;;
	esac
	"$rabbitmq" start >&2
	# shellcheck disable=SC2046 # the flags are words
	perf "$out/$1.rabbitmq.$2.json" $(flags "$1") -url "$("$rabbitmq" url)" -pid "$("$rabbitmq" pid)"
	"$rabbitmq" stop
	echo "time.sh: $1 on rabbitmq done ($2 of $runs)" >&2
}

mkdir -p "$out"
rm -f "$out"/*.json
for one in $works; do flags "$one" >/dev/null; done
if [ -e "$data" ] && [ -n "$(ls -A "$data")" ]; then
	echo "time.sh: $data is not empty, and would be removed" >&2
	exit 64
fi
trap 'stop; "$rabbitmq" stop; rm -rf "$data"' EXIT
trap 'exit 130' INT TERM
round=1
while [ "$round" -le "$runs" ]; do
	for one in $works; do
		measure "$one" "$round"
		compare "$one" "$round"
	done
	round=$((round + 1))
done
cd "$root" && go run ./bench/table time "$out"
exit "$failed"
