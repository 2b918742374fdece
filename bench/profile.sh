#!/bin/sh
# Renews cmd/bartleby/default.pgo: the profile that the compiler optimizes the binary by.
#
#   profile.sh BINARY   builds a broker that profiles itself, runs workloads against it with the load of BINARY, and merges
#                       the profiles
#
# DURATION (4s): measured time of a workload. WORKS selects workloads, by the names in lib.sh.
# BENCH_PORT (25880) is the first of three consecutive ports.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/profile
duration=${DURATION:-4s}
port=${BENCH_PORT:-25880}
data=$out/data
serve=
WORKS=${WORKS:-16b 16b-push 1k 1k-push persistent dead-letter latency-persistent expire connect}
. "$root/bench/lib.sh"
generator=$binary

trap stop EXIT
trap 'exit 130' INT TERM

mkdir -p "$out"
rm -f "$out"/*.pprof
cd "$root"
CGO_ENABLED=0 go build -pgo=off -trimpath -buildvcs=false -tags profile -o "$out/bartleby" ./cmd/bartleby
binary=$out/bartleby
for work in $works; do
	rm -rf "$data"
	BARTLEBY_PROFILE=$out/$work.pprof
	export BARTLEBY_PROFILE
	start
	# shellcheck disable=SC2046 # the flags are words
	perf "$out/$work.json" $(flags "$work") -url "$url" -pid "$pid"
	kill -USR1 "$pid" # the profile ends, and the broker does not
	left=100
	until [ -s "$BARTLEBY_PROFILE" ] || [ "$left" -eq 0 ]; do
		left=$((left - 1))
		sleep 0.1
	done
	stop
	echo "profile.sh: $work done" >&2
done
go tool pprof -proto "$out"/*.pprof >cmd/bartleby/default.pgo
exit "$failed"
